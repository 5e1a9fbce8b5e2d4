"""What a job on Spark costs its driver, as files and rows grow: 1x, 4x and 16x of each.

A job is loaded twice: once for its time, and once for the driver's memory, because Python's own count of it takes time.
Only this process is counted, which is the driver; the executors run in others. A measure of another step of a job is
another field of `Driver` and another line of `_COLUMNS`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench import load_pool
from bench.places import ACTOR, CLOCK, IDS
from bench.table import show
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at, stop
from lochan.jobs.load.files import File, local_file
from lochan.jobs.load.load import LoadContext, load_files
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.counts import RequestCounts
from lochan.store.open import open_store, stack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "40000"))
FILES = int(os.environ.get("LOCHAN_BENCH_FILES", "25"))
_TIMES = (1, 4, 16)


@dataclass
class Driver:
    """What one job cost its driver."""

    files: int
    rows: int
    seconds: float = 0.0
    memory_bytes: int = 0  # of Python's objects, at most
    closure_bytes: int = 0  # of the largest function that went to the tasks
    requests: int = 0  # to the store of the lake
    opened: int = 0  # of the source files


_COLUMNS: dict[str, Callable[[Driver], object]] = {
    "files": lambda driver: driver.files,
    "rows": lambda driver: driver.rows,
    "wall s": lambda driver: driver.seconds,
    "us/row": lambda driver: 1e6 * driver.seconds / driver.rows,
    "driver MB": lambda driver: driver.memory_bytes / 1e6,
    "closure kB": lambda driver: driver.closure_bytes / 1e3,
    "driver opens": lambda driver: driver.opened,
    "driver requests": lambda driver: driver.requests,
}


def main() -> None:
    spark = session_at(SparkPlace(master="local[2]"), Limits(memory_bytes=1 << 30))
    try:
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            _load(spark, Path(folder) / "warm", _files(Path(folder), 4, 1_000))
            for title, sizes in (
                ("files grow, rows do not", [(FILES * times, 16 * ROWS // 4) for times in _TIMES]),
                ("rows grow, files do not", [(FILES, ROWS * times) for times in _TIMES]),
            ):
                _show(title, [_measured(spark, Path(folder), *size) for size in sizes])
    finally:
        stop()


def _show(title: str, drivers: Sequence[Driver]) -> None:
    rows = [
        [f"{times} x", *(column(driver) for column in _COLUMNS.values())]
        for times, driver in zip(_TIMES, drivers, strict=True)
    ]
    show(f"A load on Spark, local[2]: {title}", ["", *_COLUMNS], rows)


def _measured(spark: SparkSession, folder: Path, files: int, rows: int) -> Driver:
    driver, sources = Driver(files, rows), _files(folder, files, rows)
    begun = perf_counter()
    _load(spark, Path(tempfile.mkdtemp(dir=folder)), sources)
    driver.seconds = perf_counter() - begun
    with _observed(driver):
        driver.requests = _load(spark, Path(tempfile.mkdtemp(dir=folder)), sources)
    return driver


@contextmanager
def _observed(driver: Driver) -> Iterator[None]:
    """Workers of Spark have no part in it: they are processes that were started before."""
    from pyspark import serializers
    from pyspark.core import rdd

    prepare: Any = rdd._prepare_for_python_RDD
    serializer: Any = serializers.CloudPickleSerializer
    opened = File.open

    def prepared(context: Any, command: Any) -> Any:
        driver.closure_bytes = max(driver.closure_bytes, len(serializer().dumps(command)))
        return prepare(context, command)

    def counted(file: File) -> Any:
        driver.opened += 1
        return opened(file)

    with patch.object(rdd, "_prepare_for_python_RDD", prepared), patch.object(File, "open", counted):
        tracemalloc.start()
        try:
            yield
            driver.memory_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def _files(folder: Path, files: int, rows: int) -> list[File]:
    whole = folder / "rows.ndjson"
    load_pool.write_lines(whole, rows)
    lines = whole.read_bytes().splitlines(keepends=True)
    into = Path(tempfile.mkdtemp(dir=folder))
    for number in range(files):
        (into / f"{number}.ndjson").write_bytes(b"".join(lines[number::files]))
    return [local_file(path) for path in into.iterdir()]


def _load(spark: SparkSession, folder: Path, files: Sequence[File]) -> int:
    """Returns how many requests the driver sent to the lake's store."""

    async def load() -> int:
        counts = RequestCounts()
        lake = await Lake.create(stack(open_store(str(folder), {}, create=True), clock=CLOCK, ids=IDS, counts=counts))
        await lake.create_pool("logs", parse(["ts:time"]), actor=ACTOR)
        repository = await lake.open_repository("logs")
        before = counts.total.requests
        try:
            await load_files(repository, lake.place, "main", files, actor=ACTOR, where=LoadContext(spark))
            return counts.total.requests - before
        finally:
            await repository.close()
            await lake.close()

    return asyncio.run(load())


if __name__ == "__main__":
    main()
