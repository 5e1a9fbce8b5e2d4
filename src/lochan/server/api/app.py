"""The API as Granian calls it: what there is of it so far, and what watches a server asks for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from lochan import __version__
from lochan.clock import SystemClock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.server.expiring import keep_expiring
from lochan.server.metrics import exposition
from lochan.server.settings import Listener


def api(listener: Listener) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.lake = await listener.open_lake()
        expiring = asyncio.create_task(keep_expiring(app.state.lake, SystemClock(), Ids(), listener.upload_days))
        try:
            yield
        finally:
            expiring.cancel()
            await asyncio.wait([expiring])
            await app.state.lake.close()

    return Starlette(routes=ROUTES, lifespan=lifespan)


async def alive(request: Request) -> Response:
    return PlainTextResponse("alive\n")


async def ready(request: Request) -> Response:
    """Whether the lake's journal can be read now."""
    try:
        await request.app.state.lake.repositories()
    except LochanError as error:
        return PlainTextResponse(f"not ready: {error.message}\n", 503)
    return PlainTextResponse("ready\n")


async def metrics(request: Request) -> Response:
    return Response(exposition(), media_type="text/plain; version=0.0.4")


async def healthcheck(request: Request) -> Response:
    return Response(status_code=204)


async def version(request: Request) -> Response:
    return JSONResponse({"version": __version__})


async def not_here(request: Request) -> Response:
    return JSONResponse({"message": "there is no such resource"}, 404)


ROUTES = [
    Route("/_health/alive", alive),
    Route("/_health/ready", ready),
    Route("/_metrics", metrics),
    Route("/api/v1/healthcheck", healthcheck),
    Route("/api/v1/config/version", version),
    Route("/api/v1/{rest:path}", not_here),
]
