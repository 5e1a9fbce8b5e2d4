"""Builds, opens and closes the API that Granian calls. Its answers are in `routes.py`."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from lochan.api.lake import Lake
from lochan.api.server_spark import ServerSpark
from lochan.api.session import Session, server_session
from lochan.api.upkeep import read_policy
from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.server.api.context import Api
from lochan.server.api.middleware import Middleware, no_route, routes
from lochan.server.api.queries import Queries
from lochan.server.api.routes import ROUTES
from lochan.server.connections import ConnectionGuard
from lochan.server.deliveries.deliverer import deliver
from lochan.server.gateway.request_log import usage_log
from lochan.server.lake_thread import LakeThread
from lochan.server.logs import AccessLog
from lochan.server.maintenance import keep_memory_trimmed, keep_schedule, rarely_collect
from lochan.server.metrics import QueryMetrics, UpkeepMetrics
from lochan.server.origin import TrustedProxies
from lochan.server.settings import Listener

if TYPE_CHECKING:
    from lochan.server.ldap.directory import Directory


def api(listener: Listener, guard: ConnectionGuard) -> Middleware:
    clock, ids = SystemClock(), Ids()
    log = AccessLog(listener.access_log) if listener.access_log else None

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.api = opened = await _open(listener, guard)
        _on_stop(opened.wind_up)
        await opened.usage.open()
        opened.usage.start()
        if log is not None:
            log.start()
        chores = [asyncio.create_task(chore) for chore in _chores(opened)]
        threads = list(_threads(listener))
        for thread in threads:
            thread.start()
        rarely_collect()
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*(thread.close() for thread in threads))
            await asyncio.gather(
                opened.queries.close(), opened.spark.stop(), opened.imports.close(), opened.tasks.close()
            )
            await asyncio.wait(chores)
            if opened.directory is not None:
                opened.directory.close()
            await opened.usage.close()
            if log is not None:
                await log.close()
            await opened.lake.close()

    app = Starlette(routes=routes(ROUTES), lifespan=lifespan, exception_handlers={HTTPException: no_route})
    return Middleware(app, clock, ids, log, guard, TrustedProxies(listener.proxies))


def _on_stop(stop: Callable[[], None]) -> None:
    """Calls `stop` as soon as the server has to stop, because Granian ends the lifespan only when every request was
    answered. Granian itself is woken up by the loop, so Python's own handler is free."""
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)

    def handle(number: int, frame: FrameType | None) -> None:
        if callable(before):
            before(number, frame)
        loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGTERM, handle)


async def _open(listener: Listener, guard: ConnectionGuard) -> Api:
    opened = await listener.open_lake()
    clock, metrics, settings = SystemClock(), QueryMetrics(), listener.queries
    session = server_session(opened, settings.memory_bytes)
    if listener.upkeep is not None:
        session.upkeep = listener.upkeep.policy or read_policy(None)
    spark = ServerSpark(settings.spark, settings.memory_bytes)
    if settings.warm:
        spark.warm_up()
    usage = usage_log(listener, session, clock, Ids(), metrics.usage_dropped)
    queries = Queries(partial(_open_lake, listener), settings, clock, Ids(), metrics, usage)
    access = opened.open_access()
    return Api(
        *(listener, session, Lake(session), access, queries, spark, metrics, guard, clock, usage, clock.boot()),
        directory=_directory(listener),
    )


def _directory(listener: Listener) -> "Directory | None":
    if listener.directory is None:
        return None
    from lochan.server.ldap.directory import Directory

    return Directory(listener.directory, SystemClock())


async def _open_lake(listener: Listener) -> Lake:
    """Opens a lake for one thread of queries."""
    return Lake(server_session(await listener.open_lake(), listener.queries.memory_bytes))


def _chores(api: Api) -> Iterator[Coroutine[object, object, None]]:
    """Yields the tasks of one process of a server beside its requests."""
    yield api.guard.keep()
    yield keep_memory_trimmed(api.clock)


def _threads(listener: Listener) -> Iterator[LakeThread]:
    """Yields the threads of one process that work for the lake."""
    open_session = partial(_open_session, listener)
    if listener.upkeep is not None:
        metrics = UpkeepMetrics()
        work = partial(keep_schedule, options=listener.upkeep, clock=SystemClock(), ids=Ids(), metrics=metrics)
        yield LakeThread("upkeep", open_session, work)
    if listener.deliveries is not None:
        yield LakeThread("deliveries", open_session, partial(deliver, settings=listener.deliveries))


async def _open_session(listener: Listener) -> Session:
    return server_session(await listener.open_lake())
