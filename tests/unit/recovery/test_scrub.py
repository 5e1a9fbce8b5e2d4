"""A scrub reads data at a set rate, goes on where it ended, and reports what is damaged."""

from __future__ import annotations

import asyncio

import pytest

from lochan.lake import Lake
from lochan.recovery.scrub import ScrubStep, read_report, scrub_step
from lochan.store.memory import MemoryStore
from tests.unit.recovery.history import Place, make


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def wall(self) -> int:
        return 1_700_000_000_000_000 + round(self.now * 1e6)

    def boot(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(scope="module")
def place() -> Place:
    return asyncio.run(make())


async def step(store: MemoryStore, clock: Clock, alarms: list[str], seconds: float = 1e9, rate: int = 100) -> ScrubStep:
    lake = await Lake.open(store, clock=clock)
    files = await lake.open_repository("files")
    try:
        return await scrub_step(files, rate=rate, seconds=seconds, alarm=alarms.append)
    finally:
        await files.close()
        await lake.close()


def test_it_goes_on_where_it_ended(place: Place) -> None:
    async def go() -> None:
        store, clock, alarms = await place.store(), Clock(), list[str]()
        steps = [await step(store, clock, alarms, seconds=1.0, rate=20)]
        while not steps[-1].is_complete:
            steps.append(await step(store, clock, alarms, seconds=1.0, rate=20))
        whole = await step(await place.store(), Clock(), alarms)
        assert len(steps) > 2
        assert sum(each.files for each in steps) == whole.files
        assert sum(each.bytes for each in steps) == whole.bytes
        assert steps[-1].report.rounds == 1
        assert steps[-1].report.position == ""
        assert alarms == []

    asyncio.run(go())


def test_its_rate_is_kept(place: Place) -> None:
    async def go() -> None:
        clock = Clock()
        whole = await step(await place.store(), clock, [], rate=50)
        assert clock.now == pytest.approx(whole.bytes / 50, rel=0.1)

    asyncio.run(go())


def test_damage_is_in_the_report_and_raises_an_alarm(place: Place) -> None:
    async def go() -> None:
        paths = place.paths("data")
        planted = {paths[1]: b"?" * len(place.objects[paths[1]]), paths[2]: None, paths[3]: b""}
        store, alarms = await place.store(**planted), list[str]()
        done = await step(store, Clock(), alarms)
        assert {each.kind for each in done.found} == {"data-damaged", "data-missing", "data-short"}
        assert len(alarms) == 3
        assert {each[1] for each in (await read_report(store, place.repository)).damaged} == set(planted)

    asyncio.run(go())
