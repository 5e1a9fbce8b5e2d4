"""The one table of the API: which request is which operation, and what its user must be allowed.

A test fails for a route without an action. OPEN is for everybody; all others need an access key. What watches a server
asks the first five, which are answered here.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import cache
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lochan import __version__
from lochan.access import resources
from lochan.access.rights import Denied
from lochan.api import server_times
from lochan.api.server_times import ServerTimes
from lochan.errors import Invalid, LochanError
from lochan.server import phases
from lochan.server.api import mcp
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.login_settings import SETTINGS, login_settings
from lochan.server.connections import is_loopback
from lochan.server.metrics import BOUNDS_S, exposition, operation_times
from lochan.server.page import static_files as page
from lochan.server.rest import openapi
from lochan.server.rest import routes as rest
from lochan.server.rest.unsupported import UNSUPPORTED
from lochan.server.verbs import operations as verbs
from lochan.server.verbs import task_routes as tasks

Handle = Callable[[Api, Request], Awaitable[Response]]
OPEN, METRICS = "", "lake:ReadMetrics"
# Views of the web page: each is an address of its own, which can be linked and loaded again.
VIEWS = (
    "/",
    "/setup",
    "/repositories/{view:path}",
    "/pools/{view:path}",
    "/query",
    "/events",
    "/jobs",
    "/operations",
    "/stores",
    "/access",
    "/docs",
    "/docs/{view:path}",
)
VERBS = "*"  # the verbs that the handler calls are checked, each by its row in the table of verbs
_log = logging.getLogger("lochan.server")


class Row(NamedTuple):
    name: str
    method: str
    path: str
    handle: Handle
    action: str
    presigned: bool = False  # whether an address of it may be given out, which is signed in its query


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
    await _check_metrics(api, request)
    api.metrics.warm(api.spark.is_warm())
    return Response(exposition(), media_type="text/plain; version=0.0.4")


async def top(api: Api, request: Request) -> Response:
    """Where the time of S3 requests goes: since the start, or within the seconds of the query. The action of its row is
    checked as for the metrics."""
    await _check_metrics(api, request)
    form, text = request.query_params.get("format", "text"), request.query_params.get("seconds", "")
    if form not in ("text", "json"):
        raise Invalid(f"{form[:20]!r} is no format of this page", hint="give text or json")
    found, span = _times(api), "since the server was started"
    if text:
        if not (text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= phases.SPAN_S_MAX):
            raise Invalid(f"{text[:20]!r} is no number of seconds", hint=f"give 1 to {phases.SPAN_S_MAX:.0f}, or none")
        await api.clock.sleep(int(text))
        found, span = _times(api).since(found), f"within {int(text)} s"
    if form == "json":
        return Response(msgspec.json.encode(found), media_type="application/json")
    return PlainTextResponse(server_times.page(found, span))


def _times(api: Api) -> ServerTimes:
    return ServerTimes(api.clock.boot() - api.begun, BOUNDS_S, operation_times())


async def _check_metrics(api: Api, request: Request) -> None:
    context: RequestContext = request.scope[CONTEXT]
    if not (await api.access.rights(context.requester, context.arrived)).allow(METRICS, resources.LAKE):
        raise Denied("you may not read the server's metrics", hint=f"this needs {METRICS} on the lake")


async def healthcheck(api: Api, request: Request) -> Response:
    return Response(status_code=204)


async def version(api: Api, request: Request) -> Response:
    return JSONResponse({"version": __version__})


async def served_lake(api: Api, request: Request) -> Response:
    """Which lake it is, who asks, and the version that serves it: what a client asks first."""
    context: RequestContext = request.scope[CONTEXT]
    found = {
        "id": api.lake.id,
        "version": __version__,
        "user": context.user,
        "store": api.lake.url.partition("://")[0] if "://" in api.lake.url else "file",
        "tls": api.listener.tls is not None,
        "loopback": is_loopback(api.listener.host),
    }
    return JSONResponse(found)


async def document(api: Api, request: Request) -> Response:
    return Response(_document(), media_type="application/json")


@cache
def _document() -> bytes:
    return openapi.document((*rest.OPERATIONS, *verbs.OPERATIONS), rest.BASE)


ROUTES = (
    *(
        Row(
            each.id,
            each.method,
            f"{rest.BASE}{each.path}",
            rest.handler(each),
            OPEN if each.open else VERBS,
            each.presigned,
        )
        for each in rest.OPERATIONS
    ),
    *(Row(each.id, each.method, each.path, verbs.handler(each), VERBS) for each in verbs.CALLS),
    Row("ListTasks", "GET", tasks.PATH, tasks.list_tasks, VERBS),
    Row("GetTask", "GET", f"{tasks.PATH}/{{id}}", tasks.get_task, VERBS),
    Row("CancelTask", "DELETE", f"{tasks.PATH}/{{id}}", tasks.cancel_task, VERBS),
    *(
        Row(f"{method} {each.path}", method, f"{rest.BASE}{each.path}", each.handle, VERBS)
        for each in UNSUPPORTED
        for method in each.methods
    ),
    Row("OpenApi", "GET", "/api/v1/openapi.json", document, OPEN),
    Row("OpenApiAtRoot", "GET", "/openapi.json", document, OPEN),
    Row("Alive", "GET", "/_health/alive", alive, OPEN),
    Row("Ready", "GET", "/_health/ready", ready, OPEN),
    Row("Metrics", "GET", "/_metrics", metrics, METRICS),
    Row("Top", "GET", "/_top", top, METRICS),
    Row("HealthCheck", "GET", "/api/v1/healthcheck", healthcheck, OPEN),
    Row("ServedLake", "GET", "/api/v1/lake", served_lake, VERBS),
    Row("LoginSettings", "GET", "/api/v1/auth/settings", login_settings, SETTINGS),
    Row("Version", "GET", "/api/v1/config/version", version, OPEN),
    Row("Mcp", "POST", mcp.PATH, mcp.post_message, VERBS),
    Row("McpStream", "GET", mcp.PATH, mcp.no_stream, VERBS),
    *(Row(f"Page {view}", "GET", view, page.index, OPEN) for view in VIEWS),
    Row("PageFile", "GET", "/page/{name:path}", page.asset, OPEN),
)
