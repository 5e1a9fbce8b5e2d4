"""The bridge between plain code, threads and the event loop.

    Runtime          one thread runs the loop, and other threads wait for its results
    run_in_thread    runs one coroutine on a loop of its own, for callers that may have a loop already
    running_loop     the running loop, if there is one

asyncio is imported when it is needed. A command that reads a local lake never needs it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Runtime:
    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lochan", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """An interrupt (Ctrl-C) cancels the work."""
        import asyncio

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Gets one item at a time. If the caller stops early, the source is closed."""
        try:
            while True:
                try:
                    item = self.wait(_next(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            close = getattr(items, "aclose", None)
            if close is not None and self.is_running:
                self.wait(close())

    def stop(self) -> None:
        """May be called twice."""
        if self.is_running:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine on a thread with a loop of its own, and returns its result: the caller may be in a notebook,
    which has a loop already."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "lochan") as threads:
        return threads.submit(lambda: asyncio.run(work())).result()


def running_loop() -> Any:
    """None if there is no running loop: then nothing can block it, and asyncio is not imported."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
