"""Jobs of very many objects on a Spark whose driver takes one MiB of results: what tasks send does not grow with the
objects that they write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import LochanError
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.entry_runs import spill_messages
from lochan.jobs.messages import PoolTarget, TaskMessage
from lochan.jobs.streams.batches import Write
from lochan.jobs.tasks import on_spark, run_tasks
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import QueryLake
from tests.unit.jobs.place import job_pool
from tests.unit.jobs.simulated_entries import messages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = LEFT_SOCKETS
NARROW = HERE._replace(options={**HERE.options, "spark.driver.maxResultSize": "1m"})
OBJECTS, TASKS, FACTS_BYTES = 2_000, 6, 5_000
COLUMNS, ROWS = 40, 5_000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    yield session.session_at(NARROW, STANDARD)
    session.stop()


def in_messages(target: PoolTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """A task that writes an object for each number it gets."""
    for batch in batches:
        paths = [f"{number * 7919 % 10_007:05d}.parquet" for number in batch.column(0).to_pylist()]
        yield from messages_of(target, paths, bytes_of_facts=FACTS_BYTES)


def in_runs(target: PoolTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    return spill_messages(target, in_messages(target, batches))


def test_thousands_of_objects_land(spark: SparkSession, tmp_path: Path) -> None:
    numbers = spark.range(0, OBJECTS, 1, TASKS)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()

            async def sent(work: Write, tag: str) -> list[TaskMessage]:
                return await on_spark(spark, lambda: run_tasks(numbers, partial(work, target)), tag=tag, about=tag)

            with pytest.raises(LochanError, match="maxResultSize"):
                await sent(in_messages, "messages")
            messages = await sent(in_runs, "runs")
            assert sum(len(message.runs) for message in messages) == TASKS
            landed = await pool.land(messages)
            assert (landed.objects, landed.rows) == (OBJECTS, OBJECTS)
            assert len(await pool.entries()) == OBJECTS

    run(play())


@pytest.mark.parametrize("by", ["write", "data source"])
def test_rows_of_many_objects_are_written(spark: SparkSession, tmp_path: Path, by: str) -> None:
    """With entries of more than a MiB, as they are: tasks write them to a pool of small objects."""
    from pyspark.sql import functions

    settings = PoolSettings((PoolKey(("n",)),), size_bytes=12_000)
    texts = [functions.sha2(functions.concat_ws(" ", "id", functions.lit(each)), 256) for each in range(COLUMNS)]
    columns = [text.substr(1, 24).alias(f"c{each}") for each, text in enumerate(texts)]
    frame = spark.range(0, ROWS, 1, 2).select(functions.col("id").alias("n"), *columns)

    async def play() -> tuple[list[int], int]:
        async with job_pool(tmp_path, settings) as pool:
            lake = _folder(pool.lake)
            if by == "write":
                landed = lochan.spark.write(frame, "logs", spread=False, lake=lake)
                assert landed.rows == ROWS
            else:
                lochan.spark.register(spark)
                frame.write.format("lochan").option("lake", lake).mode("append").save("logs")
            rows = [row["n"] for row in await pool.lake.rows("from logs | cut n")]
            return rows, sum(len(str(entry.metadata)) for entry in await pool.entries())

    rows, size = run(play())
    assert rows == [*range(ROWS)]
    assert size > 1 << 20
    assert [*(tmp_path / "lake").glob("*/runs/*")]


def _folder(lake: QueryLake) -> str:
    return lake.lake.url.removeprefix("file://")
