"""Objects of small loads are merged as they come: no row is lost or doubled, whatever others do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lochan.api import small_objects
from lochan.api.lake import Lake
from lochan.api.options import CommitOptions
from lochan.api.pool import Pool
from lochan.api.session import server_session
from lochan.api.small_objects import FAN_IN, LEFT_MAX
from lochan.errors import ConcurrentCommit, NothingToDo
from lochan.lake import Lake as OpenLake
from lochan.pools.commit_objects import SAME_ROWS
from lochan.pools.upkeep import STANDARD, Rule, Upkeep
from lochan.store.local import LocalStore
from tests.until import until

pytestmark = pytest.mark.thorough

Story = Callable[[Lake, Pool], Awaitable[None]]


def played(folder: Path, story: Story, upkeep: Upkeep | None = STANDARD) -> None:
    async def work() -> None:
        session = server_session(await OpenLake.create(LocalStore(str(folder / "lake"), create=True)))
        session.upkeep = upkeep
        lake = Lake(session)
        try:
            await story(lake, await lake.create_pool("logs", key="k"))
        finally:
            await lake.close()

    asyncio.run(work())


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads that follow each other at once have no pause between them; and then it comes soon."""
    monkeypatch.setattr(small_objects, "PAUSE_S", 0.2)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_objects, "PAUSE_S", 3_600.0)


async def post(pool: Pool, *numbers: int, **more: Any) -> str:
    data = b"".join(b'{"k":%d,"t":"text %d"}\n' % (number, number) for number in numbers)
    return (await pool.load(data, shared=True, **more)).commit


async def keys(lake: Lake, at: str = "logs") -> list[int]:
    with await lake.query(f"from {at} | sort k") as result:
        return [row["k"] for row in result.rows()]


async def objects(pool: Pool) -> int:
    return (await pool.summary()).objects


async def merges(pool: Pool) -> int:
    return len([each async for each in pool.branch("main").log() if SAME_ROWS in each.metadata])


def test_loads_that_follow_each_other(tmp_path: Path, no_pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        commits = [await post(pool, number) for number in range(3 * FAN_IN)]
        assert await keys(lake) == list(range(3 * FAN_IN))
        assert await objects(pool) <= FAN_IN
        assert await merges(pool) == 3
        for number in (0, FAN_IN - 1, FAN_IN, 2 * FAN_IN):
            assert await keys(lake, f"logs@{commits[number]}") == list(range(number + 1)), "each commit as it was"

    played(tmp_path, story)


def test_a_pause_leaves_few_objects(tmp_path: Path, pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        for number in range(FAN_IN - 1):
            await post(pool, number)

        async def few() -> bool:
            return await objects(pool) <= LEFT_MAX

        await until(few)
        assert await keys(lake) == list(range(FAN_IN - 1))

    played(tmp_path, story)


def test_larger_objects_are_rewritten_beside_the_loads(
    tmp_path: Path, pause: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_objects, "ROWS_KEPT", 8)

    async def story(lake: Lake, pool: Pool) -> None:
        for number in range(0, 200, 2):
            await asyncio.gather(post(pool, number), post(pool, number + 1, message="another commit"))

        async def few() -> bool:
            return await objects(pool) <= LEFT_MAX

        await until(few)
        assert await keys(lake) == list(range(200))

    played(tmp_path, story)


def test_any_shapes(tmp_path: Path, no_pause: None) -> None:
    bodies = [
        b'{"k":%d,"v":%s}' % (n, (b"1", b'"x"', b"[1]", b'{"a":null}', b"1e40", b"null")[n % 6]) for n in range(60)
    ]

    async def story(lake: Lake, pool: Pool) -> None:
        for body in bodies:
            await pool.load(body, shared=True)
        with await lake.query("from logs | sort k") as result:
            assert [row["v"] for row in result.rows()][:6] == [1, "x", [1], {"a": None}, 1e40, None]
        assert await objects(pool) <= 2 * FAN_IN

    played(tmp_path, story)


def test_rows_that_are_deleted_meanwhile_stay_deleted(tmp_path: Path, no_pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        gone = set()
        for number in range(6 * FAN_IN):
            await post(pool, number)
            if number % 7 == 3:
                await pool.delete_rows(f"k == {number - 1}")
                gone.add(number - 1)
        assert await keys(lake) == [number for number in range(6 * FAN_IN) if number not in gone]

    played(tmp_path, story)


def test_a_row_that_is_deleted_does_not_keep_the_others_apart(tmp_path: Path, pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        for number in range(FAN_IN - 1):
            await post(pool, number)
        await pool.delete_rows("k == 3")  # the merge that is due at the next load has lost one of its objects
        await post(pool, FAN_IN)

        async def few() -> bool:
            return await objects(pool) <= LEFT_MAX

        await until(few)
        assert await keys(lake) == [*(number for number in range(FAN_IN - 1) if number != 3), FAN_IN]

    played(tmp_path, story)


def test_others_load_delete_and_compact_at_the_same_time(tmp_path: Path, pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        session = server_session(await OpenLake.open(LocalStore(str(tmp_path / "lake"))))
        session.upkeep = STANDARD
        other = Lake(session)
        twin = other.pool("logs")

        async def posts(own: Pool, first: int) -> None:
            for number in range(first, first + 60):
                await own.load(b'{"k":%d}' % number, options=CommitOptions(key=f"key-{number}"), shared=True)

        async def others() -> None:
            for number in range(4):
                await asyncio.sleep(0.05)
                await twin.delete_rows(f"k == {1_000 + number}")
                with suppress(NothingToDo, ConcurrentCommit):  # the server was faster
                    await twin.compact()

        await post(twin, *range(1_000, 1_004))
        await asyncio.gather(posts(pool, 0), posts(pool, 60), posts(twin, 120), others())
        assert await keys(lake) == list(range(180))

        async def few() -> bool:
            return await objects(pool) <= 2 * LEFT_MAX + 2

        await until(few)
        assert await keys(lake) == list(range(180))
        await other.close()

    played(tmp_path, story)


@pytest.mark.parametrize("upkeep", [None, Upkeep(Rule(compact=False)), Upkeep(Rule(branches=("dev",)))])
def test_a_branch_that_is_left_alone(tmp_path: Path, upkeep: Upkeep | None, pause: None) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        for number in range(FAN_IN + 1):
            await post(pool, number)
        assert await objects(pool) == FAN_IN + 1
        assert await merges(pool) == 0

    played(tmp_path, story, upkeep)
