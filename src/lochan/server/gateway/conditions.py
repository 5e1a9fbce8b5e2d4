"""If-Match and its relatives: headers to the conditions of verbs, and what a condition that failed is in S3's words.

A date that is none is ignored, but for a deletion.
"""

from collections.abc import Mapping

from lochan.api.conditions import NO_CONDITIONS, ConditionFailed, Conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import listed, parse_http_date, parse_iso_extended

COPY_PREFIX = "x-amz-copy-source-"
MATCH_MODIFIED, MATCH_SIZE = "x-amz-if-match-last-modified-time", "x-amz-if-match-size"

_HEADERS = {
    "match": "If-Match",
    "none_match": "If-None-Match",
    "unmodified_since": "If-Unmodified-Since",
    "modified_since": "If-Modified-Since",
    "modified": MATCH_MODIFIED,
    "size": MATCH_SIZE,
}
_NOT_WANTED = ("none_match", "modified_since")  # of a read: what the client has is as good


def read_conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """Of headers with names in lower case; with COPY_PREFIX those about a copy's source."""
    found = [headers.get(f"{prefix}{_HEADERS[name].lower()}") for name in (*_TAGS, *_DATES)]
    if not any(each is not None for each in found):
        return NO_CONDITIONS
    match, none_match, unmodified, modified = found
    return Conditions(
        match=listed(match, weakly=False),
        none_match=listed(none_match, weakly=True),
        unmodified_since=None if unmodified is None else parse_http_date(unmodified),
        modified_since=None if modified is None else parse_http_date(modified),
    )


_TAGS = ("match", "none_match")
_DATES = ("unmodified_since", "modified_since")


def write_conditions(headers: Mapping[str, str]) -> Conditions:
    """Of PutObject and its like, which know no dates."""
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if match is None and none_match is None:
        return NO_CONDITIONS
    return Conditions(match=listed(match, weakly=False), none_match=listed(none_match, weakly=True))


def delete_conditions(etag: str | None, modified: str | None, size: str | None) -> Conditions:
    """Raises InvalidArgument for a time or a size that is none: to overlook it would be to delete whatever is there."""
    seconds = None if not modified else parse_http_date(modified) or parse_iso_extended(modified)
    if modified and seconds is None:
        raise S3Error("InvalidArgument", "This is no time.", ArgumentName=MATCH_MODIFIED, ArgumentValue=modified[:64])
    if size and not (size.isascii() and size.isdecimal() and len(size) < 20):
        raise S3Error("InvalidArgument", "This is no size.", ArgumentName=MATCH_SIZE, ArgumentValue=size[:64])
    return Conditions(match=listed(etag or None, weakly=False), modified=seconds, size=int(size) if size else None)


def failed_condition(error: ConditionFailed) -> S3Error:
    """PreconditionFailed, or NoSuchKey where the object must be there and is not."""
    if error.etag is None:
        return S3Error("NoSuchKey")
    name = _HEADERS[error.condition]
    return S3Error("PreconditionFailed", Condition=COPY_PREFIX + name.lower() if error.of_source else name)


def failed_read(error: ConditionFailed) -> S3Error:
    """The same of GET and HEAD, where an object that the client has already is NotModified."""
    if error.condition in _NOT_WANTED:
        return S3Error("NotModified").with_header("etag", f'"{error.etag}"')
    return failed_condition(error)
