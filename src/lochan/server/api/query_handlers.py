"""Handles `/api/v1/query`. A query is posted, and its rows are the answer. Running queries can be listed, inspected and
cancelled.

The rows are sent as fast as the client takes them. An error before the first byte has an answer of its own. After the
first byte, the body breaks off without its last chunk, so that no client can mistake a part for all of it. A client
that hangs up, or stands still, cancels its query."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from lochan.access import resources
from lochan.errors import LochanError
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError, error_response, message
from lochan.server.api.queries import Queries
from lochan.server.api.query_request import QueryBody, accepted_form, check_request
from lochan.server.api.query_run import QueryRun
from lochan.server.api.query_thread import CLIENT
from lochan.server.connections import hang_up

ID = "x-query-id"
_log = logging.getLogger("lochan.server")
MANAGE = "lake:ManageQueries"
_CANCEL_S = 5.0


def answer_query(api: Api, request: Request, body: QueryBody) -> Response:
    form = accepted_form(request.headers.get("accept", ""))
    query = check_request(body, api.queries.settings)
    context: RequestContext = request.scope[CONTEXT]
    run = api.queries.begin(context.caller(CLIENT), query, form)
    return QueryResponse(api.queries, run, api.listener.s3.idle_s)


async def list_queries(api: Api, request: Request) -> Response:
    """Lists the user's own queries, or all of them for a user who may manage queries."""
    mine, manages = _user(request), await _manages(api, request)
    found = [each.as_json() for each in api.queries.all() if manages or each.user == mine]
    pagination = {"has_more": False, "next_offset": "", "results": len(found), "max_per_page": len(found)}
    return JSONResponse({"pagination": pagination, "results": found})


async def get_query(api: Api, request: Request) -> Response:
    return JSONResponse((await _find_run(api, request)).as_json())


async def cancel_query(api: Api, request: Request) -> Response:
    """Cancels a query. If it has ended, nothing happens. If it does not end soon, it is cancelled in the background."""
    run = await _find_run(api, request)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await api.queries.cancel(run)
    if not run.is_over:
        api.queries.give_up(run)
    return Response(status_code=204)


async def _find_run(api: Api, request: Request) -> QueryRun:
    """Returns a query. Raises 404, also for a query of another user."""
    id = request.path_params["id"]
    run = api.queries.find(id)
    if run is None or (run.user != _user(request) and not await _manages(api, request)):
        raise HttpError(404, f"there is no query {id!r}, or it has been forgotten")
    return run


async def _manages(api: Api, request: Request) -> bool:
    context: RequestContext = request.scope[CONTEXT]
    return (await api.access.rights(context.requester, context.arrived)).allow(MANAGE, resources.LAKE)


def _user(request: Request) -> str:
    context: RequestContext = request.scope[CONTEXT]
    return context.user


class _Left(Exception):
    """The client has left, or the query was cancelled, so nothing more is sent."""


class QueryResponse(Response):
    def __init__(self, queries: Queries, run: QueryRun, patience_s: float) -> None:
        self._queries = queries
        self._run = run
        self._patience_s = patience_s
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            piece = await self._next(left)
            if piece is None and self._run.error is not None:
                await self._failed(self._run.error)(scope, receive, send)
            else:
                await self._send(piece, left, send)
        except (_Left, TimeoutError):
            _log.debug("query %s: its rows are not wanted any more", self._run.id)
            if scope["http_version"] < "2":  # with HTTP/2, others may use the connection, so only this stream is reset
                context: RequestContext = scope[CONTEXT]
                hang_up(context.connection)
        finally:
            left.cancel()
            if self._run.is_over:
                self._run.pieces.drop()
            else:
                self._queries.give_up(self._run)

    def _failed(self, error: BaseException) -> Response:
        known = isinstance(error, LochanError)
        answer = error_response(error) if known else message(500, "the server has failed; its log says more")  # type: ignore[arg-type]
        answer.headers[ID] = self._run.id
        return answer

    async def _send(self, piece: bytes | None, left: "asyncio.Future[None]", send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._head()})
        while piece is not None:
            body = {"type": "http.response.body", "body": piece, "more_body": True}
            async with asyncio.timeout(self._patience_s):
                await _unless(send(body), left, self._run.given_up)
            piece = await self._next(left)
        if self._run.error is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Otherwise, the server has seen no end and closes the connection.

    async def _next(self, left: "asyncio.Future[None]") -> bytes | None:
        piece: bytes | None = await _unless(self._run.pieces.take(), left)
        return piece

    def _head(self) -> list[tuple[bytes, bytes]]:
        run = self._run
        found = {
            "content-type": run.form.media_type,
            "cache-control": "no-store",
            ID: run.id,
            "x-query-engine": run.engine,
            "x-query-warnings": str(len(run.warnings)),
        }
        return [(name.encode(), value.encode()) for name, value in found.items()]


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _unless(step: Awaitable[Any], *ends: "asyncio.Future[Any]") -> Any:
    """Returns the result of the step. Raises _Left if one of the others is done first."""
    doing: asyncio.Future[Any] = asyncio.ensure_future(step)
    try:
        await asyncio.wait({doing, *ends}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise _Left
        return doing.result()
    finally:
        if not doing.done():
            doing.cancel()
            with suppress(asyncio.CancelledError):
                await doing
