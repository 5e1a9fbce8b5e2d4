"""Defines the layer around every request: its id, its user, the answers to its failures, and a line in the log."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from lochan.access.requester import address_of
from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.server.api.authentication import authenticate
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError, error_response, message
from lochan.server.api.routes import OPEN, Row
from lochan.server.connections import BodyPace, ConnectionGuard, client_text
from lochan.server.logs import AccessLine, AccessLog
from lochan.server.origin import HEADER, TrustedProxies
from lochan.server.page.static_files import no_view
from lochan.server.rest import fast_rows, fast_stat
from lochan.server.rest.routes import CLIENT, note_load, note_stat
from lochan.usage.log import UsageRow

BASE = "/api/v1/"
JSON = "application/json"
_NOT_LET_IN = (401, 403)
_FORWARDED = HEADER.encode()
_log = logging.getLogger("lochan.server")


def routes(rows: Sequence[Row]) -> list[Route]:
    """Returns one route for each path, which has all of its methods."""
    paths: dict[str, dict[str, Row]] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method] = row
    return [Route(path, _guard(by_method), methods=list(by_method)) for path, by_method in paths.items()]


def _guard(rows: Mapping[str, Row]) -> Callable[[Request], Awaitable[Response]]:
    """Returns a handler that calls the rows' handlers for users who may call them, and that answers every failure."""

    async def handle(request: Request) -> Response:
        context: RequestContext = request.scope[CONTEXT]
        row = rows["GET" if request.method == "HEAD" else request.method]
        context.operation = row.name
        api: Api = request.app.state.api
        try:
            return await row.handle(api, await _authenticate(api, request, row))
        except (HttpError, LochanError) as error:
            return _in_its_form(request, error_response(error))
        except ClientDisconnect:
            return _in_its_form(request, message(400, "the body broke off before its end"))  # not read by the client
        except Exception as error:
            return _in_its_form(request, _failure_answer(context, request.method, request.url.path, error))

    return handle


def _failure_answer(context: RequestContext, method: str, path: str, error: Exception) -> Response:
    _log.error("request %s %s %s failed", context.id, method, path, exc_info=error)
    return message(500, f"the server has failed; its log says more, under the request id {context.id}")


async def _authenticate(api: Api, request: Request, row: Row) -> Request:
    """Authenticates the user. Returns the request, with a body that is checked while it arrives."""
    sha256 = ""
    if row.action != OPEN:
        sha256 = await authenticate(api, request, presigned=row.presigned)
        context: RequestContext = request.scope[CONTEXT]
        api.guard.authenticated(context.connection)
    return Request(request.scope, checked_receive(request.receive, _pace(api), sha256))


def _pace(api: Api) -> BodyPace:
    return BodyPace(api.listener.s3.idle_s, api.listener.limits.body_bytes_per_s)


def _in_its_form(request: Request, answer: Response) -> Response:
    """Returns the answer as JSON if the path is below the base of the API, and as plain text otherwise."""
    if request.url.path.startswith(BASE):
        return answer
    words = json.loads(bytes(answer.body))["message"]
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-length", "content-type")}
    return PlainTextResponse(f"{words}\n", answer.status_code, kept)


async def no_route(request: Request, error: Exception) -> Response:
    """Answers a request without a route. The answer is JSON only below the base of the API."""
    assert isinstance(error, HTTPException), "it is the handler of these"
    if not request.url.path.startswith(BASE):
        shown = no_view(request) if error.status_code == 404 else None
        return shown or PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)
    words = {404: "there is no such resource", 405: f"this resource does not support {request.method}"}
    return message(error.status_code, words.get(error.status_code, error.detail), error.headers)


class Middleware:
    """The application, as Granian calls it."""

    def __init__(
        self,
        app: Starlette,
        clock: Clock,
        ids: Ids,
        log: AccessLog | None,
        guard: ConnectionGuard,
        proxies: TrustedProxies | None = None,
    ) -> None:
        self._app = app
        self._proxies = proxies or TrustedProxies()
        self._guard = guard
        self._clock = clock
        self._log = log
        self._process = ids.put_id().hex()[:8].upper()
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = scope[CONTEXT] = self._context(scope)
        status, sent = 0, 0

        async def send_counted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", context.id.encode())]
            await send(message)
            sent += len(message.get("body", b""))

        client = self._guard.begin(context.connection)
        try:
            refusal = self._refusal(scope)
            fast = None if refusal else await self._fast_answer(scope, receive, context)
            await (refusal or fast or self._app)(scope, receive, send_counted)
        finally:
            self._guard.end(client)
            self._log_request(scope, context, status, sent)
            if status in _NOT_LET_IN and not context.user:
                self._note_stranger(context, status)

    async def _fast_answer(
        self, scope: Scope, receive: Receive, context: RequestContext
    ) -> "PlainAnswer | Response | None":
        """Returns an answer from the fast path, or None if the request takes the general path."""
        api: Api = self._app.state.api
        if scope["method"] == "POST":
            return await self._loaded(api, scope, receive, context)
        found = await api.fast_stat.answer(scope, context.arrived)
        if found is None:
            return None
        context.user, context.access_key, context.operation = found.user, found.access_key, fast_stat.OPERATION
        api.guard.authenticated(context.connection)
        note_stat(api, context, found.request)
        return PlainAnswer(found.body)

    async def _loaded(
        self, api: Api, scope: Scope, receive: Receive, context: RequestContext
    ) -> "PlainAnswer | Response | None":
        """Loads rows that are posted in the plainest way, or returns None."""
        claim = await api.fast_rows.claim(scope, context.source, context.arrived)
        if claim is None:
            return None
        context.user, context.access_key, context.operation = claim.who.user, claim.who.id, fast_rows.OPERATION
        api.guard.authenticated(context.connection)
        body = checked_receive(receive, _pace(api), "")
        try:
            done = await api.fast_rows.carry_out(claim, body, context.source)
        except Exception as error:
            return _failure_answer(context, scope["method"], scope["path"], error)
        note_load(api, context, claim.request.pool, done.error)
        return PlainAnswer(done.response) if isinstance(done.response, bytes) else done.response

    def _refusal(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that is refused at once, or None."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]  # Granian makes an empty one of none
        if len(hosts) > 1 or (not any(hosts) and scope["http_version"] == "1.1"):
            return PlainTextResponse("an HTTP/1.1 request must have exactly one Host header\n", 400)
        if self._guard.is_full:
            headers = (
                {"retry-after": "1", "connection": "close"} if scope["http_version"] < "2" else {"retry-after": "1"}
            )
            words = "the server is busy; try again"
            return _in_its_form(Request(scope), message(503, words, headers))
        return None

    def _context(self, scope: Scope) -> RequestContext:
        self._requests += 1
        client = scope.get("client")
        connection = source = client_text(client[0], client[1]) if client else ""
        if self._proxies:
            source = self._proxies.origin(
                connection, lambda: [value.decode("latin-1") for name, value in scope["headers"] if name == _FORWARDED]
            )
        id = f"{self._process}{self._requests:08X}"
        return RequestContext(id, self._clock.boot(), source, connection=connection)

    def _log_request(self, scope: Scope, context: RequestContext, status: int, sent: int) -> None:
        """Logs a request to the API. Requests that only watch the server are left out, because there are too many of
        them."""
        if self._log is None or not scope["path"].startswith(BASE):
            return
        seconds = self._clock.boot() - context.arrived
        now, method, path = self._clock.wall(), scope["method"], scope["path"]
        self._log.add(
            AccessLine(
                now, context.source, context.user, context.operation, method, path, status, sent, seconds, context.id
            )
        )

    def _note_stranger(self, context: RequestContext, status: int) -> None:
        """Records a denied request. The user name that it claimed is not recorded, because people put secrets into the
        wrong field."""
        api: Api = self._app.state.api
        who = status, CLIENT, address_of(context.source)
        api.usage.add_stranger(UsageRow(self._clock.wall(), "", context.operation, "", "", "", 0, *who))


class PlainAnswer:
    """JSON with the status 200, as Starlette's Response sends it, in a fifth of the time."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", str(len(self._body)).encode()), (b"content-type", JSON.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def checked_receive(receive: Receive, pace: BodyPace, sha256_hex: str) -> Receive:
    """Returns a `receive` that raises 408 for a client that is too slow, and 400 at the end of a body that is not the
    signed one. An empty `sha256_hex` is not checked."""
    digest = sha256()

    async def receive_checked() -> Message:
        try:
            message = await pace.wait(receive())
        except TimeoutError:
            raise HttpError(408, "the body came too slowly", connection="close") from None
        if message["type"] != "http.request":
            return message
        body = message.get("body", b"")
        pace.got(len(body))
        if sha256_hex:
            digest.update(body)
            if not message.get("more_body", False) and not compare_digest(digest.hexdigest(), sha256_hex):
                raise HttpError(400, "the body is not the one that was signed: its SHA-256 differs")
        return message

    return receive_checked
