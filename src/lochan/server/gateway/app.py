"""Contains the gateway as Granian calls it: it locates, authenticates, carries out and answers each request.

    scope ──▶ bucket and key ──▶ route ──▶ who asks? ──▶ operation, which asks: may they? ──▶ response
      │              └──────────────┴──────────┴──────────────────┴──▶ an error, in S3's words
      └─────▶ a plain read or write: the fast path (`fastpath/`)

Granian decodes the path before we see it, so what a client signed is encoded again. Bytes that are not UTF-8 arrive as
U+FFFD and fail their signature, and the answer says so.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]

from lochan.api.session import ServerSession
from lochan.clock import SystemClock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.authentication import authenticate
from lochan.server.gateway.error_codes import as_s3
from lochan.server.gateway.fastpath.engine import write_beside
from lochan.server.gateway.fastpath.reads import FastLog, FastReads
from lochan.server.gateway.fastpath.writes import FastWrites
from lochan.server.gateway.flow import Flow
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Headers, Response, S3Request, Stream
from lochan.server.gateway.request_log import RequestLog
from lochan.server.gateway.routes import check_query, find
from lochan.server.gateway.wire.addressing import parse_decoded_address
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_out import error as error_body
from lochan.server.maintenance import keep_memory_trimmed, rarely_collect
from lochan.server.origin import TrustedProxies
from lochan.server.settings import Listener
from lochan.without_pandas import arrow_without_pandas

Open = Callable[[], Awaitable[Gateway]]
Log = Callable[[S3Request, str, int, int], None]

_DRAINED_BYTES_MAX = 64 << 10
_log = logging.getLogger("lochan.server")


class App:
    """The application that Granian runs. `open` is called once in each worker process. `log` is called with every
    answer: its operation, status and number of bytes sent. If there is a `fast_log`, plain requests take the fast path
    and are logged by it."""

    def __init__(self, open: Open, log: Log, fast_log: FastLog | None = None) -> None:
        self._open = open
        self._log = log
        self._fast_log = fast_log
        self._reads: FastReads | None = None
        self._writes: FastWrites | None = None
        self._gateway: Gateway | None = None
        self._opening: asyncio.Task[Gateway] | None = None

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.open_once(loop)

    def open_once(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts to open the gateway. Requests wait until it is open. If opening has failed, it is tried again."""
        if self._opening is None or (self._opening.done() and self._gateway is None):
            self._opening = loop.create_task(self._start())

    async def close(self) -> None:
        if self._gateway is not None:
            await self._gateway.close()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.run_until_complete(self.close())

    async def _start(self) -> Gateway:
        self._gateway = gateway = await self._open()
        if self._fast_log is not None and FastReads.suit(gateway):
            self._reads = FastReads(gateway, self._fast_log)
            self._writes = FastWrites(gateway, self._fast_log, self._answer_failure)
        return gateway

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        gateway = self._gateway
        if gateway is None:
            assert self._opening is not None, "Granian calls __rsgi_init__ first"
            gateway = await asyncio.shield(self._opening)
        guard, arrived = gateway.guard, gateway.clock.boot()
        client = guard.begin(scope.client)
        try:
            reads = self._reads
            if reads is None or guard.is_full or not await reads.answered(scope, protocol, client, arrived):
                await self._respond(gateway, scope, protocol, arrived)
        finally:
            guard.end(client)

    async def _respond(self, gateway: Gateway, scope: Any, protocol: Any, arrived: float) -> None:
        if gateway.guard.is_full:
            request = S3Request(scope, protocol, gateway.request_id(), arrived)
            await self._answer_failure(request, "Unknown", S3Error("SlowDown"))
            return
        if self._writes is not None and scope.method == "PUT":
            protocol = await self._writes.answered(scope, protocol, arrived)
            if protocol is None:
                return
        request = S3Request(scope, protocol, gateway.request_id(), arrived)
        request.source = gateway.origin(scope)
        request.patience_s = gateway.settings.idle_s
        request.body_bytes_per_s = gateway.limits.body_bytes_per_s
        name = "Unknown"
        try:
            request.check_headers()
            _check_host(scope, request)
            request.read_query()
            address = parse_decoded_address(request.headers.get("host", ""), request.path, gateway.domains)
            request.bucket, request.key, request.bucket_in_host = address
            route = find(request)
            name, request.action = route.name, route.action
            await authenticate(gateway, request, form=route.is_form)
            request.signed = gateway.clock.boot()
            if request.query:
                check_query(route, request)
            response = await route.handle(gateway, request)
            request.handled = gateway.clock.boot()
        except Exception as error:
            await self._answer_failure(request, name, error)
            return
        await self._answer(gateway, request, name, response)

    async def _answer_failure(self, request: S3Request, name: str, error: Exception) -> None:
        gateway = self._gateway
        assert gateway is not None, "it has carried out the request"
        fault = _as_s3(gateway, request, error)
        if fault.status == 403 and request.bucket:  # also without such a bucket, so it reveals nothing
            fault = fault.with_header("x-amz-bucket-region", gateway.settings.region)
        await self._answer(gateway, request, name, _error_answer(request, fault))

    async def _answer(self, gateway: Gateway, request: S3Request, name: str, response: Response) -> None:
        sent = await _send(gateway, request, response)
        _note_phases(gateway, request, name)
        self._log(request, name, response.status, sent)


def _note_phases(gateway: Gateway, request: S3Request, name: str) -> None:
    signed, handled = request.signed, request.handled
    if not signed:  # the request was refused before it was authenticated, so there are no other phases
        gateway.phases.add(name, gateway.clock.boot() - request.arrived)
        return
    lists = handled - signed if handled and name.startswith("List") else 0.0
    bodies = gateway.clock.boot() - handled if handled and name == "GetObject" else 0.0
    gateway.phases.add(name, signed - request.arrived, 0.0, bodies, lists)


def _as_s3(gateway: Gateway, request: S3Request, error: Exception) -> S3Error:
    if isinstance(error, S3Error):
        return error
    known = as_s3(error, gateway.session.lake.url) if isinstance(error, LochanError) else None
    return known or _internal(request, error)


def _error_answer(request: S3Request, error: S3Error) -> Response:
    headers: Headers = [*error.headers.items()]
    if request.method == "HEAD" or not error.has_body:
        return Response(error.status, headers)
    resource = f"/{request.bucket}/{request.key}" if request.key else f"/{request.bucket}"
    headers.append(("content-type", "application/xml"))
    return Response(error.status, headers, error_body(error, resource, request.id))


def _internal(request: S3Request, error: Exception) -> S3Error:
    _log.error("request %s %s %s failed", request.id, request.method, request.path, exc_info=error)
    return S3Error("InternalError")


def _check_host(scope: Any, request: S3Request) -> None:
    """Checks what HTTP demands: without a host, or with two, the bucket is unknown. Raises InvalidRequest."""
    hosts = [value for name, value in request.raw_headers if name == "host"]
    if len(hosts) > 1 or (not any(hosts) and scope.http_version == "1.1"):
        raise S3Error("InvalidRequest", "An HTTP/1.1 request must have exactly one Host header.")


async def _drained(gateway: Gateway, request: S3Request) -> bool:
    """Reads a body that nobody wanted, so that it is not taken for the next request. Returns whether it was read. A
    large body, or one that its sender still holds back, is not read, and the connection is closed instead."""
    length = request.headers.get("content-length", "")
    small = length.isascii() and length.isdecimal() and len(length) < 7 and int(length) <= _DRAINED_BYTES_MAX
    if request.body_taken or not small or "expect" in request.headers:
        return False
    request.patience_s = min(request.patience_s, gateway.limits.authentication_s)
    try:
        with gateway.guard.waiting():
            await request.whole_body()
    except S3Error:
        return False
    return True


def _unasked(request: S3Request) -> bool:
    """Returns whether the client waits for a 100 before an empty body, which never comes. On such a connection,
    botocore takes the first line of the next answer for a header."""
    return "expect" in request.headers and request.headers.get("content-length") == "0"


async def _send(gateway: Gateway, request: S3Request, response: Response) -> int:
    """Sends the response. Returns the number of bytes of body that were sent."""
    headers = [("x-amz-request-id", request.id), ("server", "Lochan"), *response.headers]
    if _unasked(request) or (request.has_unread_body and not await _drained(gateway, request)):
        headers.append(("connection", "close"))
    if response.stream is None:
        if response.body:
            request.protocol.response_bytes(response.status, headers, response.body)
        else:
            request.protocol.response_empty(response.status, headers)
        return len(response.body)
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    flow = gateway.flows.begin(request.connection, length, request.patience_s)
    return await _stream(request, response.status, headers, response.stream, flow)


async def _stream(request: S3Request, status: int, headers: Headers, stream: Stream, flow: Flow) -> int:
    sent = 0
    pieces = stream(flow.piece_bytes)
    transport = request.protocol.response_stream(status, headers)
    try:
        async for piece in pieces:
            await transport.send_bytes(piece)
            sent += len(piece)
            del piece  # it has been taken, and the client may be slow
            await flow.room(sent)
    except (S3Error, ProtocolClosed):
        pass  # the client no longer listens
    except Exception as error:  # it is too late for another answer: the body ends before its length, and is not valid
        _internal(request, error)
    finally:
        flow.close()
        await pieces.aclose()
    return sent


def gateway_app(listener: Listener, shared: ConnectionGuard | None = None) -> App:
    """Creates the application. With `shared` it runs beside the API, on the port that `shared` guards, and every
    request takes the general path."""
    clock = SystemClock()
    ids = Ids()
    log = RequestLog(listener, clock)

    async def open() -> Gateway:
        arrow_without_pandas()
        lake = await listener.open_lake()
        session = ServerSession(lake)
        write_beside(session)
        guard = shared or ConnectionGuard(listener.limits, clock, listener.port, listener.s3.idle_s)
        proxies = TrustedProxies(listener.proxies)
        gateway = Gateway(session, listener.s3, clock, ids, listener.limits, guard, proxies)
        close_log = await log.start(session, ids)
        log.watch(gateway.phases)
        chores = [] if shared else [asyncio.create_task(each) for each in (keep_memory_trimmed(clock), guard.keep())]

        async def close() -> None:
            for chore in chores:
                chore.cancel()
            await close_log()

        gateway.closing = close
        if not shared:
            rarely_collect()
        return gateway

    return App(open, log.add, None if shared else log.add_fast)
