"""Events of a bucket as they happen, from a store that sends them over HTTP. MinIO does: `GET /bucket?events=…` stays
open, and each line is an event. Other stores deliver events to queues, whose messages are read from a file."""

import asyncio
import hashlib
import hmac
import http.client
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from lochan.clock import SystemClock
from lochan.errors import Invalid, Refused, Transient

_NAMES = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
_PING_S = "5"
_SILENT_S = 30.0  # it pings more often
_EMPTY = hashlib.sha256(b"").hexdigest()


async def listen(options: Mapping[str, str], bucket: str, prefix: str) -> AsyncIterator[tuple[bytes, int]]:
    """Lines, and 0: there is no place to go on from. `options` are those of an S3 store. Raises Refused where the store
    has no such request, Transient when it ends."""
    endpoint, access, secret = (options.get(name, "") for name in ("endpoint", "access_key_id", "secret_access_key"))
    if not endpoint or not access or not secret:
        raise Invalid(
            "to listen to a bucket, its endpoint and keys must be known",
            hint="configure blockstore.s3, or give --events a file",
        )
    query = [("events", name) for name in _NAMES] + [("ping", _PING_S), ("prefix", prefix), ("suffix", "")]
    url, headers = signed_get(endpoint, bucket, query, options)
    parts = urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.netloc, timeout=_SILENT_S)
    try:
        answer = await asyncio.to_thread(_asked, connection, f"{parts.path}?{parts.query}", headers)
        if answer.status != http.client.OK:
            text = answer.read(200).decode(errors="replace")
            raise Refused(
                f"{endpoint} does not send the events of {bucket}: {answer.status} {text}",
                hint="only MinIO does; give --events a file",
            )
        while line := await asyncio.to_thread(answer.readline):
            if line.strip():
                yield line, 0
    except (OSError, http.client.HTTPException) as error:
        raise Transient(f"the events of {bucket} at {endpoint} have ended: {error}", hint="start it again") from error
    finally:
        connection.close()
    raise Transient(f"the events of {bucket} at {endpoint} have ended", hint="start it again")


def _asked(connection: http.client.HTTPConnection, target: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    connection.request("GET", target, headers=headers)
    return connection.getresponse()


def signed_get(
    endpoint: str, bucket: str, query: list[tuple[str, str]], options: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """The URL and the headers of a GET, signed as AWS's version 4 says."""
    moment = datetime.fromtimestamp(SystemClock().wall() / 1e6, UTC)
    stamp, day = moment.strftime("%Y%m%dT%H%M%SZ"), moment.strftime("%Y%m%d")
    region = options.get("region") or "us-east-1"
    text = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query))
    headers = {"host": urlsplit(endpoint).netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    if token := options.get("session_token"):
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"GET\n/{quote(bucket)}\n{text}\n{lines}\n{names}\n{_EMPTY}"
    scope = f"{day}/{region}/s3/aws4_request"
    signable = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{options['secret_access_key']}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, signable.encode(), "sha256").hex()
    credential = f"Credential={options['access_key_id']}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"
    return f"{endpoint.rstrip('/')}/{quote(bucket)}?{text}", headers
