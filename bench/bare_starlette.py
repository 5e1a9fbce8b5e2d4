"""The smallest program that could stand in for the REST API: Starlette with one route, which answers a constant. Run by
Granian, one worker, as the API is."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

_STAT = {
    "path": "folder/0000001.bin",
    "path_type": "object",
    "physical_address": "file:///lake/repository/data/0000000000000001/0123456789",
    "checksum": "0123456789abcdef0123456789abcdef",
    "mtime": 1_700_000_000,
    "size_bytes": 1_024,
    "physical_address_expiry": 0,
    "metadata": {},
    "content_type": "application/octet-stream",
}


async def stat(request: Request) -> JSONResponse:
    return JSONResponse({**_STAT, "path": request.query_params["path"]})


app = Starlette(routes=[Route("/api/v1/repositories/{repository}/refs/{ref}/objects/stat", stat)])
