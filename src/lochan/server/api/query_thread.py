"""Runs queries on a thread, one after the other, on a lake of its own, so that no query holds up the server's event
loop or another query. Starting Spark alone is one long call."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lochan.api.lake import Lake
from lochan.api.options import QueryOptions
from lochan.api.wire.lineage import continue_trace
from lochan.api.wrappers.records import serve_lake
from lochan.errors import LochanError
from lochan.runtime import QueueRefused
from lochan.server.api.query_run import QueryRun
from lochan.server.logs import log_call
from lochan.server.settings import QuerySettings

if TYPE_CHECKING:
    from lochan.api.queries import Result
    from lochan.api.wrappers.records import Use

CLIENT = "api"
_log = logging.getLogger("lochan.server")


class QueryThread:
    """A thread for queries. It calls `free` whenever it can take the next one."""

    def __init__(
        self,
        open_lake: Callable[[], Awaitable[Lake]],
        settings: QuerySettings,
        free: Callable[[QueryThread, QueryRun], None],
    ) -> None:
        self._open_lake = open_lake
        self._settings = settings
        self._free = free
        self._given: queue.SimpleQueue[QueryRun | None] = queue.SimpleQueue()
        self._lake: Lake | None = None
        # It is a daemon, because a thread that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="lochan-query", daemon=True)
        self._thread.start()

    def give(self, run: QueryRun) -> None:
        self._given.put(run)

    def close(self) -> None:
        """Lets the thread end after its queries."""
        self._given.put(None)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _work(self) -> None:
        from lochan.api.queries import warm_up

        with suppress(LochanError):  # a query that needs it will raise the error
            warm_up()  # the first query that reads files finds it ready
        with asyncio.Runner() as runner:
            while (run := self._given.get()) is not None:
                run.ends(self._answer(runner, run))
                self._free(self, run)
                del run  # frees everything that it holds while there is nothing to do
            if self._lake is not None:
                runner.run(self._lake.close())

    def _answer(self, runner: asyncio.Runner, run: QueryRun) -> BaseException | None:
        """Runs a query. Returns the error with which it ended, if any."""
        from lochan.api.queries import cancelled_error

        try:
            self._ask(runner, run)
        except (QueueRefused, asyncio.CancelledError):
            return cancelled_error()
        except LochanError as error:
            _log.debug("query %s: %s", run.id, error.message)
            return error
        except Exception as error:
            _log.error("query %s failed", run.id, exc_info=error)
            return error
        return None

    def _ask(self, runner: asyncio.Runner, run: QueryRun) -> None:
        from lochan.api.queries import write_rows

        request = run.request
        with runner.run(self._planned(run)) as result:
            run.runs(result)
            if request.limit != 0:
                result.wait()  # what fails before this has an answer of its own
            write_rows(result, run.form.name, request.limit, run.put, run.count)

    async def _planned(self, run: QueryRun) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "this is one"
        run.plans(partial(loop.call_soon_threadsafe, _cancel_once, task))
        if self._lake is None:
            self._lake = await self._open_lake()
        request, options = run.request, self._options(run)
        caller = run.caller
        served = serve_lake(self._lake, caller, _not_noted, partial(log_call, caller))
        try:
            async with asyncio.timeout(request.seconds):
                with continue_trace(run.trace):
                    return await served.lake.query(request.query, options, pool=request.pool, progress=run.watch)
        except TimeoutError:
            from lochan.api.queries import out_of_time

            raise out_of_time(options.limits) from None
        finally:
            run.reads = served.guard.reads

    def _options(self, run: QueryRun) -> QueryOptions:
        request = run.request
        return QueryOptions(
            engine=request.engine,
            memory_bytes=request.memory_bytes,
            timeout_s=request.seconds,
            spill_bytes=self._settings.spill_bytes,
            skip_missing=request.go_on,
            spark=self._settings.spark,
            ref=request.at,
            alive=run.is_wanted,
        )


def _not_noted(use: Use) -> None:
    """Ignores a use, because `Queries` records the sources of a query when its last row was sent."""


def _cancel_once(task: asyncio.Task[Result]) -> None:
    """Cancels a task once. A second time would interrupt its orderly end."""
    if not task.cancelling():
        task.cancel()
