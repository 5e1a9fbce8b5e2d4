"""An event loop without threads, sockets or real time.

Ready callbacks run in the order in which they became ready. When there are none the host (the World) is asked to make
one thing happen; when it cannot, the loop stops. Ordinary asyncio code runs on it unchanged and always the same way.
"""

import asyncio
from asyncio import Handle, TimerHandle
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple, Unpack

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

_SPIN_MAX = 100_000  # callbacks without a single event of the world between them: code that waits for nothing


class Host(Protocol):
    now_us: int

    def step(self) -> bool:
        """Makes one thing happen. Returns False if nothing is left to happen."""

    def adopt(self, task: "SimTask[Any]", context: Context | None) -> None:
        """A task begins, in the given or the current context."""

    def is_dead(self, context: Context) -> bool: ...

    def timer_cancelled(self, handle: TimerHandle) -> None: ...


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._serial = 0
        self._cancelled = 0
        self._timers: list[tuple[int, int, TimerHandle]] = []
        self._ready: Any  # the base class's deque of handles
        self._stopping: bool
        self.wary = False  # somebody died: from now on look whose callback it is

    def time(self) -> float:
        return self._host.now_us / 1_000_000

    def serial(self) -> int:
        self._serial += 1
        return self._serial

    # Callbacks

    def call_soon(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> Handle:
        handle = Handle(callback, args, self, context)
        if self.wary and self._host.is_dead(handle._context):  # type: ignore[attr-defined]
            return handle
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # there are no threads

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        handle = TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (_at_or_after(when), self.serial(), handle))
        return handle

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Left in the heap until its time comes, or until half of a big heap is like it."""
        self._host.timer_cancelled(handle)
        self._cancelled += 1
        if self._cancelled > 128 and self._cancelled * 2 > len(self._timers):
            self._cancelled = 0
            self.keep_timers(lambda entry: entry is not handle)

    def next_timer_us(self) -> int | None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heappop(timers)
        return timers[0][0] if timers else None

    def due(self, now_us: int) -> list[TimerHandle]:
        """Take out the timers whose time has come, earliest first."""
        timers, out = self._timers, []
        while timers and timers[0][0] <= now_us:
            handle = heappop(timers)[2]
            if not handle.cancelled():
                out.append(handle)
        return out

    def keep_timers(self, keep: Callable[[TimerHandle], bool]) -> None:
        self._timers = [entry for entry in self._timers if not entry[2].cancelled() and keep(entry[2])]
        heapify(self._timers)

    def keep_ready(self, keep: Callable[[Handle], bool]) -> None:
        kept = [handle for handle in self._ready if keep(handle)]
        self._ready.clear()
        self._ready.extend(kept)

    # Running

    def _run_once(self) -> None:
        ready = self._ready
        spins = 0
        while ready:
            handle = ready.popleft()
            if not handle._cancelled:
                # Not handle._run(): what a callback raises ends the run instead of being logged.
                handle._context.run(handle._callback, *handle._args)
            spins += 1
            if spins > _SPIN_MAX:
                raise RuntimeError("the code under test runs on and on without waiting for anything")
        if not self._host.step():
            self._stopping = True

    def create_task(
        self,
        coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> "SimTask[_T]":
        label = f"task-{self.serial()}" if name is None else str(name)  # asyncio's own count goes on from run to run
        task: SimTask[_T] = SimTask(coro, loop=self, name=label, context=context)
        self._host.adopt(task, context)
        return task

    def create_future(self) -> "SimFuture[Any]":
        return SimFuture(loop=self)

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Silent. Tasks that were dropped while they waited do not matter. The World looks for what a task raised and
        nobody awaited, at a moment that is always the same; this handler would run whenever the garbage collector
        does."""

    def _asyncgen_finalizer_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Between two runs, the garbage collector may find generators that an error left unfinished. They no longer
        matter, and neither does anything they would still do."""
        if self.is_running():
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...

    def run_in_executor(self, executor: object, func: Callable[..., _T], *args: object) -> NoReturn:
        raise RuntimeError(f"no threads in the simulator: {func!r}")

    def __del__(self) -> None:
        """The base class would warn of a loop left open; this one holds nothing that must be closed."""


class SimTask(asyncio.Task[_T]):
    """Hashes by a serial number: the standard library keeps tasks in sets and walks over them, and by address that
    order would be another one in each process."""

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = _serial_of(self)
        return self._number


class SimFuture(asyncio.Future[_T]):
    """Like SimTask."""

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = _serial_of(self)
        return self._number


def _serial_of(future: asyncio.Future[Any]) -> int:
    loop = future.get_loop()
    assert isinstance(loop, SimLoop)
    return loop.serial()


def _at_or_after(when: float) -> int:
    """The first microsecond m with m / 1e6 >= when, so that a timer never fires before its time, not by a rounding."""
    us = ceil(when * 1_000_000)
    while us / 1_000_000 < when:
        us += 1
    while (us - 1) / 1_000_000 >= when:
        us -= 1
    return us
