"""Shared probes: nobody is served by a probe that began before they came."""

import asyncio

import pytest

from lochan.journal.tail import SharedProbe
from tests.run import run


def test_those_who_wait_share_the_next_one() -> None:
    async def play() -> list[int]:
        turns = SharedProbe()
        begun: list[int] = []

        async def probe() -> None:
            begun.append(len(begun))
            await asyncio.sleep(0.01)

        first = asyncio.create_task(turns.share(probe))
        await asyncio.sleep(0)
        await asyncio.gather(*(turns.share(probe) for _ in range(5)), first)
        return begun

    assert run(play()) == [0, 1]


def test_a_failed_probe_serves_nobody() -> None:
    async def play() -> tuple[int, list[object]]:
        turns, begun = SharedProbe(), 0

        async def probe() -> None:
            nonlocal begun
            begun += 1
            failing = begun <= 2
            await asyncio.sleep(0.01)
            if failing:
                raise OSError("down")

        first = asyncio.create_task(turns.share(probe))
        await asyncio.sleep(0)
        answers = await asyncio.gather(first, *(turns.share(probe) for _ in range(3)), return_exceptions=True)
        return begun, [type(answer) for answer in answers]

    begun, answers = run(play())
    assert begun == 3
    assert answers == [OSError, OSError, type(None), type(None)]


def test_alone_it_needs_no_event_loop() -> None:
    async def nothing() -> None: ...

    with pytest.raises(StopIteration):
        SharedProbe().share(nothing).send(None)
