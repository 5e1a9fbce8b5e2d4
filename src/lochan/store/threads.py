"""Threads for work that would block the event loop: syncs, and transfers of more than about a MiB.

Without a running event loop the work is done at once; a command that reads a local lake never imports asyncio.
"""

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from lochan.runtime import running_loop

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

INLINE_BYTES_MAX = 1 << 20  # a MiB from the page cache takes about 0.2 ms, a round trip through a thread about 0.05 ms
_WORKERS = 16  # they wait for the disk, not for the processor
# Arrow's allocator keeps some of what a thread has freed: 30 to 90 MB each, see bench/README.md.
_PROCESSORS_MAX = 4

T = TypeVar("T")


def for_tables() -> "Threads":
    """Returns threads for work on whole tables, which is limited by the processor."""
    return Threads(max(2, min(_PROCESSORS_MAX, os.cpu_count() or 1)))


class Threads:
    def __init__(self, workers: int = _WORKERS) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Runs the work and returns its result. A cancelled caller leaves the work running to its end."""
        loop = running_loop()
        if loop is None:
            return work(*arguments)
        errand = _Errand(work, arguments)
        try:
            future = loop.run_in_executor(self._executor(), errand.do)
        except RuntimeError:  # the system has no more threads; blocking the loop is better than failing
            return errand.do()
        return await future  # type: ignore[no-any-return]

    def _executor(self) -> "ThreadPoolExecutor":
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="lochan-store")
        return self._pool


class _Errand(Generic[T]):
    """Work that is done once. A pool accepts it and only then finds that it cannot start a thread. An existing thread
    may still take it while the caller does the work itself; bytes would be appended twice."""

    def __init__(self, work: Callable[..., T], arguments: tuple[object, ...]) -> None:
        self._work = work
        self._arguments = arguments
        self._begun, self._ended = Lock(), Lock()
        self._ended.acquire()
        self._result: T
        self._error: BaseException | None = None

    def do(self) -> T:
        """Returns or raises what the work did, whichever thread did it."""
        if self._begun.acquire(blocking=False):
            try:
                self._result = self._work(*self._arguments)
            except BaseException as error:
                self._error = error
            finally:
                self._ended.release()
        with self._ended:
            try:
                if self._error is not None:
                    raise self._error
                return self._result
            finally:
                del self  # the error refers to this frame, and would keep the arguments alive
