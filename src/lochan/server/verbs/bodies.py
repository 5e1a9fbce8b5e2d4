"""Verbs whose request or answer is more than JSON: objects' bytes, rows, policies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from lochan.api.wire.call import ArgumentPlace, WireCall
from lochan.api.wire.values import BYTES
from lochan.errors import PreconditionFailed
from lochan.server.api.context import Api
from lochan.server.api.errors import HttpError
from lochan.server.rest.json_body import read_body
from lochan.server.verbs.answers import StreamAnswer

POLICY_BYTES_MAX = 1 << 20


async def read_object(call: WireCall, api: Api, request: Request, ref: Any, given: dict[str, Any]) -> Response:
    """Answers with the bytes of an object, or a span of them. With `If-Match`, only with those of the object with that
    ETag."""
    found = await ref.open(given["path"])
    wanted = request.headers.get("if-match", "").strip('" ')
    if wanted and wanted != found.etag:
        raise PreconditionFailed(f"{found.path!r} is not the object that was opened: it has been replaced since")
    start, stop = given.get("start", 0), given.get("stop")
    stop = found.size if stop is None else stop
    headers = {"content-length": str(max(stop - start, 0)), "etag": f'"{found.etag}"'}
    if request.method == "HEAD":
        return Response(headers=headers, media_type=BYTES)
    return StreamAnswer(_span(found, start, stop), BYTES, api.listener.s3.idle_s, headers)


async def _span(found: Any, start: int, stop: int) -> AsyncIterator[bytes]:
    async with aclosing(found.stream(start, stop)) as pieces:
        async for piece in pieces:
            yield piece


async def add_bytes(call: WireCall, request: Request, given: dict[str, Any]) -> None:
    """Adds the argument that is the body: as a stream, or, for a text, as a whole."""
    for each in call.arguments.values():
        if each.place is ArgumentPlace.BYTES:
            whole = each.annotation == "bytes"
            given[each.name] = await read_body(request, POLICY_BYTES_MAX) if whole else body_pieces(request)


async def body_pieces(request: Request) -> AsyncIterator[bytes]:
    """Yields the body. Raises 400 for a body that breaks off, so that it is not mistaken for a whole one."""
    try:
        async for piece in request.stream():
            if piece:
                yield piece
    except ClientDisconnect:
        raise HttpError(400, "the body broke off") from None
