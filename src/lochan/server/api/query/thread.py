"""A thread that runs queries, one after the other, on a lake of its own: nothing that a query does keeps the event loop
of the server, or another query, from going on. Even to start Spark is one long call."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lochan.errors import LochanError
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.server.api.query.pieces import Unwanted
from lochan.server.api.query.running import Running
from lochan.server.settings import QuerySettings

if TYPE_CHECKING:
    from lochan.engines.asking import How
    from lochan.engines.result import Result

CLIENT = "api"
_log = logging.getLogger("lochan.server")


class QueryThread:
    """`free` is called, on the thread, whenever it can take the next."""

    def __init__(
        self,
        open_lake: Callable[[], Awaitable[Lake]],
        settings: QuerySettings,
        free: Callable[[QueryThread, Running], None],
    ) -> None:
        self._open_lake = open_lake
        self._settings = settings
        self._free = free
        self._given: queue.SimpleQueue[Running | None] = queue.SimpleQueue()
        self._lake: Lake | None = None
        # One that hangs must not keep the process from its end.
        self._thread = threading.Thread(target=self._work, name="lochan-query", daemon=True)
        self._thread.start()

    def give(self, running: Running) -> None:
        self._given.put(running)

    def close(self) -> None:
        """It ends when it is done with what it was given."""
        self._given.put(None)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _work(self) -> None:
        from lochan.engines.duckdb.load.decode import warm

        with suppress(LochanError):  # who needs it and has none is told then
            warm()  # the first query that reads files finds it ready
        with asyncio.Runner() as runner:
            while (running := self._given.get()) is not None:
                running.ends(self._answer(runner, running))
                self._free(self, running)
                del running  # with all that it holds, while there is nothing to do
            if self._lake is not None:
                runner.run(self._lake.close())

    def _answer(self, runner: asyncio.Runner, running: Running) -> BaseException | None:
        """What it ended by."""
        from lochan.engines.duckdb.limits import cancelled

        try:
            self._ask(runner, running)
        except (Unwanted, asyncio.CancelledError):
            return cancelled()
        except LochanError as error:
            _log.debug("query %s: %s", running.id, error.message)
            return error
        except Exception as error:
            _log.error("query %s failed", running.id, exc_info=error)
            return error
        return None

    def _ask(self, runner: asyncio.Runner, running: Running) -> None:
        from lochan.server.api.query.writing import write

        wish = running.wish
        with runner.run(self._planned(running)) as result:
            running.runs(result)
            if wish.limit != 0:
                result.wait()  # what fails by then has an answer of its own
            write(result, running.form.name, wish.limit, running.put, running.count)

    async def _planned(self, running: Running) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "this is one"
        running.plans(partial(loop.call_soon_threadsafe, _cancel_once, task))
        if self._lake is None:
            self._lake = await self._open_lake()
        how = self._how(self._lake, running)
        try:
            async with asyncio.timeout(running.wish.seconds):
                return await self._lake.query(running.wish.query, how)
        except TimeoutError:
            from lochan.engines.duckdb.limits import out_of_time

            raise out_of_time(how.limits) from None

    def _how(self, lake: Lake, running: Running) -> How:
        from lochan.access.query_rights import QueryRights
        from lochan.engines.asking import How
        from lochan.engines.duckdb.limits import Limits

        wish, may = running.wish, QueryRights(lake.open_access(), running.user, running.arrived)
        running.reads = may.read
        return How(
            current=wish.pool,
            engine=wish.engine,
            limits=Limits(wish.memory_bytes, wish.seconds, spill_bytes=self._settings.spill_bytes),
            go_on=wish.go_on,
            actor=Actor(running.user, CLIENT, running.source),
            spark=self._settings.spark,
            watch=running.watch,
            permits=may,
            ref=wish.at,
            reads_only=True,
            wanted=running.is_wanted,
        )


def _cancel_once(task: asyncio.Task[Result]) -> None:
    """A second time would break off what it does to end in order."""
    if not task.cancelling():
        task.cancel()
