"""Manages all queries of a server: a few run at once, some more wait, and the last ended ones are kept. It is used on
the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from lochan.access.requester import address_of
from lochan.api.lake import Lake
from lochan.api.queries import cancelled_error
from lochan.api.wrappers.records import Caller
from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.server.api.errors import HttpError, status_of
from lochan.server.api.query_request import OutputForm, QueryRequest
from lochan.server.api.query_run import QueryRun
from lochan.server.api.query_thread import QueryThread
from lochan.server.metrics import QueryMetrics
from lochan.server.settings import QuerySettings
from lochan.usage.log import QUERY, UsageLog, UsageRow

_KEPT = 100  # how many ended queries are kept
_GRACE_S = 5.0  # for queries that run when the server is being stopped
_STOP_S = 10.0


class Queries:
    def __init__(
        self,
        open_lake: Callable[[], Awaitable[Lake]],
        settings: QuerySettings,
        clock: Clock,
        ids: Ids,
        metrics: QueryMetrics,
        usage: UsageLog | None = None,
    ) -> None:
        self.settings = settings
        self._open_lake = open_lake
        self._clock = clock
        self._ids = ids
        self._metrics = metrics
        self._usage = usage
        self._loop = asyncio.get_running_loop()
        self._threads: list[QueryThread] = []
        self._idle: list[QueryThread] = []  # the last one used is used next, because its lake is the freshest
        self._waiting: deque[QueryRun] = deque()
        self._running: Counter[str] = Counter()  # by user
        self._known: OrderedDict[str, QueryRun] = OrderedDict()
        self._giving_up: set[asyncio.Task[None]] = set()
        self._stopping = False

    def begin(self, caller: Caller, request: QueryRequest, form: OutputForm) -> QueryRun:
        """Begins a query. Raises 429 if too many already wait, of all users or of this one."""
        user = caller.user
        free = (self._idle or len(self._threads) < self.settings.at_once) and self._may_run(user)
        if self._stopping:
            raise HttpError(503, "the server is being stopped", retry_after="5")
        if not free:
            self._check_room(user)
        run = QueryRun(self._ids.ksuid(self._clock.wall()), caller, request, form, self._clock)
        self._known[run.id] = run
        self._metrics.begun()
        if free:
            self._give(self._thread(), run)
        else:
            self._waiting.append(run)
        return run

    def _check_room(self, user: str) -> None:
        own = sum(each.user == user for each in self._waiting)
        if own >= self.settings.waiting_per_user:
            raise HttpError(429, f"{own} waiting queries per user is the most: try again", retry_after="1")
        if len(self._waiting) >= self.settings.waiting:
            raise HttpError(429, "too many queries are running and waiting: try again", retry_after="1")

    def _may_run(self, user: str) -> bool:
        """Returns whether the user may run another query. One user never has all threads, unless the settings allow
        it."""
        return self._running[user] < self.settings.at_once_per_user

    def _give(self, thread: QueryThread, run: QueryRun) -> None:
        self._running[run.user] += 1
        thread.give(run)

    def find(self, id: str) -> QueryRun | None:
        return self._known.get(id)

    def all(self) -> list[QueryRun]:
        """Returns the queries that have not ended, the oldest first."""
        return [each for each in self._known.values() if not each.is_over]

    def give_up(self, run: QueryRun) -> None:
        """Cancels a query without waiting for its end."""
        task = self._loop.create_task(self.cancel(run))
        self._giving_up.add(task)
        task.add_done_callback(self._giving_up.discard)

    def _give_all_up(self) -> None:
        for each in self.all():
            self.give_up(each)

    async def cancel(self, run: QueryRun) -> None:
        """Cancels a query, and returns when it has ended."""
        if run in self._waiting:
            self._waiting.remove(run)
            run.ends(cancelled_error())
            self._ended(run)
        await run.cancel()

    def wind_up(self) -> None:
        """Prepares for the server's stop. Queries that do not end soon are cancelled, so that all can end in order."""
        if not self._stopping:
            self._stopping = True
            self._loop.call_later(_GRACE_S, self._give_all_up)

    async def close(self) -> None:
        """Cancels the running queries. A thread that does not end in time is left behind."""
        self._stopping = True
        for each in self._threads:
            each.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await asyncio.gather(*map(self.cancel, self.all()))
                for each in self._threads:
                    await asyncio.to_thread(each.join, _STOP_S / 2)

    def _thread(self) -> QueryThread:
        if self._idle:
            return self._idle.pop()
        made = QueryThread(self._open_lake, self.settings, self._freed)
        self._threads.append(made)
        return made

    def _freed(self, thread: QueryThread, run: QueryRun) -> None:
        """Passes the freed thread to the event loop. It is called on that thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._next, thread, run)

    def _next(self, thread: QueryThread, run: QueryRun) -> None:
        """Starts the first waiting query whose user may run another one."""
        self._ended(run)
        self._running[run.user] -= 1
        if not self._running[run.user]:
            del self._running[run.user]
        self._idle.append(thread)
        if self._stopping:
            return
        for each in [each for each in self._waiting if self._may_run(each.user)][:1]:
            self._waiting.remove(each)
            self._give(self._thread(), each)

    def _ended(self, run: QueryRun) -> None:
        self._metrics.ended(run.engine or "none", run.state)
        if self._usage is not None:
            self._note_use(self._usage, run)
        over = [each.id for each in self._known.values() if each.is_over]
        for id in over[:-_KEPT]:
            del self._known[id]

    def _note_use(self, usage: UsageLog, run: QueryRun) -> None:
        """Adds a row for the call, and one for each pool and each path of files that it has read."""
        caller, now = run.caller, self._clock.wall()
        status = status_of(run.error) if isinstance(run.error, LochanError) else 500 if run.error else 200
        who = caller.client, address_of(caller.source), "", caller.key
        usage.add(UsageRow(now, run.user, "Lake.query", "", "", "", run.sent, status, *who))
        for read in run.reads:
            usage.add(UsageRow(now, run.user, QUERY, *read, run.sent, status, *who))
