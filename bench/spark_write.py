"""Two million rows from a Spark frame into a pool and back: against what Spark does with plain Parquet files.

    write    df.write.format("lochan") and lochan.spark.write, against sortWithinPartitions(key).write.parquet
    read     lochan.spark.read and spark.read.format("lochan"), against spark.read.parquet of the same files

Processor time is that of the driver, the JVM and all its Python workers; each round goes all ways in turn, and the
ratio is between the best of each. On a machine that does other work too only the processor time says much.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from math import nan
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import duckdb

import lochan.spark
from bench.places import ACTOR
from bench.table import show
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "2000000"))
_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "5"))
_PARTS = 4
_TICKS = os.sysconf("SC_CLK_TCK")
_ROW = """
    SELECT (TIMESTAMPTZ '2026-11-01 00:00:00Z' + to_milliseconds(n * 3 + h % 900)) AS ts, 'host-' || h % 300 AS host,
           '/api/v1/thing/' || h % 200 AS path, ([200, 200, 404, 500])[h % 4 + 1] AS status, h % 100000 AS bytes,
           (h % 30011) / 10000 AS latency, format('{:016x}', h) AS uid
    FROM (SELECT n, (hash(n) >> 2)::BIGINT AS h FROM range(ROWS) t(n))
"""


class Cost:
    def __init__(self, name: str) -> None:
        self.name = name
        self.cpu: list[float] = []
        self.wall: list[float] = []

    def measure(self, work: Callable[[], object]) -> None:
        """A round in which a process of ours has ended tells no processor time: what it used goes with it."""
        before, begun = _ticks(), perf_counter()
        work()
        self.wall.append(perf_counter() - begun)
        after = _ticks()
        if before.keys() <= after.keys():
            self.cpu.append((sum(after.values()) - sum(before.values())) / _TICKS)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        spark = session(folder)
        try:
            _compare(spark, Path(folder))
        finally:
            spark.stop()


def _compare(spark: SparkSession, folder: Path) -> None:
    frame = source_frame(spark, folder)
    lochan.spark.register(spark)
    lake = str(folder / "lake")
    asyncio.run(make_lake(lake))
    plain = str(folder / "plain")
    bare, by_source, spread, as_is = map(
        Cost, ("Spark: sort, Parquet", "format(lochan)", "write, by key", "write, as is")
    )

    def save() -> None:
        frame.write.format("lochan").option("lake", lake).mode("overwrite").save("logs")

    for _ in range(_ROUNDS):
        bare.measure(lambda: frame.sortWithinPartitions("ts").write.mode("overwrite").parquet(plain))
        by_source.measure(save)
        as_is.measure(lambda: lochan.spark.write(frame, "logs", mode="overwrite", spread=False, lake=lake))
        spread.measure(lambda: lochan.spark.write(frame, "logs", mode="overwrite", lake=lake))
    _show(f"{ROWS:,} rows from a frame of {_PARTS} parts into a pool", [bare, by_source, as_is, spread])
    _read(spark, lake)


def _read(spark: SparkSession, lake: str) -> None:
    mine = lochan.spark.read(spark, "logs", lake=lake)
    files = mine.inputFiles()
    for title, ask in (
        ("all columns", lambda frame: frame.write.format("noop").mode("overwrite").save()),
        ("sum of one column", lambda frame: frame.agg({"bytes": "sum"}).collect()),
        ("distinct", lambda frame: frame.select("uid").distinct().count()),
    ):
        bare, native, source = map(Cost, ("Spark on the files", "read", "format(lochan)"))
        for _ in range(_ROUNDS):
            bare.measure(lambda ask=ask: ask(spark.read.parquet(*files)))  # type: ignore[misc]
            native.measure(lambda ask=ask: ask(lochan.spark.read(spark, "logs", lake=lake)))  # type: ignore[misc]
            frame = spark.read.format("lochan").option("lake", lake)
            source.measure(lambda ask=ask, frame=frame: ask(frame.load("logs")))  # type: ignore[misc]
        _show(f"{title}, from the planning on", [bare, native, source])


def _show(title: str, costs: list[Cost]) -> None:
    cpu, wall = (min(values, default=nan) for values in (costs[0].cpu, costs[0].wall))
    rows = []
    for each in costs:
        used, took = min(each.cpu, default=nan), min(each.wall)
        rows.append([each.name, used, used / cpu, took, took / wall])
    show(f"{title}: best of {_ROUNDS}", ["", "CPU s", "x bare", "wall s", "x bare"], rows)


def session(folder: str, **more: str) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in ("LOCHAN_BENCH_ROWS", "LOCHAN_BENCH_ROUNDS"):
        os.environ.pop(name, None)  # which are no settings of a lake
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.shuffle.partitions": str(_PARTS),
        "spark.local.dir": folder,
        **more,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def source_frame(spark: SparkSession, folder: Path) -> DataFrame:
    """From Parquet files in no order, a part each."""
    source = folder / "source"
    source.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for part in range(_PARTS):
            rows = f"SELECT * FROM ({_ROW.replace('ROWS', str(ROWS))}) WHERE hash(uid) % {_PARTS} = {part} ORDER BY uid"
            connection.execute(f"COPY ({rows}) TO '{source}/{part}.parquet' (FORMAT parquet, COMPRESSION zstd)")
    frame = spark.read.parquet(str(source))
    assert frame.count() == ROWS
    return frame


async def make_lake(folder: str) -> None:
    lake = await Lake.create(LocalStore(folder, create=True))
    await lake.create_pool("logs", parse(["ts"]), actor=ACTOR)
    await lake.close()


def _ticks() -> dict[int, int]:
    """Of this process and all that it has started, with what their own children used that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, found = {os.getpid()}, {os.getpid()}
    while found:
        found = {pid for pid, parent in parents.items() if parent in found}
        ours |= found
    return {pid: ticks[pid] for pid in ours if pid in ticks}


if __name__ == "__main__":
    main()
