"""Results of verbs as answers. A list is sent line by line as it is found, a few ahead of the client; if it breaks off
half-way, its last line is the error, so that no client can mistake a part for all of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lochan.api.wire.errors import ErrorBody, error_body
from lochan.api.wire.values import JSON, HandleNames, OpenedInfo, encode
from lochan.errors import LochanError
from lochan.server.api.errors import AGAIN, HttpError, status_of

_AHEAD_BYTES = 256 << 10
_NONE: Mapping[str, str] = {}
_log = logging.getLogger("lochan.server")
FAILED = "the server has failed; its log says more"
_KINDS = {400: "invalid", 404: "not-found", 413: "invalid"}


async def error_answer(error: LochanError | HttpError) -> Response:
    if isinstance(error, HttpError):
        body = ErrorBody(error.message, _KINDS.get(error.status, ""))
        return Response(msgspec.json.encode(body), error.status, error.headers, JSON)
    status = status_of(error)
    headers = {"retry-after": "1"} if status in AGAIN else {}
    return Response(msgspec.json.encode(await error_body(error)), status, headers, JSON)


def value_answer(value: Any) -> Response:
    return Response(encode(value), media_type=JSON)


def nothing_answer() -> Response:
    return Response(status_code=204)


def handle_answer(handle: Any) -> Response:
    made_at, opened = (getattr(handle, name, None) for name in ("made_at", "opened"))
    name = getattr(handle, "name", None) or handle.id  # an upload has only an id
    return value_answer(HandleNames(name, made_at or "", opened))


def opened_answer(found: Any) -> Response:
    fields = OpenedInfo.__struct_fields__
    return value_answer(OpenedInfo(**{name: getattr(found, name) for name in fields}))


def add_header(answer: Response, name: str, value: str) -> None:
    """Adds a header to an answer, before it is sent."""
    if isinstance(answer, StreamAnswer):
        answer.add_header(name, value)
    elif hasattr(answer, "raw_headers"):  # the answer of a query adds its own header when the query is planned
        answer.headers[name] = value


def table_bytes(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=65_536)
    found: bytes = sink.getvalue().to_pybytes()
    return found


async def lines(items: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """Yields each item as a line of JSON. An error before the first is raised; a later one becomes the last line."""
    begun = False
    try:
        async with aclosing(items) as found:  # type: ignore[type-var]
            async for each in found:
                yield encode(each) + b"\n"
                begun = True
    except LochanError as error:
        if not begun:
            raise
        yield _last_line(await error_body(error))
    except Exception as error:
        if not begun:
            raise
        _log.error("a list has broken off", exc_info=error)
        yield _last_line(ErrorBody(FAILED, "error"))


def _last_line(body: ErrorBody) -> bytes:
    return msgspec.json.encode({"error": body}) + b"\n"


class StreamAnswer(Response):
    """Sends pieces of bytes as they come, a few ahead of the client. An error before the first is an answer of its own.
    After it, the connection is broken off without an end, which the client detects."""

    def __init__(
        self, pieces: AsyncIterator[bytes], media_type: str, patience_s: float, headers: Mapping[str, str] = _NONE
    ) -> None:
        self._pieces = pieces
        self._patience_s = patience_s
        self._held = bytearray()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._error: Exception | None = None
        self._over = False
        self._head = {"content-type": media_type, "cache-control": "no-store", **headers}
        self.background = None

    def add_header(self, name: str, value: str) -> None:
        self._head[name.lower()] = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        making, leaving = asyncio.ensure_future(self._make()), asyncio.ensure_future(_wait_for_disconnect(receive))
        leaving.add_done_callback(lambda _: self._changed.set())
        try:
            await self._changed.wait()
            if self._error is not None and not self._held:
                await (await _failure_answer(self._error))(scope, receive, send)
            else:
                await self._send_all(leaving, send)
        finally:
            for each in (making, leaving):
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each

    async def _send_all(self, leaving: asyncio.Future[None], send: Send) -> None:
        head = [(name.encode(), value.encode("latin-1")) for name, value in self._head.items()]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        over = False
        while not over and not leaving.done():
            await self._changed.wait()
            self._changed.clear()
            over, piece = self._over, bytes(self._held)
            self._held.clear()
            self._room.set()
            if piece:
                async with asyncio.timeout(self._patience_s):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        if over and self._error is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _make(self) -> None:
        try:
            async with aclosing(self._pieces) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    self._held += piece
                    self._changed.set()
                    while len(self._held) >= _AHEAD_BYTES:
                        self._room.clear()
                        await self._room.wait()
        except Exception as error:
            self._error = error
            if not isinstance(error, LochanError | HttpError | ArithmeticError):
                _log.error("an answer has failed", exc_info=error)
        finally:
            self._over = True
            self._changed.set()


def senseless_number(error: ArithmeticError) -> HttpError:
    """Returns the error for a number that makes no sense, such as a million years or a division by zero. The verbs
    themselves do not check for all of those."""
    return HttpError(400, f"a number in the request makes no sense: {error}")


async def _failure_answer(error: Exception) -> Response:
    if isinstance(error, ArithmeticError):
        error = senseless_number(error)
    has_answer = isinstance(error, LochanError | HttpError)
    return await error_answer(error if has_answer else HttpError(500, FAILED))  # type: ignore[arg-type]


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
