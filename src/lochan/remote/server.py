"""The server of a lake, as a client sees it: the credentials of requests, retries, and the server's errors.

A request that changes something has an idempotency key, so that it can be sent again: the server carries it out
once."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from lochan.api.server_times import ServerTimes
from lochan.api.wire.call import AUTHOR_HEADER, LINEAGE_HEADER
from lochan.api.wire.errors import ErrorBody, error_of
from lochan.api.wire.lineage import decode_trace, request_header
from lochan.api.wire.values import JSON
from lochan.clock import Clock, SystemClock
from lochan.errors import FutureFormat, Invalid, NotFound, Refused, Transient
from lochan.ids import Ids
from lochan.remote.http import AnswerLost, HttpAnswer, HttpPool, NotSent, ServerAddress
from lochan.remote.signature import SpooledBody, must_sign, signed_headers
from lochan.versioning.lineage import current

TRIES = 4
_PAUSE_S = 0.2  # the pause before the second try; it doubles before each further one
_RETRY_STATUSES = (502, 503, 504)
Body = bytes | Callable[[], AsyncIterator[bytes]] | None  # a function returns the body, which can be read again


class ServerKeys(msgspec.Struct, frozen=True):
    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"ServerKeys({self.access_key!r})"


class LakeInfo(msgspec.Struct):
    """What a server reports about the lake that it serves."""

    id: str
    version: str
    user: str


class RemoteServer:
    """The server of a lake. It can be pickled. Making one sends no request."""

    def __init__(self, url: str, credentials: ServerKeys | None, author: str = "", key: str = "") -> None:
        """`key` is the idempotency key of the first change, and the next ones are made from it: repeating the same
        changes with the same key does nothing twice."""
        self.url = url.rstrip("/")
        self._credentials = credentials
        self._author = author
        self._key = key
        self._changes = 0
        self._pool = HttpPool(address_of(self.url))
        self._signs = must_sign(self._pool.address)
        self._clock: Clock = SystemClock()
        self._ids = Ids()
        self.id = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.url, self._credentials, self._author, self.id)

    def new_key(self) -> str:
        if self._key:
            self._changes += 1
            return self._key if self._changes == 1 else f"{self._key}-{self._changes}"
        return self._ids.idempotency_key(self._clock.wall())

    async def open(self, version: str) -> LakeInfo:
        """Opens the lake. Raises an error if there is no server, if it is not a Lochan server or of another version, or
        if it does not accept the key."""
        try:
            return await self._open(version)
        except BaseException:
            await self.close()
            raise

    async def _open(self, version: str) -> LakeInfo:
        found = await self._info(await self.ask("GET", "/api/v1/lake"))
        if found.version.split(".")[:2] != version.split(".")[:2]:
            raise FutureFormat(
                f"{self.url} is served by lochan {found.version}, and this is {version}",
                hint="use the same version on both sides",
            )
        self.id = found.id
        return found

    async def _info(self, answer: HttpAnswer) -> LakeInfo:
        data = await answer.read()
        if answer.status == 200:
            try:
                return msgspec.json.decode(data, type=LakeInfo)
            except msgspec.DecodeError:
                pass
        elif _is_ours(answer, data):
            raise _error(answer.status, data)
        raise Invalid(f"what answers at {self.url} is not a lochan server", hint="check the address and the port")

    async def times(self) -> ServerTimes:
        """Returns where the server's time was spent since it was started. Raises Denied for users who may not read its
        metrics."""
        return msgspec.json.decode(await (await self.answer("GET", "/_top?format=json")).read(), type=ServerTimes)

    async def ask(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Body = None,
        again: bool = True,
    ) -> HttpAnswer:
        """Sends a request. `again` means that it may be carried out twice without harm. Raises Transient if the server
        is not reached."""
        head = {"accept-encoding": "identity", **(headers or {})}
        if self._author:
            head[AUTHOR_HEADER.lower()] = quote(self._author)
        if lineage := request_header():
            head[LINEAGE_HEADER.lower()] = lineage
        if not self._signs or not callable(body):
            return await self._try_request(method, target, head, body, TRIES if again else 1)
        spooled = await SpooledBody.of(body())
        try:
            head["content-length"] = str(spooled.size)
            return await self._try_request(method, target, head, spooled.pieces, TRIES, spooled.sha256)
        finally:
            spooled.close()

    async def _try_request(
        self, method: str, target: str, headers: Mapping[str, str], body: Body, tries: int, digest: str = ""
    ) -> HttpAnswer:
        for number in range(tries):
            head = self._authorize(method, target, headers, digest or (body if isinstance(body, bytes) else b""))
            try:
                answer = await self._pool.request(method, target, head, body() if callable(body) else body)
            except NotSent:
                raise
            except AnswerLost:
                if number + 1 == tries:
                    raise
            else:
                if answer.status not in _RETRY_STATUSES or number + 1 == tries:
                    return answer
                await answer.read()
            await asyncio.sleep(_PAUSE_S * 2**number)
        raise AssertionError("the last try returns or raises")

    async def answer(self, method: str, target: str, **request: Any) -> HttpAnswer:
        """Sends a request, and raises the error if the server has answered with one."""
        found = await self.ask(method, target, **request)
        if found.status >= 300:
            raise _error(found.status, await found.read())
        begun, read = current(), decode_trace(found.headers.get(LINEAGE_HEADER.lower(), ""))
        if begun is not None and read is not None:
            for each in read.inputs:
                begun.add(each)
        return found

    def _authorize(self, method: str, target: str, headers: Mapping[str, str], body: str | bytes) -> dict[str, str]:
        """Returns the headers with credentials. `body` is the body itself, or its SHA-256."""
        if self._credentials is None:
            return dict(headers)
        keys = self._credentials.access_key, self._credentials.secret_key
        if self._signs:
            digest = body if isinstance(body, str) else sha256(body).hexdigest()
            return signed_headers(method, target, headers, self._pool.host, digest, keys, self._clock.wall())
        return {**headers, "authorization": f"Basic {b64encode(':'.join(keys).encode()).decode()}"}

    async def close(self) -> None:
        await self._pool.close()


def _unpickle(url: str, credentials: ServerKeys | None, author: str, id: str) -> RemoteServer:
    made = RemoteServer(url, credentials, author)
    made.id = id
    return made


def address_of(url: str) -> ServerAddress:
    """Parses `http://host:port`, `https://host`, or `http+unix:///path/of/socket`. Raises Invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), -1
    if parts.scheme == "http+unix":
        return ServerAddress("", 0, False, parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise Invalid(f"{url!r} is not the URL of a server", hint="give one such as https://lake.example.org:8000")
    if parts.path.strip("/") or parts.query or parts.username:
        raise Invalid(f"{url!r} has more than a host and a port", hint="give only those; keys are options of their own")
    tls = parts.scheme == "https"
    return ServerAddress(parts.hostname, port or (443 if tls else 80), tls)


def _is_ours(answer: HttpAnswer, data: bytes) -> bool:
    return (
        answer.headers.get("content-type", "").startswith(JSON)
        and b'"message"' in data
        and "x-request-id" in answer.headers
    )


def _error(status: int, data: bytes) -> Exception:
    try:
        body = msgspec.json.decode(data, type=ErrorBody)
    except msgspec.DecodeError:
        shown = data[:200].decode(errors="replace").strip()
        body = ErrorBody(f"the server answered {status}{': ' if shown else ''}{shown}")
    if not body.kind and status in (404, 405):
        return Refused(
            f"the server does not know this request: {body.message}", hint="is it a lochan of the same version?"
        )
    return error_of(body, status)


__all__ = ["Body", "NotFound", "RemoteServer", "ServerKeys", "Transient", "address_of"]
