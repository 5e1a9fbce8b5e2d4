"""The one table of the API: which request is which operation, and what its user must be allowed.

A test fails for a route without an action. OPEN is for everybody; all others need an access key. What watches a server
asks the first five, which are answered here.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import cache
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lochan import __version__
from lochan.access import resources
from lochan.access.rights import Denied
from lochan.errors import LochanError
from lochan.server.api import query_handlers as query
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.metrics import exposition
from lochan.server.rest import openapi
from lochan.server.rest import routes as rest

Handle = Callable[[Api, Request], Awaitable[Response]]
OPEN, METRICS = "", "lake:ReadMetrics"
VERBS = "*"  # the verbs that the handler calls are checked, each by its row in the table of verbs
_log = logging.getLogger("lochan.server")


class Row(NamedTuple):
    name: str
    method: str
    path: str
    handle: Handle
    action: str


async def alive(api: Api, request: Request) -> Response:
    return PlainTextResponse("alive\n")


async def ready(api: Api, request: Request) -> Response:
    """Whether the lake's journal can be read now."""
    try:
        async for _ in api.lake.repositories():
            break
    except LochanError as error:
        _log.warning("not ready: %s", error.message)  # it names places, which are not for strangers
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


async def document(api: Api, request: Request) -> Response:
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    return openapi.document(rest.OPERATIONS, rest.BASE)


ROUTES = (
    *(
        Row(each.id, each.method, f"{rest.BASE}{each.path}", rest.handler(each), OPEN if each.open else VERBS)
        for each in rest.OPERATIONS
    ),
    Row("OpenApi", "GET", "/api/v1/openapi.json", document, OPEN),
    Row("OpenApiAtRoot", "GET", "/openapi.json", document, OPEN),
    Row("Alive", "GET", "/_health/alive", alive, OPEN),
    Row("Ready", "GET", "/_health/ready", ready, OPEN),
    Row("Metrics", "GET", "/_metrics", metrics, METRICS),
    Row("HealthCheck", "GET", "/api/v1/healthcheck", healthcheck, OPEN),
    Row("Version", "GET", "/api/v1/config/version", version, OPEN),
    # Asked of each source that it names, while it is planned (access/query_rights.py).
    Row("Query", "POST", "/api/v1/query", query.post_query, "fs:ReadObject"),
    # Asked where it is somebody else's; one's own can always be seen and cancelled.
    Row("ListQueries", "GET", "/api/v1/query", query.list_queries, query.MANAGE),
    Row("GetQuery", "GET", "/api/v1/query/{id}", query.get_query, query.MANAGE),
    Row("CancelQuery", "DELETE", "/api/v1/query/{id}", query.cancel_query, query.MANAGE),
)
