"""Several things under way at once, taken in the order in which they were begun."""

import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def ahead(work: Callable[[T], Awaitable[R]], over: Iterable[T], width: int) -> AsyncIterator[R]:
    """`work` of each, in order, up to `width` under way; fewer at first, because a reader may stop after a page.
    Without a running event loop: one after the other."""
    loop = running_loop() if width > 1 else None
    if loop is None:
        for each in over:
            yield await work(each)
        return
    running: deque[Any] = deque()
    under_way = 2
    try:
        for each in over:
            running.append(loop.create_task(_awaited(work, each)))
            if len(running) == under_way:
                yield await running.popleft()
                under_way = min(2 * under_way, width)
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()


async def beside(work: Awaitable[R], other: Awaitable[object]) -> R:
    """The result of `work`, when `other` is done too. REQUIRES: `other` raises nothing."""
    loop = running_loop()
    if loop is None:
        await other
        return await work
    task = loop.create_task(_plain(other))
    try:
        return await work
    finally:
        await task


async def _plain(awaitable: Awaitable[R]) -> R:
    return await awaitable


async def _awaited(work: Callable[[T], Awaitable[R]], each: T) -> R:
    return await work(each)


def running_loop() -> Any:
    """None where a command drives us without one, and never imported asyncio."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
