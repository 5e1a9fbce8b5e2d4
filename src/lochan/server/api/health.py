"""What watches a server asks for, of nobody in particular."""

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lochan import __version__
from lochan.errors import LochanError
from lochan.server.api.serving import Api
from lochan.server.metrics import exposition


async def alive(api: Api, request: Request) -> Response:
    return PlainTextResponse("alive\n")


async def ready(api: Api, request: Request) -> Response:
    """Whether the lake's journal can be read now."""
    try:
        await api.lake.repositories()
    except LochanError as error:
        return PlainTextResponse(f"not ready: {error.message}\n", 503)
    return PlainTextResponse("ready\n")


async def metrics(api: Api, request: Request) -> Response:
    api.metrics.warm(api.spark.is_warm())
    return Response(exposition(), media_type="text/plain; version=0.0.4")


async def healthcheck(api: Api, request: Request) -> Response:
    return Response(status_code=204)


async def version(api: Api, request: Request) -> Response:
    return JSONResponse({"version": __version__})
