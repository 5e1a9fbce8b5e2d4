"""`/api/v1/query`: a query is posted, and its rows are the answer; those that run are listed, looked at, cancelled."""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lochan.access import resources
from lochan.server.api.failures import Failure
from lochan.server.api.query.answer import QueryAnswer
from lochan.server.api.query.forms import accepted
from lochan.server.api.query.running import Running
from lochan.server.api.query.wish import BODY_BYTES_MAX, read
from lochan.server.api.serving import ASKED, Api, Asked

MANAGE = "lake:ManageQueries"
_CANCEL_S = 5.0


async def ask(api: Api, request: Request) -> Response:
    form = accepted(request.headers.get("accept", ""))
    wish = read(await _body(request), api.queries.settings)
    asked: Asked = request.scope[ASKED]
    running = api.queries.begin(asked.user, asked.source, asked.arrived, wish, form)
    return QueryAnswer(api.queries, running, api.listener.s3.idle_s)


async def list_running(api: Api, request: Request) -> Response:
    """One's own; and all for who may manage them."""
    mine, manages = _user(request), await _manages(api, request)
    found = [each.told() for each in api.queries.all() if manages or each.user == mine]
    pagination = {"has_more": False, "next_offset": "", "results": len(found), "max_per_page": len(found)}
    return JSONResponse({"pagination": pagination, "results": found})


async def show(api: Api, request: Request) -> Response:
    return JSONResponse((await _found(api, request)).told())


async def cancel(api: Api, request: Request) -> Response:
    """Of one that has ended there is nothing to cancel, which is as well. What does not end soon ends later."""
    running = await _found(api, request)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CANCEL_S):
            await api.queries.cancel(running)
    if not running.is_over:
        api.queries.give_up(running)
    return Response(status_code=204)


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Failure(415, "a query is sent as application/json")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_BYTES_MAX:
            raise Failure(413, f"a query has at most {BODY_BYTES_MAX:,} bytes")
    return data


async def _found(api: Api, request: Request) -> Running:
    """Raises 404, also for one that is somebody else's."""
    id = request.path_params["id"]
    running = api.queries.find(id)
    if running is None or (running.user != _user(request) and not await _manages(api, request)):
        raise Failure(404, f"there is no query {id!r}, or not any more")
    return running


async def _manages(api: Api, request: Request) -> bool:
    asked: Asked = request.scope[ASKED]
    access = await api.access.authorised_state(asked.arrived)
    return access.rights(asked.user).allow(MANAGE, resources.LAKE)


def _user(request: Request) -> str:
    asked: Asked = request.scope[ASKED]
    return asked.user
