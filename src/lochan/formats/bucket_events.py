"""Events of a bucket, as S3, MinIO, SQS, SNS and EventBridge write them: a JSON value on each line.

    {"Records": [{"eventName": "s3:ObjectCreated:Put", "s3": {"bucket": {"name": …}, "object": {"key": …}}}]}

An event is only a hint that something happened to a key: events come late, twice, out of order, or not at all. So
nothing but bucket and key is taken from one.
"""

from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import msgspec

from lochan.errors import Invalid

_DEPTH_MAX = 4  # the depth of envelopes around each other, such as EventBridge in SNS in SQS


class BucketEvent(NamedTuple):
    bucket: str
    key: str


def parse_events(line: bytes) -> list[BucketEvent]:
    """Returns all events of a line, which has none if it is empty, a test or a ping. Raises Invalid."""
    if not line.strip():
        return []
    try:
        return _events(msgspec.json.decode(line), 0)
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        text = line[:80].decode(errors="replace")
        raise Invalid(f"this is no event of a bucket: {text!r}", hint="a line is a JSON object with Records") from error


def _events(value: Any, depth: int) -> list[BucketEvent]:
    if depth > _DEPTH_MAX:
        raise TypeError
    if isinstance(value, list):
        return [event for each in value for event in _events(each, depth + 1)]
    for envelope in ("Records", "Messages"):
        if envelope in value:
            return [event for each in value[envelope] or () for event in _events(each, depth + 1)]
    for envelope in ("Body", "body", "Message"):
        if isinstance(value.get(envelope), str):
            return _events(msgspec.json.decode(value[envelope]), depth + 1)
    if "s3" in value:
        found = value["s3"]
        return [_event(found["bucket"]["name"], unquote_plus(found["object"]["key"], errors="strict"))]
    if "detail" in value:
        found = value["detail"]
        return [_event(found["bucket"]["name"], found["object"]["key"])]
    if value.get("Event") == "s3:TestEvent" or not value:
        return []
    raise TypeError


def _event(bucket: Any, key: Any) -> BucketEvent:
    if not isinstance(bucket, str) or not isinstance(key, str):
        raise TypeError
    return BucketEvent(bucket, key)
