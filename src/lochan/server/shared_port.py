"""Serves S3 on the port of the API, for clients that can use only one address. Requests outside the paths of the API
that are signed as S3 go to the gateway, and all others to the API.

The gateway is opened by the first such request. It speaks Granian's RSGI, and the API speaks ASGI, so one is translated
to the other here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lochan.clock import SystemClock
from lochan.server.api.app import api
from lochan.server.connections import ConnectionGuard, client_text
from lochan.server.gateway.app import App, gateway_app
from lochan.server.gateway.request import Headers
from lochan.server.gateway.wire.addressing import host_bucket
from lochan.server.gateway.wire.form import FORM_TYPE
from lochan.server.gateway.wire.presigned import is_v2, is_v4
from lochan.server.settings import Listener

# The paths of the API and of monitoring. A repository `api` has the objects of its branch `v1` at the gateway.
_OF_THE_API = ("/api/v1/", "/_health/", "/_metrics", "/openapi.json")
_SIGNED = ("AWS4-HMAC-SHA256 ", "AWS ")
_ENDS = ("lifespan.shutdown.complete", "lifespan.shutdown.failed")


def shared_port(listener: Listener) -> SharedPort:
    guard = ConnectionGuard(listener.limits, SystemClock(), listener.port, listener.s3.idle_s)
    return SharedPort(api(listener, guard), gateway_app(listener, guard), listener.s3.domain)


class SharedPort:
    """The application, as Granian calls it."""

    def __init__(self, api: ASGIApp, gateway: App, domain: str) -> None:
        self._api = api
        self._gateway = gateway
        self._domains = (domain,) if domain else ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._api(scope, receive, self._close_before_end(send))
        elif scope["type"] == "http" and is_for_s3(scope, self._domains):
            self._gateway.open_once(asyncio.get_running_loop())
            protocol = _Protocol(receive, send)
            await self._gateway.__rsgi__(_Scope(scope), protocol)
            await protocol.finish()
        else:
            await self._api(scope, receive, send)

    def _close_before_end(self, send: Send) -> Send:
        """Wraps `send` so that the gateway is closed before the end is reported, because the loop may end as soon as it
        hears that all is closed."""

        async def send_closed(message: Message) -> None:
            if message["type"] in _ENDS:
                await self._gateway.close()
            await send(message)

        return send_closed


def is_for_s3(scope: Scope, domains: tuple[str, ...]) -> bool:
    """Returns whether the request is signed as S3 signs requests, in a header, in the query or in a form, or names a
    bucket in its host."""
    path: str = scope["path"]
    if path.startswith(_OF_THE_API):
        return False
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    if headers.get(b"authorization", "").startswith(_SIGNED) or host_bucket(headers.get(b"host", ""), domains):
        return True
    names = {name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)}
    if is_v4(names) or is_v2(names):
        return True
    is_form = headers.get(b"content-type", "").lower().startswith(FORM_TYPE)
    return is_form and bool(scope["method"] == "POST")


class _Names:
    """Headers in the form of RSGI. One that is not ASCII has a name, and no value."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs

    def keys(self) -> list[str]:
        return [name.decode("latin-1") for name, _ in self._pairs]

    def items(self) -> Headers:
        return [(name.decode("latin-1"), value.decode()) for name, value in self._pairs if value.isascii()]

    def __len__(self) -> int:
        return len(self._pairs)


def _is_api_credential(name: bytes, value: bytes) -> bool:
    """Returns whether a header holds credentials of the API, which a client that follows a presigned address may also
    send."""
    return name == b"authorization" and not value.decode("latin-1").startswith(_SIGNED)


class _Scope:
    """A request in the form of RSGI."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: str = scope["query_string"].decode("latin-1")
        self.scheme: str = scope["scheme"]
        self.http_version: str = scope["http_version"]
        self.headers = _Names([each for each in scope["headers"] if not _is_api_credential(*each)])
        self.client = client_text(*scope["client"]) if scope.get("client") else ""


class _Protocol:
    """The body of a request and its answer, in the form of RSGI."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._whole: tuple[int, Headers, bytes] | None = None
        self._stream: _Transport | None = None

    async def __call__(self) -> bytes:
        return b"".join([piece async for piece in self])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ProtocolClosed
            more = message.get("more_body", False)
            if body := message.get("body", b""):
                yield body

    def response_empty(self, status: int, headers: Headers) -> None:
        self._whole = status, headers, b""

    def response_bytes(self, status: int, headers: Headers, body: bytes) -> None:
        self._whole = status, headers, body

    def response_stream(self, status: int, headers: Headers) -> _Transport:
        self._stream = _Transport(self._send, status, headers)
        return self._stream

    async def finish(self) -> None:
        """Sends the answer. RSGI's answers are given at once, and are sent as ASGI's here."""
        if self._whole is not None:
            status, headers, body = self._whole
            await self._send(_start(status, headers))
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
        elif self._stream is not None:
            await self._stream.finish()


class _Transport:
    def __init__(self, send: Send, status: int, headers: Headers) -> None:
        self._send = send
        self._start: Message | None = _start(status, headers)

    async def send_bytes(self, data: bytes) -> None:
        await self._begin()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self) -> None:
        await self._begin()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self) -> None:
        if self._start is not None:
            start, self._start = self._start, None
            await self._send(start)


def _start(status: int, headers: Headers) -> Message:
    pairs: list[Any] = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": pairs}
