"""Several things under way at once, taken in the order in which they were begun."""

import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def ahead(work: Callable[[T], Awaitable[R]], over: Iterable[T], width: int) -> AsyncGenerator[R, None]:
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
            running.append(loop.create_task(plain(work(each))))
            if len(running) == under_way:
                yield await running.popleft()
                under_way = min(2 * under_way, width)
        while running:
            yield await running.popleft()
    finally:
        abandon(running)


def abandon(tasks: Iterable[Any]) -> None:
    """Nobody waits for them any more, and what they fail of is nobody's concern."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def both(one: Awaitable[R], other: Awaitable[T]) -> tuple[R, T]:
    """The results of two things under way at once."""
    loop = running_loop()
    if loop is None:
        return await one, await other
    task = loop.create_task(plain(other))
    try:
        return await one, await task
    finally:
        abandon([task])


def plain(awaitable: Awaitable[R]) -> Coroutine[Any, Any, R]:
    """A coroutine, as a task must be made of. One that is a coroutine already is left bare: inside one cancelled
    before its first step it would never be awaited, and Python complains of that."""
    return awaitable if isinstance(awaitable, Coroutine) else _awaited(awaitable)


async def _awaited(awaitable: Awaitable[R]) -> R:
    return await awaitable


def running_loop() -> Any:
    """None where a command drives us without one, and never imported asyncio."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
