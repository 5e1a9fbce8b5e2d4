"""Rewritten objects hold the same rows, whatever their shapes."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.delete import delete_where
from lochan.errors import NothingToDo
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compaction import compact
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.jobs.test_compact import SCATTERED
from tests.unit.pools.rows import ROWS


async def compacted(lake: QueryLake) -> Any:
    repository = await lake.lake.open_repository("logs")
    try:
        return await compact(repository, "main", lake.lake.queries(), actor=ANN)
    finally:
        await repository.close()


def in_any_order(rows: list[Any]) -> list[str]:
    return sorted(repr(row) for row in rows)


@pytest.mark.thorough
def test_objects_that_overlap_become_one_in_order(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads = [[{"k": number, "n": turn, "s": f"{turn}"} for number in range(20)] for turn in range(3)]
            await lake.pool("logs", *loads, [{"k": 5.5, "extra": True}, {"n": 1}])
            before = await lake.rows("from logs | sort k, n")
            done = await compacted(lake)
            assert (done.before, done.after, done.rows) == (4, 1, 62)
            assert await lake.rows("from logs | sort k, n") == before
            assert [row.get("k", 99) for row in await lake.rows("from logs")] == [row.get("k", 99) for row in before]
            with pytest.raises(NothingToDo):
                await compacted(lake)
            assert await lake.rows("from logs@main~1 | count()") == [{"count": 62}]

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "size_bytes", [1 << 10, *(pytest.param(size, marks=pytest.mark.full) for size in (4 << 10, 8 << 10)), 64 << 10]
)
def test_after_many_loads_that_overlap_a_second_compaction_finds_nothing(tmp_path: Path, size_bytes: int) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *SCATTERED, settings=PoolSettings((PoolKey(("k",)),), size_bytes=size_bytes))
            before = await lake.rows("from logs | sort k, v")
            done = await compacted(lake)
            assert done.after < 30 < 50 < done.before  # one may stand alone
            with pytest.raises(NothingToDo):
                await compacted(lake)
            assert await lake.rows("from logs | sort k, v") == before
            assert await lake.rows("from logs@main:log | count()") == [{"count": len(SCATTERED) + 2}]

    run(play())


@pytest.mark.thorough
def test_a_column_that_no_row_of_the_object_has(tmp_path: Path) -> None:
    """A load of several objects has one layout: the first of them has a column for the texts of the last."""
    rows = [{"k": n, "noise": math.sin(n), "x": n if n < 2_000 else f"{n}"} for n in range(4_000)]
    file = tmp_path / "x.ndjson"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", settings=PoolSettings((PoolKey(("k",)),), size_bytes=20_000))
            await lake.load("logs", [str(file)])  # type: ignore[list-item]
            assert len(await lake.rows("from logs:objects")) > 1
            repository = await lake.lake.open_repository("logs")
            await delete_where(repository, "main", "k == 0", lake.lake.queries().files, actor=ANN)
            await repository.close()
            assert await lake.rows("from logs") == rows[1:]

    run(play())


@pytest.mark.thorough
def test_what_cannot_be_merged_is_not_tried_again_and_again(tmp_path: Path) -> None:
    """Text beside columns, and structs beside scalars."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            odd: list[Any] = [{"k": 1, "a": 1, "A": 1}]
            await lake.pool("logs", [{"k": 1, "x": {"y": 1}}], [{"k": 1, "x": 5}, {"k": 1, "x": {"z": 2}}], odd, odd)
            before = in_any_order(await lake.rows("from logs"))
            done = await compacted(lake)
            assert (done.before, done.after) == (2, 1)
            assert in_any_order(await lake.rows("from logs")) == before
            with pytest.raises(NothingToDo):
                await compacted(lake)

    run(play())


@pytest.mark.thorough
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(ROWS, min_size=1, max_size=3), min_size=2, max_size=2))
def test_rows_of_any_shape_come_through(loads: list[list[dict[str, Any]]]) -> None:
    async def play(folder: Path) -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", *loads)
            before = await lake.rows("from logs")
            assert in_any_order(before) == in_any_order([row for rows in loads for row in rows])
            try:
                await compacted(lake)
            except NothingToDo:
                return
            assert in_any_order(await lake.rows("from logs")) == in_any_order(before)

    with tempfile.TemporaryDirectory() as folder:
        run(play(Path(folder)))
