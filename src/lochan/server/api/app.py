"""The API as Granian calls it: what there is of it so far, and what watches a server asks for."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from lochan import __version__
from lochan.clock import SystemClock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.server.expiring import keep_expiring
from lochan.server.managing import keep_managing
from lochan.server.metrics import exposition
from lochan.server.settings import Listener


def api(listener: Listener) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.lake = await listener.open_lake()
        chores = [asyncio.create_task(chore) for chore in _chores(app.state.lake, listener)]
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.wait(chores)
            await app.state.lake.close()

    return Starlette(routes=ROUTES, lifespan=lifespan)


def _chores(lake: Lake, listener: Listener) -> Iterator[Coroutine[object, object, None]]:
    """What one process of a server does beside answering."""
    yield keep_expiring(lake, SystemClock(), Ids(), listener.upload_days)
    if listener.upkeep is not None:
        yield keep_managing(lake, SystemClock(), Ids(), listener.upkeep)


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
