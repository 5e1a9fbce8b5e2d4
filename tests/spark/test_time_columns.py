"""Declared times on Spark: it writes the columns of the embedded load, and reads both layouts as DuckDB does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.jobs.compaction import CompactJobOptions, compact
from lochan.jobs.load.files import local_file
from lochan.jobs.load.load import LoadContext, load_files
from lochan.jobs.load.sizes import LoadSizes
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.engines.test_time_columns import BY_TS, EVERY, QUERIES, answers, loaded, placed, rows_of

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, QueryLake]]:
    """With objects of both layouts, open for all tests."""
    with asyncio.Runner() as runner:
        opened = query_lake(tmp_path_factory.mktemp("layouts"))
        found = runner.run(opened.__aenter__())
        runner.run(loaded(found, (False, True, False)))
        yield runner, found
        runner.run(opened.__aexit__(None, None, None))


@pytest.mark.parametrize("query", QUERIES)
def test_both_engines_give_the_same_rows_of_both_layouts(query: str, lake: tuple[asyncio.Runner, QueryLake]) -> None:
    runner, found = lake
    here, there = runner.run(found.rows(query)), runner.run(found.rows(query, engine="spark", spark=HERE))
    assert [placed(row) for row in there] == [placed(row) for row in here]


def test_compacted_on_spark(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await loaded(lake, (False, True, False))
            before = await answers(lake)
            repository = await lake.lake.open_repository("p")
            options = CompactJobOptions("spark", spark=HERE)
            await compact(repository, "main", lake.lake.queries(), actor=ANN, options=options)
            await repository.close()
            assert await answers(lake) == before

    run(play())


@pytest.mark.parametrize("part_bytes", [0, 100], ids=["one part", "several parts"])
def test_a_load_writes_the_same_columns(part_bytes: int, tmp_path: Path) -> None:
    rows = rows_of(*EVERY, None, *(f"2026-11-01T10:00:00.{number:09}Z" for number in range(20)))
    file = tmp_path / "rows.ndjson"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("here", rows, settings=BY_TS)
            await lake.pool("there", settings=BY_TS)
            repository = await lake.lake.open_repository("there")
            where = LoadContext(session.session_at(HERE, STANDARD))
            sizes = LoadSizes(part_bytes=part_bytes)
            done = await load_files(
                repository, lake.lake.place, "main", [local_file(file)], actor=ANN, where=where, sizes=sizes
            )
            await repository.close()
            assert (done.rows, done.unparsed_times) == (len(rows), {"ts": 1})
            assert await lake.rows("from there | sort n") == await lake.rows("from here | sort n")
            ours = {name for file in await lake.files("here") for name in pq.read_schema(file).names}
            theirs = {name for file in await lake.files("there") for name in pq.read_schema(file).names}
            assert theirs - {"ts"} == ours

    run(play())
