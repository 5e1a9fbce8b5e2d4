"""Defines one query: its progress, its result, and its cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lochan.api.wire.lineage import begun_trace
from lochan.api.wrappers.records import Caller
from lochan.clock import Clock
from lochan.runtime import ByteQueue
from lochan.server.api.query_request import OutputForm, QueryRequest

if TYPE_CHECKING:
    from lochan.access.query_rights import SourceRead
    from lochan.api.queries import Result, StageCount, Stats

WAITING, PLANNING, RUNNING = "waiting", "planning", "running"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
ENDS = (DONE, FAILED, CANCELLED)
_TEXT_MAX = 1_000  # the length at which the text of a query is cut where all are listed
_AGAIN_S, _AGAIN_MAX_S = 0.05, 1.0


class QueryRun:
    """A query's state. Its thread changes it, and any thread may read it."""

    def __init__(self, id: str, caller: Caller, request: QueryRequest, form: OutputForm, clock: Clock) -> None:
        self.id = id
        self.caller = caller
        self.user = caller.user
        self.request = request
        self.form = form
        self.pieces = ByteQueue()
        self.given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # done once it is given up
        self.state = WAITING
        self.engine = "" if request.engine == "auto" else request.engine
        self.rows = 0
        self.sent = 0  # the number of bytes
        self.reads: Sequence[SourceRead] = ()
        self.trace = begun_trace()  # the query is planned on another thread
        self.warnings: Sequence[str] = ()
        self.planned: Stats | None = None
        self.error: BaseException | None = None
        self._clock = clock
        self._begun = clock.wall()
        self._seconds: float | None = None
        self._tasks = (0, 0)
        self._lock = threading.Lock()
        self._stop: Callable[[], object] | None = None
        self._wanted = True

    @property
    def is_over(self) -> bool:
        return self.state in ENDS

    def as_json(self) -> dict[str, Any]:
        done, total = self._tasks
        found: dict[str, Any] = {
            "id": self.id,
            "user": self.user,
            "query": self.request.query[:_TEXT_MAX],
            "state": self.state,
            "engine": self.engine,
            "rows": self.rows,
            "started": self._begun // 1_000_000,
            "seconds": round(self.seconds, 3),
        }
        if total:
            found |= {"tasks_done": done, "tasks": total}
        if self.warnings:
            found["warnings"] = list(self.warnings)
        if self.state == FAILED:
            found["error"] = self.reason()
        return found

    @property
    def seconds(self) -> float:
        return self._clock.boot() - self.caller.arrived if self._seconds is None else self._seconds

    def reason(self) -> str:
        from lochan.errors import LochanError
        from lochan.server.api.errors import text_of

        return text_of(self.error) if isinstance(self.error, LochanError) else "the server has failed"

    # ── on its thread ────────────────────────────────────────────────────────────────────────────────────────────────

    def plans(self, stop: Callable[[], object]) -> None:
        """Marks that planning has begun. `stop` ends it, from any thread."""
        self._goes_on(PLANNING, stop)

    def runs(self, result: Result) -> None:
        self.engine = result.stats.engine
        self.planned = result.stats
        self.warnings = result.warnings
        self._goes_on(RUNNING, result.cancel)

    def put(self, piece: bytes) -> None:
        self.pieces.put(piece)
        self.sent += len(piece)

    def count(self, rows: int) -> None:
        self.rows += rows

    def is_wanted(self) -> bool:
        return self._wanted

    def watch(self, stages: Sequence[StageCount]) -> None:
        self._tasks = sum(each.done for each in stages), sum(each.total for each in stages)

    def ends(self, error: BaseException | None) -> None:
        """Records the end. A reader that waits for pieces gets their end only when all of this is visible."""
        from lochan.api.queries import Cancelled

        with self._lock:
            self._stop = None
            self.request = self.request._replace(query=self.request.query[:_TEXT_MAX])
            self.error = _bare(error)
            self._seconds = self._clock.boot() - self.caller.arrived
            self.state = DONE if error is None else CANCELLED if isinstance(error, Cancelled) else FAILED
        self.pieces.end()

    def _goes_on(self, state: str, stop: Callable[[], object]) -> None:
        from lochan.api.queries import cancelled_error

        with self._lock:
            if not self._wanted:
                raise cancelled_error()
            self.state, self._stop = state, stop

    # ── on the event loop ────────────────────────────────────────────────────────────────────────────────────────────

    async def cancel(self) -> None:
        """Cancels the query, and returns when it has ended. It is tried again and again, because an engine forgets a
        request that comes just before a statement begins. A query that has ended by itself stays as it is, because its
        last pieces may still be on their way."""
        if self.is_over:
            return
        self._wanted = False
        if not self.given_up.done():
            self.given_up.set_result(None)
        self.pieces.refuse()
        nap = _AGAIN_S
        while not self.is_over:
            with self._lock:
                if self._stop is not None:
                    with suppress(Exception):  # it is just being closed
                        self._stop()
            await asyncio.sleep(nap)
            nap = min(2 * nap, _AGAIN_MAX_S)
        if self.error is not None:
            self.pieces.drop()


def _bare(error: BaseException | None) -> BaseException | None:
    """Returns the error and its cause without their tracebacks, whose frames hold rows, because the error is kept for a
    while."""
    for each in (error, error.__cause__) if error is not None else ():
        if each is not None:
            each.__traceback__ = each.__context__ = None
    return error
