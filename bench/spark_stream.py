"""A million rows that stream into a pool in batches of one second: do they keep up, and what is left of small objects?

A source of Spark's own makes so many rows each second, whoever takes them, with the time at which each was due. How
long after that the last row of a batch has landed is its lag: at the beginning Spark has to start, and what has come
meanwhile is made up for; a stream that keeps up ends with a lag of a batch or two, one that does not with the longest.
"""

from __future__ import annotations

import asyncio
import math
import os
import tempfile
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import sleep, time
from typing import TYPE_CHECKING, Any

import lochan.spark
from bench.places import ACTOR
from bench.table import show
from lochan.connection import spark_lake
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at, stop
from lochan.jobs.job_commit import LandResult
from lochan.jobs.streams.batches import Batches, StreamJobOptions, StreamTarget
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "1000000"))
RATE = int(os.environ.get("LOCHAN_BENCH_RATE", "25000"))  # rows each second
_EVERY_S = 1.0
_PATIENCE_S = 600.0


def main() -> None:
    for name in ("LOCHAN_BENCH_ROWS", "LOCHAN_BENCH_RATE"):
        os.environ.pop(name, None)  # which are no settings of a lake
    with tempfile.TemporaryDirectory(prefix="lochan-bench-", ignore_cleanup_errors=True) as folder:
        try:
            _stream(session_at(SparkPlace("local[2]"), STANDARD), Path(folder))
        finally:
            stop()


def _stream(spark: SparkSession, folder: Path) -> None:
    lake = str(folder / "lake")
    asyncio.run(_make(lake))
    landed: list[tuple[float, LandResult]] = []
    frame = spark.readStream.format("rate").option("rowsPerSecond", RATE).load()
    target = StreamTarget(spark_lake(lake), "logs", "main", ACTOR, StreamJobOptions(every_s=_EVERY_S))
    batches = Batches(target, str(folder / "checkpoint"), listener=lambda _, each: landed.append((time(), each)))
    query = batches.start(frame)
    begun = time()
    while sum(each.rows for _, each in landed) < ROWS and time() - begun < _PATIENCE_S and query.isActive:
        sleep(0.1)
    progress: list[Any] = list(query.recentProgress)
    query.stop()
    seconds = [each["durationMs"]["triggerExecution"] / 1e3 for each in progress if "addBatch" in each["durationMs"]]
    before = asyncio.run(_objects(lake))
    merging = time()
    batches.stop(spark)
    merged = time() - merging
    after = asyncio.run(_objects(lake))
    start_at = lochan.spark.read(spark, "logs", lake=lake).agg({"timestamp": "min"}).collect()[0][0].timestamp()
    rows = list(accumulate(each.rows for _, each in landed))
    lags = [at - start_at - count / RATE for (at, _), count in zip(landed, rows, strict=True)]
    took = landed[-1][0] - landed[0][0]  # the first had to wait for workers to start
    show(
        f"{rows[-1]:,} rows at {RATE:,} each second into a pool, in {len(landed)} commits",
        ["", "rows/s", "batch s", "first lag s", "longest", "last", "objects", "at the end", "ideal", "merging s"],
        [
            [
                "rate, by Spark",
                (rows[-1] - rows[0]) / took,
                median(seconds),
                lags[0],
                max(lags),
                lags[-1],
                before[0],
                after[0],
                after[1],
                merged,
            ]
        ],
    )


async def _make(folder: str) -> None:
    lake = await Lake.create(LocalStore(folder, create=True))
    await lake.create_pool("logs", parse(["value"]), actor=ACTOR)
    await lake.close()


async def _objects(folder: str) -> tuple[int, int]:
    """How many there are, and how many the rows would fill."""
    from lochan.engines.duckdb.data_objects import snapshot_of

    lake = await Lake.open(LocalStore(folder))
    repository = await lake.open_repository("logs")
    try:
        refs, _ = await repository.refs()
        id = refs.branch("main").head
        snapshot = await snapshot_of(repository, id, await repository.tree(refs.commit(id)))
        ideal = max(1, math.ceil(int(snapshot.sizes.sum()) / snapshot.settings.size_bytes))
        return snapshot.spans.num_rows, ideal
    finally:
        await repository.close()
        await lake.close()


if __name__ == "__main__":
    main()
