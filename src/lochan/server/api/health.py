"""What watches a server asks for. Whether it runs is told to everybody, and nothing else is."""

import logging

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lochan import __version__
from lochan.access import resources
from lochan.access.rights import Denied
from lochan.errors import LochanError
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.metrics import exposition

METRICS = "lake:ReadMetrics"
_log = logging.getLogger("lochan.server")


async def alive(api: Api, request: Request) -> Response:
    return PlainTextResponse("alive\n")


async def ready(api: Api, request: Request) -> Response:
    """Whether the lake's journal can be read now."""
    try:
        async for _ in api.lake.repositories():
            break
    except LochanError as error:
        _log.warning("not ready: %s", error.message)  # it names places, which are nothing for a stranger
        return PlainTextResponse("not ready: the lake cannot be read; the server's log says why\n", 503)
    return PlainTextResponse("ready\n")


async def metrics(api: Api, request: Request) -> Response:
    context: RequestContext = request.scope[CONTEXT]
    access = await api.access.authorised_state(context.arrived)
    if not access.rights(context.user).allow(METRICS, resources.LAKE):
        raise Denied("you may not read the server's metrics", hint=f"this needs {METRICS} on the lake")
    api.metrics.warm(api.spark.is_warm())
    return Response(exposition(), media_type="text/plain; version=0.0.4")


async def healthcheck(api: Api, request: Request) -> Response:
    return Response(status_code=204)


async def version(api: Api, request: Request) -> Response:
    return JSONResponse({"version": __version__})
