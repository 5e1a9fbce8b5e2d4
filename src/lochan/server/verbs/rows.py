"""Verbs about rows: the rows of queries and row diffs are sent as Arrow; loaded rows are received as Arrow or as lines
of JSON. Queries run in the server's query threads, under its limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.row_fingerprint import DigestedRows
from lochan.api.rows_of_body import PLANNED, planned_text, rows_of_body
from lochan.api.wire.call import LINEAGE_HEADER, WireCall
from lochan.api.wire.errors import simple_error_body
from lochan.api.wire.lineage import answer_header
from lochan.api.wire.values import ARROW, JSON
from lochan.errors import LochanError
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError, status_of
from lochan.server.api.query_handlers import ID, QueryResponse
from lochan.server.api.query_request import OutputForm, QueryRequest
from lochan.server.api.query_thread import CLIENT
from lochan.server.verbs.answers import FAILED, StreamAnswer
from lochan.server.verbs.bodies import body_pieces

_STREAM = OutputForm("stream", ARROW)
_BATCH_BYTES = 1 << 20


async def query(call: WireCall, api: Api, request: Request, noun: Any, given: dict[str, Any]) -> Response:
    options: EngineOptions = given.get("options", DEFAULT_ENGINE)
    settings = api.queries.settings
    wanted = QueryRequest(
        query=given["text"],
        engine=options.engine,
        limit=None,
        seconds=min(options.timeout_s or settings.seconds, settings.seconds),
        memory_bytes=min(options.memory_bytes or settings.memory_bytes, settings.memory_bytes),
        at="",
        pool=noun.name if call.verb.noun == "Pool" else given.get("pool", ""),
        go_on=options.skip_missing,
    )
    context: RequestContext = request.scope[CONTEXT]
    run = api.queries.begin(context.caller(CLIENT), wanted, _STREAM)
    return _QueryAnswer(api.queries, run, api.listener.s3.idle_s)


class _QueryAnswer(QueryResponse):
    def _head(self) -> list[tuple[bytes, bytes]]:
        planned, trace = self._run.planned, self._run.trace
        head = super()._head()
        if planned is not None:
            head.append((PLANNED.encode(), planned_text(planned)))
        if trace is not None and trace.inputs:
            head.append((LINEAGE_HEADER.lower().encode(), answer_header(trace.inputs).encode()))
        return head

    def _failed(self, error: BaseException) -> Response:
        is_ours = isinstance(error, LochanError)
        body = simple_error_body(error) if is_ours else {"message": FAILED}  # type: ignore[arg-type]
        status = status_of(error) if is_ours else 500  # type: ignore[arg-type]
        return Response(msgspec.json.encode(body), status, {ID: self._run.id}, JSON)


async def diff_rows(call: WireCall, api: Api, request: Request, noun: Any, given: dict[str, Any]) -> Response:
    """Compares rows. The counts, the sample and the sides are in the schema of the stream; the rows are all that
    differ. A client that accepts JSON gets only the counts and the sample."""
    found = await noun.diff_rows(**given)
    if request.headers.get("accept", "").strip() == JSON:
        try:
            return Response(await asyncio.to_thread(_as_json, found), media_type=JSON)
        finally:
            await asyncio.to_thread(found.close)
    return StreamAnswer(_diff_pieces(found), ARROW, api.listener.s3.idle_s)


def _as_json(found: Any) -> bytes:
    text = json.dumps(found.record(), ensure_ascii=False, default=str)
    return text.encode(errors="replace")


async def _diff_pieces(found: Any) -> AsyncIterator[bytes]:
    from lochan.api.rows_of_body import row_diff_pieces

    pieces = row_diff_pieces(found)
    try:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece
    finally:
        await asyncio.to_thread(found.close)


async def load_rows(call: WireCall, api: Api, request: Request, noun: Any, given: dict[str, Any]) -> Response:
    """Loads the rows of the body. It is stored on the disk before the first row is read, so a body that breaks off
    half-way loads nothing."""
    from lochan.server.verbs.answers import value_answer

    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    with TemporaryFile(prefix="lochan-rows-") as file:
        digest = await _spool(request, file)
        rows = rows_of_body(file, media)
        if rows is None:
            accepted = f"{ARROW}, application/x-ndjson or {JSON}"
            raise HttpError(
                400, f"in the header content-type: rows are sent as {accepted}, not as {media[:80] or 'nothing'}"
            )
        return value_answer(await noun.load(DigestedRows(rows, digest), **given))


async def _spool(request: Request, file: IO[bytes]) -> str:
    """Stores the body. Returns its SHA-256, in hex."""
    digest = sha256()
    async for piece in body_pieces(request):
        digest.update(piece)
        await asyncio.to_thread(file.write, piece)
    file.seek(0)
    return digest.hexdigest()
