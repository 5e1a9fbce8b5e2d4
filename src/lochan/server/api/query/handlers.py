"""`/api/v1/query`: a query is posted, and its rows are the answer; those that run are listed, looked at, cancelled."""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lochan.access import resources
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.api.query.query_run import QueryRun
from lochan.server.api.query.request import BODY_BYTES_MAX, accepted, parse_request
from lochan.server.api.query.response import QueryResponse

MANAGE = "lake:ManageQueries"
_CANCEL_S = 5.0


async def post_query(api: Api, request: Request) -> Response:
    form = accepted(request.headers.get("accept", ""))
    wanted = parse_request(await _body(request), api.queries.settings)
    context: RequestContext = request.scope[CONTEXT]
    run = api.queries.begin(context.user, context.source, context.arrived, wanted, form)
    return QueryResponse(api.queries, run, api.listener.s3.idle_s)


async def list_queries(api: Api, request: Request) -> Response:
    """One's own; and all for who may manage them."""
    mine, manages = _user(request), await _manages(api, request)
    found = [each.as_json() for each in api.queries.all() if manages or each.user == mine]
    pagination = {"has_more": False, "next_offset": "", "results": len(found), "max_per_page": len(found)}
    return JSONResponse({"pagination": pagination, "results": found})


async def get_query(api: Api, request: Request) -> Response:
    return JSONResponse((await _found(api, request)).as_json())


async def cancel_query(api: Api, request: Request) -> Response:
    """Of one that has ended there is nothing to cancel, which is as well. What does not end soon ends later."""
    run = await _found(api, request)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await api.queries.cancel(run)
    if not run.is_over:
        api.queries.give_up(run)
    return Response(status_code=204)


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpError(415, "a query must be sent as application/json")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_BYTES_MAX:
            raise HttpError(413, f"a query has at most {BODY_BYTES_MAX:,} bytes")
    return data


async def _found(api: Api, request: Request) -> QueryRun:
    """Raises 404, also for one that is somebody else's."""
    id = request.path_params["id"]
    run = api.queries.find(id)
    if run is None or (run.user != _user(request) and not await _manages(api, request)):
        raise HttpError(404, f"there is no query {id!r}, or it has been forgotten")
    return run


async def _manages(api: Api, request: Request) -> bool:
    context: RequestContext = request.scope[CONTEXT]
    access = await api.access.authorised_state(context.arrived)
    return access.rights(context.user).allow(MANAGE, resources.LAKE)


def _user(request: Request) -> str:
    context: RequestContext = request.scope[CONTEXT]
    return context.user
