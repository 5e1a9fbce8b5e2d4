"""A pool read by format("lochan"), with the jar and without it, against lochan.spark.read and Spark on the same files.

Without the jar is the source in Python, by the name that it has in the jar's own session: the same code runs. Each
round goes all ways in turn, from the making of the frame to the last row; the ratio is between the best of each. On a
machine that does other work too only the processor time says much. That of a planner in Python that ends with its
round is not counted, for a process that has ended tells none.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import lochan.spark
from bench.spark_write import ROWS, Cost, make_lake, session, source_frame
from bench.table import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "5"))
_BUDGET = 1.5
_SPAN = "ts >= TIMESTAMP'2026-11-01T00:10:00Z' AND ts < TIMESTAMP'2026-11-01T00:20:00Z'"

Read = Callable[[], "DataFrame"]
_QUERIES: dict[str, Callable[[DataFrame], object]] = {
    "all columns": lambda frame: frame.write.format("noop").mode("overwrite").save(),
    "sum of one column": lambda frame: frame.agg({"bytes": "sum"}).collect(),
    "ten minutes of the key": lambda frame: frame.where(_SPAN).agg({"bytes": "sum"}).collect(),
    "count": lambda frame: frame.count(),
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        spark = session(folder, **{"spark.jars": lochan.spark.catalog_jar()})
        try:
            _compare(spark, Path(folder))
        finally:
            spark.stop()


def _compare(spark: SparkSession, folder: Path) -> None:
    lake = str(folder / "lake")
    asyncio.run(make_lake(lake))
    lochan.spark.write(source_frame(spark, folder), "logs", lake=lake)
    files = lochan.spark.read(spark, "logs", lake=lake).inputFiles()
    ways: dict[str, Read] = {
        "lochan.spark.read": lambda: lochan.spark.read(spark, "logs", lake=lake),
        "Spark on the files": lambda: spark.read.parquet(*files),
        "format(lochan)": lambda: spark.read.format("lochan").option("lake", lake).load("logs"),
        "without the jar": lambda: spark.read.format("lochan.spark.PythonSource").option("lake", lake).load("logs"),
    }
    for title, ask in _QUERIES.items():
        _show(f"{title} of {ROWS:,} rows in {len(files)} objects", _measured(ways, ask))


def _measured(ways: dict[str, Read], ask: Callable[[DataFrame], object]) -> list[Cost]:
    costs = {name: Cost(name) for name in ways}
    found = {name: ask(read()) for name, read in ways.items()}  # warm, and of one mind
    assert all(each == found["lochan.spark.read"] for each in found.values()), found
    for _ in range(_ROUNDS):
        for name, read in ways.items():
            costs[name].measure(lambda read=read: ask(read()))  # type: ignore[misc]
    return list(costs.values())


def _show(title: str, costs: list[Cost]) -> None:
    (read_cpu, read_wall), (bare_cpu, bare_wall) = map(_best, costs[:2])
    rows = []
    for each in costs:
        cpu, wall = _best(each)
        budget = "" if each.name != "format(lochan)" else "yes" if cpu <= _BUDGET * read_cpu else "no"
        rows.append([each.name, cpu, cpu / read_cpu, cpu / bare_cpu, wall, wall / read_wall, wall / bare_wall, budget])
    head = ["", "CPU s", "x read", "x files", "wall s", "x read", "x files", f"CPU within {_BUDGET} x read"]
    show(f"{title}: best of {_ROUNDS}", head, rows)


def _best(cost: Cost) -> tuple[float, float]:
    return min(cost.cpu, default=nan), min(cost.wall)


if __name__ == "__main__":
    main()
