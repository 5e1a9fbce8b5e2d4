"""A round of upkeep: what is compacted, what is left alone, and what others do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.api.session import Session
from lochan.api.upkeep_tasks import TASKS, UpkeepOptions
from lochan.clock import SystemClock
from lochan.engines.duckdb.rewrite import ObjectRewriter
from lochan.ids import Ids
from lochan.jobs.upkeep import BUSY, COMPACTED, FAILED, IN_ORDER, LEFT_ALONE, NO_BRANCH, UpkeepResult, keep
from lochan.pools.commit_objects import delete_objects, replace_objects
from lochan.pools.upkeep import Rule, Upkeep
from lochan.server.maintenance import keep_schedule
from lochan.versioning.branches import create_branch
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

EAGER = Upkeep(Rule(overlapping_max=1, small_max=1))
PATIENT = Upkeep(Rule(overlapping_max=2, small_max=2))
ROWS: list[Any] = [{"k": number, "text": "x" * 50} for number in range(100)]


async def round_of(lake: QueryLake, upkeep: Upkeep, *only: str) -> list[UpkeepResult]:
    return [each async for each in keep(lake.lake.queries(), upkeep, only, actor=ANN)]


async def outcomes(lake: QueryLake, upkeep: Upkeep, *only: str) -> list[tuple[str, str, str]]:
    return [each[:3] for each in await round_of(lake, upkeep, *only)]


@pytest.mark.thorough
def test_what_passes_its_limits_is_compacted_once(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("files", actor=ANN)
            await lake.pool("few", *[ROWS] * 2)
            await lake.pool("many", *[ROWS] * 3)
            await lake.pool("small", *([{"k": number}] for number in range(3)))
            await lake.pool("empty")
            found = {each.pool: each for each in await round_of(lake, PATIENT)}
            assert {name: each.outcome for name, each in found.items()} == {
                "empty": IN_ORDER,
                "few": IN_ORDER,
                "many": COMPACTED,
                "small": COMPACTED,
            }
            done = found["many"].compacted
            assert done is not None
            assert (done.before, done.after, done.rows) == (3, 1, 300)
            assert await lake.rows("from many | count()") == [{"count": 300}]
            assert {each.outcome for each in await round_of(lake, PATIENT)} == {IN_ORDER}
            assert await outcomes(lake, EAGER, "few") == [("few", "main", COMPACTED)]

    run(play())


def test_branches_and_pools_are_those_of_the_policy(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            for name in ("logs", "scratch"):
                await lake.pool(name, ROWS, ROWS)
            logs = await lake.lake.open_repository("logs")
            await create_branch(logs, "dev", "main", actor=ANN)
            await logs.close()
            on_dev = EAGER.defaults._replace(branches=("dev", "gone"))
            upkeep = Upkeep(Rule(compact=False), (("lo*", on_dev),))
            assert await outcomes(lake, upkeep) == [
                ("logs", "dev", COMPACTED),
                ("logs", "gone", NO_BRANCH),
                ("scratch", "", LEFT_ALONE),
            ]
            assert len(await lake.rows("from logs@main:objects")) == 2

    run(play())


@pytest.mark.thorough
def test_objects_get_the_size_of_the_policy(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            rows = [{"k": number, "text": f"{number * 7919:x}" * 9} for number in range(20_000)]
            await lake.pool("logs", rows, rows)
            upkeep = Upkeep(EAGER.defaults._replace(size_bytes=30_000))
            [kept] = await round_of(lake, upkeep)
            assert kept.compacted is not None
            assert kept.compacted.after > 2
            assert await outcomes(lake, upkeep) == [("logs", "main", IN_ORDER)]
            assert await lake.rows("from logs | count()") == [{"count": 40_000}]

    run(play())


def meanwhile(monkeypatch: pytest.MonkeyPatch, times: int, work: Callable[[], Awaitable[Any]]) -> None:
    """`work` happens so many times, each when a compaction has read all and is about to land."""
    left = [times]

    async def late(*args: Any, **named: Any) -> str:
        if left[0]:
            left[0] -= 1
            await work()
        return await replace_objects(*args, **named)

    monkeypatch.setattr("lochan.jobs.compaction.replace_objects", late)


@pytest.mark.thorough
@pytest.mark.parametrize("times, outcome", [(1, COMPACTED), (3, BUSY)])
def test_who_was_quicker_is_given_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, outcome: str
) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *[ROWS] * 5)

            async def delete_one() -> None:
                repository = await lake.lake.open_repository("logs")
                ids = [row["id"] for row in await lake.rows("from logs:objects")]
                await delete_objects(repository, "main", ids[:1], actor=ANN)
                await repository.close()

            meanwhile(monkeypatch, times, delete_one)
            assert await outcomes(lake, EAGER) == [("logs", "main", outcome)]
            assert await lake.rows("from logs | count()") == [{"count": 100 * (5 - times)}]
            assert await outcomes(lake, EAGER) == [("logs", "main", IN_ORDER if times == 1 else COMPACTED)]

    run(play())


@pytest.mark.thorough
def test_a_pool_that_is_damaged_does_not_stop_the_rest(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            for name in ("broken", "gone", "logs"):
                await lake.pool(name, ROWS, ROWS)
            (await lake.files("broken"))[0].write_bytes(b"no Parquet")
            (await lake.files("gone"))[0].unlink()
            found = await round_of(lake, EAGER)
            assert [each.outcome for each in found] == [FAILED, FAILED, COMPACTED]
            assert all(each.error is not None for each in found[:2])

    run(play())


def test_a_server_that_stops_gives_a_compaction_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the engine's work: it ends at once, and the pool is unchanged."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", ROWS, ROWS)
            begun, ended = asyncio.Event(), []
            loop = asyncio.get_running_loop()

            def slow(self: ObjectRewriter, *args: Any) -> None:
                loop.call_soon_threadsafe(begun.set)
                try:
                    self._session.execute("SELECT count(*) FROM range(100000000000) WHERE hash(range) = 1")
                finally:
                    ended.append(True)

            monkeypatch.setattr(ObjectRewriter, "add", slow)
            only = dict.fromkeys(TASKS, "off") | {"compact": "1s"}
            options = UpkeepOptions(schedule=only, policy=EAGER)
            chore = keep_schedule(Session(lake.lake, ANN), options, SystemClock(), Ids())
            task = asyncio.create_task(chore)
            await asyncio.wait_for(begun.wait(), 30)
            task.cancel()
            await asyncio.wait_for(asyncio.wait([task]), 30)
            assert task.cancelled()
            assert ended == [True]
            assert len(await lake.rows("from logs:objects")) == 2

    run(play())
