"""Events of a bucket as they happen, from a store that sends them over HTTP. MinIO does: `GET /bucket?events=…` stays
open, and each line is an event. Other stores deliver events to queues, whose messages are read from a file."""

import asyncio
import hashlib
import hmac
import http.client
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from urllib.parse import quote, urlsplit

from lochan.clock import SystemClock
from lochan.errors import Invalid, Refused

_NAMES = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
_READ_BYTES = 1 << 16
_AGAIN_S = 1.0
_SILENT_S = 30.0  # the store pings more often
_EMPTY = hashlib.sha256(b"").hexdigest()


async def listen(options: Mapping[str, str], bucket: str, prefix: str) -> AsyncIterator[tuple[bytes, int]]:
    """Yields lines, each with 0, because there is no position to continue from. `options` are those of an S3 store.
    Raises Refused if the store has no such request."""
    endpoint, access, secret = (options.get(name, "") for name in ("endpoint", "access_key_id", "secret_access_key"))
    if not endpoint or not access or not secret:
        raise Invalid(
            "to listen to a bucket, its endpoint and keys must be known",
            hint="configure blockstore.s3, or give --events a file",
        )
    while True:  # a connection that ends is made again; events in between are found by a comparison
        with suppress(OSError, http.client.HTTPException):
            async for line in _one_connection(options, endpoint, bucket, prefix):
                yield line, 0
        await asyncio.sleep(_AGAIN_S)


async def _one_connection(options: Mapping[str, str], endpoint: str, bucket: str, prefix: str) -> AsyncIterator[bytes]:
    query = [("events", name) for name in _NAMES] + [("prefix", prefix), ("suffix", "")]
    url, headers = signed_get(endpoint, bucket, query, options)
    parts = urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.netloc, timeout=_SILENT_S)
    try:
        answer = await asyncio.to_thread(_get, connection, f"{parts.path}?{parts.query}", headers)
        if answer.status != http.client.OK:
            text = answer.read(200).decode(errors="replace")
            raise Refused(
                f"{endpoint} does not send the events of {bucket}: {answer.status} {text}",
                hint="only MinIO does; give --events a file",
            )
        rest = b""
        async for data in read_on_thread(partial(answer.read1, _READ_BYTES)):  # `readline` waits for a whole buffer
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
    finally:
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)  # or `close` would wait for the thread that reads
        connection.close()


async def read_on_thread(read: Callable[[], bytes]) -> AsyncIterator[bytes]:
    """Yields the results of `read`, until one is empty or it fails. It may block for long: its daemon thread does not
    delay the end of the process."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[bytes] = asyncio.Queue()

    def work() -> None:
        data = b"x"
        while data:
            try:
                data = read()
            except (OSError, ValueError, http.client.HTTPException):  # it was closed, or silent for too long
                data = b""
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(found.put_nowait, data)

    Thread(target=work, name="lochan-events", daemon=True).start()
    while data := await found.get():
        yield data


def _get(connection: http.client.HTTPConnection, target: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    connection.request("GET", target, headers=headers)
    return connection.getresponse()


def signed_get(
    endpoint: str, bucket: str, query: list[tuple[str, str]], options: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Returns the URL and the headers of a GET, signed by AWS's version 4."""
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
