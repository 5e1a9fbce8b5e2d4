"""A body must neither stand still nor trickle."""

import asyncio

import pytest

from lochan.server.connections import BodyPace
from tests.run import run


async def after(seconds: float) -> None:
    await asyncio.sleep(seconds)


def test_one_that_stands_still_is_given_up() -> None:
    async def work() -> None:
        with pytest.raises(TimeoutError):
            await BodyPace(0.01, 1.0).wait(asyncio.Event().wait())

    run(work())


def test_one_that_trickles_is_given_up_though_it_never_stands_still() -> None:
    async def work() -> None:
        pace = BodyPace(0.2, 1e9)
        with pytest.raises(TimeoutError):
            for _ in range(1_000):  # 10 s at the least
                await pace.wait(after(0.01))
                pace.got(1)

    run(work())


def test_one_that_is_slow_and_fast_enough_comes_through() -> None:
    async def work() -> None:
        pace = BodyPace(60.0, 1_000.0)
        for _ in range(5):
            await pace.wait(after(0.001))
            pace.got(1 << 20)

    run(work())


@pytest.mark.thorough
def test_what_the_server_itself_takes_is_not_counted() -> None:
    async def work() -> None:
        pace = BodyPace(0.5, 1e9)
        for _ in range(4):
            await pace.wait(after(0))
            await asyncio.sleep(0.15)

    run(work())
