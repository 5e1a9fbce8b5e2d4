"""The same work for many items, several at a time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def several(work: Callable[[T], Awaitable[R]], items: Sequence[T], width: int) -> list[R]:
    """The results in the order of the items. The first error is raised, when nothing is under way any more."""
    import asyncio  # a small query of a local lake never gets here, and does without it

    made: dict[int, R] = {}
    waiting = iter(enumerate(items))

    async def worker() -> None:
        for number, item in waiting:  # shared: each takes the next that nobody has
            made[number] = await work(item)

    tasks = [asyncio.ensure_future(worker()) for _ in range(min(width, len(items)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [made[number] for number in range(len(items))]
