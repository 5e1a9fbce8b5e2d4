"""Serves `/mcp`: the Model Context Protocol over HTTP. A message is posted, and the response contains its answer. There
are no sessions and no streams. An agent uses an access key, and can do no more than that key may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from lochan.api.lake import Lake
from lochan.api.wrappers.records import serve_lake
from lochan.errors import Invalid, Refused
from lochan.mcp.messages import MESSAGE_BYTES_MAX, RpcError, error_message, parse_request
from lochan.mcp.server import VERSIONS, answer
from lochan.mcp.tools import AgentContext
from lochan.server.api.audit import CallLog
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.api.query_request import NDJSON, OutputForm, QueryBody, check_request
from lochan.server.api.query_thread import CLIENT as QUERY_CLIENT

PATH = "/mcp"
CLIENT = "mcp"
_LINES = OutputForm("ndjson", NDJSON)
_JSON = "application/json"
_ROWS_BYTES_MAX = 8 << 20


async def post_message(api: Api, request: Request) -> Response:
    _check_origin(request)
    asked = request.headers.get("mcp-protocol-version", VERSIONS[0])
    if asked not in VERSIONS:
        raise HttpError(400, f"the protocol is spoken in the versions {', '.join(VERSIONS)}, not {asked[:20]!r}")
    data = await _body(request)
    try:
        parse_request(data)
    except RpcError as error:
        return Response(error_message(None, error), 400, media_type=_JSON)
    answered = await answer(_agent(api, request), data)
    return Response(status_code=202) if answered is None else Response(answered, media_type=_JSON)


async def no_stream(api: Api, request: Request) -> Response:
    """Refuses a client that asks for messages that the server begins, because there are none."""
    return PlainTextResponse("post a message of the Model Context Protocol\n", 405, {"allow": "POST"})


def _check_origin(request: Request) -> None:
    """Raises 403 for a page of another site, which must not reach a lake on this machine through its user's browser."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
        raise HttpError(403, "this page is of another site, and may not speak to this server")


async def _body(request: Request) -> bytes:
    pieces = bytearray()
    async for piece in request.stream():
        pieces += piece
        if len(pieces) > MESSAGE_BYTES_MAX:
            raise HttpError(413, f"a message has at most {MESSAGE_BYTES_MAX:,} bytes")
    return bytes(pieces)


def _agent(api: Api, request: Request) -> AgentContext:
    context: RequestContext = request.scope[CONTEXT]
    caller = context.caller(CLIENT)
    kept = CallLog(api.usage, api.clock, caller)
    lake = serve_lake(api.lake, caller, kept.note, kept.audit).lake
    return AgentContext(lake, context.user, partial(_run_query, api, context))


async def _run_query(api: Api, context: RequestContext, lake: Lake, text: str, limit: int) -> list[Any]:
    """Runs a query like all queries of the server: under its limits and with the rights of the caller."""
    try:
        wanted = check_request(QueryBody(query=text, limit=limit), api.queries.settings)
        run = api.queries.begin(context.caller(QUERY_CLIENT), wanted, _LINES)
    except HttpError as error:
        raise Refused(error.message) from error
    try:
        found = await _pieces(run.pieces.take)
    finally:
        if run.is_over:
            run.pieces.drop()
        else:
            api.queries.give_up(run)
    if run.error is not None:
        raise run.error
    return [msgspec.json.decode(line) for line in found.splitlines()]


async def _pieces(take: Callable[[], Awaitable[bytes | None]]) -> bytes:
    """Returns all pieces. Raises Invalid if they are more than an agent can use."""
    found = bytearray()
    while (piece := await take()) is not None:
        found += piece
        if len(found) > _ROWS_BYTES_MAX:
            raise Invalid(f"the rows have more than {_ROWS_BYTES_MAX:,} bytes", hint="ask for fewer rows or fields")
    return bytes(found)
