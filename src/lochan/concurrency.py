"""Concurrent calls on one event loop. Without a running loop they are made one after the other, so that a command that
reads a local lake never imports asyncio."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.runtime import running_loop

if TYPE_CHECKING:
    from asyncio import Task

T = TypeVar("T")
R = TypeVar("R")
_Call = Coroutine[Any, Any, T]


async def map_ahead(work: Callable[[T], Awaitable[R]], over: Iterable[T], width: int) -> AsyncGenerator[R, None]:
    """Yields the results of `work`, in order, with up to `width` calls under way. There are fewer at first, because a
    reader may stop after a page."""
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


async def map_concurrently(work: Callable[[T], Awaitable[R]], items: Sequence[T], width: int) -> list[R]:
    """Returns the results in the order of the items. Raises the first error, after all calls have ended."""
    import asyncio  # a small query of a local lake never gets here

    made: dict[int, R] = {}
    waiting = iter(enumerate(items))

    async def worker() -> None:
        for number, item in waiting:  # shared: each worker takes the next item
            made[number] = await work(item)

    tasks = [asyncio.ensure_future(worker()) for _ in range(min(width, len(items)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [made[number] for number in range(len(items))]


async def read_ahead(calls: Iterable[_Call[T]]) -> AsyncGenerator[T, None]:
    """Yields the results of the calls, in order. At most one call is made ahead. A caller that may stop early must
    close this generator (`aclosing`), which cancels the call that is under way."""
    ahead: _Call[T] | Task[T] | None = None
    try:
        for call in calls:
            waiting = [] if ahead is None else [ahead]
            ahead = _start(call)
            if waiting:
                yield await waiting.pop()  # not kept: a result may be large, and its user slow
        if ahead is not None:
            waiting, ahead = [ahead], None
            yield await waiting.pop()
    finally:
        if ahead is not None:
            _drop(ahead)


async def both(one: Awaitable[R], other: Awaitable[T]) -> tuple[R, T]:
    """Returns the results of two concurrent calls."""
    loop = running_loop()
    if loop is None:
        return await one, await other
    task = loop.create_task(plain(other))
    try:
        return await one, await task
    finally:
        abandon([task])


def abandon(tasks: Iterable[Any]) -> None:
    """Cancels the tasks and ignores their errors, because nothing waits for them any more."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def plain(awaitable: Awaitable[R]) -> Coroutine[Any, Any, R]:
    """Returns a coroutine, which a task needs. A coroutine is returned as it is: wrapped in another one that is
    cancelled before its first step it would never be awaited, and Python warns about that."""
    return awaitable if isinstance(awaitable, Coroutine) else _await(awaitable)


async def _await(awaitable: Awaitable[R]) -> R:
    return await awaitable


def _start(call: _Call[T]) -> "_Call[T] | Task[T]":
    """Starts the call. Without an event loop, the call is made when its result is needed."""
    loop = running_loop()
    return loop.create_task(call) if loop is not None else call


def _drop(call: "_Call[T] | Task[T]") -> None:
    if isinstance(call, Coroutine):
        call.close()
    elif not call.cancel() and not call.cancelled():
        call.exception()  # retrieved; otherwise the event loop would warn
