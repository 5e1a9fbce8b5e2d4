"""Contains the one table of the API: the operation of each request, and the action that its user must be allowed.

A test fails for a route without an action. OPEN is for everybody, and all others need an access key. The first five,
which monitoring uses, are answered here."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from lochan import __version__
from lochan.access import resources
from lochan.access.rights import Denied
from lochan.api import server_times
from lochan.api.server_times import ServerTimes
from lochan.errors import Invalid, LochanError
from lochan.server import phases
from lochan.server.api import mcp
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.login_settings import SETTINGS, LoginSettingsInfo, login_settings
from lochan.server.connections import is_loopback
from lochan.server.metrics import BOUNDS_S, exposition, operation_times
from lochan.server.page import static_files as page
from lochan.server.rest import openapi
from lochan.server.rest import routes as rest
from lochan.server.rest.operation import JSON, NoQuery, Operation
from lochan.server.rest.unsupported import UNSUPPORTED
from lochan.server.rest.wire import VersionConfig, WireValue
from lochan.server.verbs import operations as verbs
from lochan.server.verbs import task_routes as tasks
from lochan.server.verbs.tasks import TaskInfo

Handle = Callable[[Api, Request], Awaitable[Response]]
OPEN, METRICS = "", "lake:ReadMetrics"
# The views of the web page. Each has an address of its own, which can be linked and loaded again.
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
VERBS = "*"  # each verb that the handler calls is checked, by its row in the table of verbs
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
    """Answers whether the lake's journal can be read now."""
    try:
        async for _ in api.lake.repositories():
            break
    except LochanError as error:
        _log.warning("not ready: %s", error.message)  # the message names places, which strangers must not see
        return PlainTextResponse("not ready: the lake cannot be read; the server's log says why\n", 503)
    return PlainTextResponse("ready\n")


async def metrics(api: Api, request: Request) -> Response:
    await _check_metrics(api, request)
    api.metrics.warm(api.spark.is_warm())
    return Response(exposition(), media_type="text/plain; version=0.0.4")


async def top(api: Api, request: Request) -> Response:
    """Shows where the time of S3 requests is spent, since the start or within the seconds of the query. The action of
    its row is checked as for the metrics."""
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
    """Answer, whatever the lake does."""
    return Response(status_code=204)


async def version(api: Api, request: Request) -> Response:
    """Get the version of the server."""
    return _json(VersionConfig(version=__version__))


class ServedLakeInfo(WireValue, frozen=True, kw_only=True):
    id: str
    version: str
    user: str  # the user who asks
    store: str  # the scheme of the store's URL
    tls: bool
    loopback: bool  # whether it answers only this machine


async def served_lake(api: Api, request: Request) -> Response:
    """Get which lake it is, who asks, and the version that serves it: what a client asks first."""
    context: RequestContext = request.scope[CONTEXT]
    return _json(
        ServedLakeInfo(
            id=api.lake.id,
            version=__version__,
            user=context.user,
            store=api.lake.url.partition("://")[0] if "://" in api.lake.url else "file",
            tls=api.listener.tls is not None,
            loopback=is_loopback(api.listener.host),
        )
    )


def _json(value: WireValue) -> Response:
    return Response(msgspec.json.encode(value), media_type=JSON)


async def document(api: Api, request: Request) -> Response:
    """Get this document."""
    return Response(_document(), media_type=JSON)


@cache
def _document() -> bytes:
    served = (each.described() for each in SERVED)
    return openapi.document((*rest.OPERATIONS, *verbs.OPERATIONS, *served), rest.BASE)


class ServedPath(NamedTuple):
    """A path of the API that belongs neither to lakeFS nor to a verb."""

    name: str
    method: str
    path: str  # the path below the base
    handle: Handle
    answers: Mapping[int, Any]
    action: str = VERBS

    def row(self) -> Row:
        return Row(self.name, self.method, f"{rest.BASE}{self.path}", self.handle, self.action)

    def described(self) -> Operation:
        """Describes the path for the document, with the docstring of its handler."""
        described: Any = self.handle
        tag, is_open = self.path.split("/")[1], self.action == OPEN
        about = NoQuery, None, self.answers
        return Operation(self.name, self.method, self.path, described, *about, tag, is_open, JSON, {})


SERVED = (
    ServedPath("ListTasks", "GET", tasks.BELOW, tasks.list_tasks, {200: list[TaskInfo]}),
    ServedPath("GetTask", "GET", f"{tasks.BELOW}/{{id}}", tasks.get_task, {200: TaskInfo}),
    ServedPath("CancelTask", "DELETE", f"{tasks.BELOW}/{{id}}", tasks.cancel_task, {204: None}),
    ServedPath("OpenApi", "GET", "/openapi.json", document, {200: dict[str, Any]}, OPEN),
    ServedPath("HealthCheck", "GET", "/healthcheck", healthcheck, {204: None}, OPEN),
    ServedPath("ServedLake", "GET", "/lake", served_lake, {200: ServedLakeInfo}),
    ServedPath("LoginSettings", "GET", "/auth/settings", login_settings, {200: LoginSettingsInfo}, SETTINGS),
    ServedPath("Version", "GET", "/config/version", version, {200: VersionConfig}, OPEN),
)


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
    *(each.row() for each in SERVED[:3]),
    *(
        Row(f"{method} {each.path}", method, f"{rest.BASE}{each.path}", each.handle, VERBS)
        for each in UNSUPPORTED
        for method in each.methods
    ),
    *(each.row() for each in SERVED[3:]),
    Row("OpenApiAtRoot", "GET", "/openapi.json", document, OPEN),
    Row("Alive", "GET", "/_health/alive", alive, OPEN),
    Row("Ready", "GET", "/_health/ready", ready, OPEN),
    Row("Metrics", "GET", "/_metrics", metrics, METRICS),
    Row("Top", "GET", "/_top", top, METRICS),
    Row("Mcp", "POST", mcp.PATH, mcp.post_message, VERBS),
    Row("McpStream", "GET", mcp.PATH, mcp.no_stream, VERBS),
    *(Row(f"Page {view}", "GET", view, page.index, OPEN) for view in VIEWS),
    Row("PageFile", "GET", "/page/{name:path}", page.asset, OPEN),
)
