"""Compaction of the usage log: no row is lost or counted twice, wherever it stops and whoever else does it."""

import pytest

from lochan import failpoints
from lochan.formats import usage
from lochan.formats.usage import UsageRow
from lochan.store.memory import MemoryStore
from lochan.usage.compaction import compact_usage
from lochan.usage.last_read import BY_NOTES, unknown_until
from lochan.usage.read import DAY_US, read_rows, read_usage
from tests.run import run
from tests.unit.usage.test_gaps import START, Place


class Killed(BaseException):
    pass


@pytest.fixture(autouse=True)
def disarmed():  # type: ignore[no-untyped-def]
    yield
    failpoints.arm(None)


async def days(there: Place, count: int, files: int = 3) -> list[str]:
    """Some files a day."""
    made = []
    for day in range(count):
        for file in range(files):
            log = there.log("python")
            path = f"{day}/{file}"
            log.add(there.row(path))
            made.append(path)
            await log.close()
            there.clock.skip(DAY_US // files)
    return sorted(made)


async def kept(store: MemoryStore) -> list[str]:
    return sorted((await read_rows(store))["path"].to_pylist())


async def files(store: MemoryStore) -> list[str]:
    return [stat.path async for stat in store.list(usage.FOLDER)]


def test_one_file_for_each_past_day() -> None:
    async def play() -> None:
        there = Place()
        made = await days(there, 3)
        done = await compact_usage(there.store, there.clock.at)
        assert (done.days, done.files, done.rows) == (3, 9, 9)
        assert len(await files(there.store)) == 3
        assert await kept(there.store) == made
        again = await compact_usage(there.store, there.clock.at)
        assert (again.days, again.files) == (0, 0)

    run(play())


@pytest.mark.parametrize("point", ["usage.compacted"])
def test_a_kill_loses_and_doubles_nothing(point: str) -> None:
    async def play() -> None:
        there = Place()
        made = await days(there, 2)

        def kill(name: str) -> None:
            if name == point:
                raise Killed

        failpoints.arm(kill)
        with pytest.raises(Killed):
            await compact_usage(there.store, there.clock.at)
        assert await kept(there.store) == made, "the new file is there, and the old ones too"
        failpoints.arm(None)
        await compact_usage(there.store, there.clock.at)
        assert await kept(there.store) == made
        assert len(await files(there.store)) == 2

    run(play())


def test_two_at_once_and_a_file_that_comes_late() -> None:
    async def play() -> None:
        there = Place()
        made = await days(there, 1)
        day = usage.day_of(START)
        before = {stat.path: await there.store.get(stat.path) async for stat in there.store.list(usage.FOLDER)}

        def other(name: str) -> None:
            """Somebody else does the same at this moment."""
            if name == "usage.compacted":
                failpoints.arm(None)
                run_now(compact_usage(there.store, there.clock.at))

        failpoints.arm(other)
        await compact_usage(there.store, there.clock.at)
        assert await kept(there.store) == made
        late = UsageRow(START + 5, "ann", "GetObject", "demo", "main", "late", 1, 200)
        await there.store.put(f"{usage.FOLDER}/{day}/235959.0-late.parquet", usage.encode_rows([late]))
        await compact_usage(there.store, there.clock.at)
        assert await kept(there.store) == sorted([*made, "late"])
        for path, data in before.items():  # a put whose answer was lost lands once more
            await there.store.put(path, data)
        assert await kept(there.store) == sorted([*made, "late"])
        await compact_usage(there.store, there.clock.at)
        assert await files(there.store) == [f"{usage.FOLDER}/{day}/all-000002.parquet"]

    run(play())


def run_now(work) -> None:  # type: ignore[no-untyped-def]
    """On a store in memory nothing ever waits."""
    with pytest.raises(StopIteration):
        work.send(None)


def test_a_damaged_file_stays_and_is_named() -> None:
    async def play() -> None:
        there = Place()
        made = await days(there, 1)
        first = (await files(there.store))[0]
        await there.store.put(first, (await there.store.get(first))[:-20])
        done = await compact_usage(there.store, there.clock.at)
        assert [first in gap.why for gap in done.gaps] == [True]
        assert first in await files(there.store)
        assert await kept(there.store) == made[1:]

    run(play())


def test_old_days_go_and_their_reads_are_unknown_from_then_on() -> None:
    async def play() -> None:
        there = Place()
        await days(there, 5)
        done = await compact_usage(there.store, there.clock.at, keep_days=2)
        assert done.deleted_days == 3
        since = there.clock.at - 4 * DAY_US
        found = await read_usage(there.store, since, there.clock.at)
        unknown = unknown_until(found, since, there.clock.at, readers=BY_NOTES, declared=0)
        assert unknown is not None and unknown.until == usage.day_start(usage.day_of(there.clock.at - 2 * DAY_US))

    run(play())
