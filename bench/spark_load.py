"""A bulk load on Spark against what a person would write for the same file: read, sort, write as Parquet. Once for
NDJSON, and once for the same packed, which no task can begin to read in the middle (budget: 1.0 times, of both).

Both run in one session on this machine, in turns. Processor time is that of all processes together: this one, the JVM
and its Python workers; on a machine that does other work too only that says much. Then how it grows with the rows, how
much of what is on the store the executors wrote, and what it costs to send rows to many parts of the key.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from bench import load_pool
from bench.cost import Cost
from bench.places import ACTOR
from bench.table import show
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import LoadCommit
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at, stop
from lochan.ingest.lines import lines
from lochan.jobs.load.file_splits import splits_of
from lochan.jobs.load.files import SurveyedFile, local_file
from lochan.jobs.load.key_ranges import KeyRanges, bounds_of
from lochan.jobs.load.load import LoadContext, load_files
from lochan.jobs.load.shuffle import records_to_send
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "200000"))
_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "3"))
_TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    spark = session_at(SparkPlace(master="local[2]"), Limits(memory_bytes=1 << 30))
    try:
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            for packed in (False, True):
                _compare(spark, Path(folder), packed=packed)
            _show_parts(Path(folder))
            _grow(spark, Path(folder))
    finally:
        stop()


def _compare(spark: SparkSession, folder: Path, *, packed: bool) -> None:
    file = _packed(_file(folder, ROWS)) if packed else _file(folder, ROWS)
    names = "Spark: read, sort, write", "the same, told the schema", "load on Spark"
    inferred, given, ours = (Cost(name, _cpu) for name in names)
    schema = spark.read.json(str(file)).schema
    for number in range(_ROUNDS + 1):  # the first of each warms the JVM up
        inferred.measure(lambda: _plain(spark, file, folder / "plain"))
        given.measure(lambda: _plain(spark, file, folder / "plain", schema))
        ours.measure(lambda number=number: _load(spark, folder / f"lake{file.name}{number}", file))  # type: ignore[misc]
    rows = []
    for each in (inferred, given, ours):
        cpu, wall = min(each.cpu[1:]), min(each.wall[1:])
        rows.append([each.name, cpu, cpu / min(inferred.cpu[1:]), wall, wall / min(inferred.wall[1:])])
    name = "packed NDJSON" if packed else "NDJSON"
    title = f"{ROWS:,} rows of {name}, {file.stat().st_size / 1e6:.0f} MB, on local[2]: best of {_ROUNDS}"
    show(title, ["", "CPU s", "x Spark", "wall s", "x Spark"], rows)


def _packed(file: Path) -> Path:
    packed = file.with_name(f"{file.name}.gz")
    with file.open("rb") as lines, gzip.open(packed, "wb", compresslevel=6) as into:
        shutil.copyfileobj(lines, into)
    return packed


def _show_parts(folder: Path) -> None:
    """Of one chunk, on one processor: finding each row's part, and making a record for each part."""
    with _file(folder, ROWS).open("rb") as stream:
        chunk = next(lines("", stream))
    chunk = chunk._replace(places=np.arange(len(chunk.texts)))
    splits = splits_of([SurveyedFile(local_file(folder / f"{ROWS}.ndjson"), "ndjson")], 1 << 60)
    rows = []
    with DuckSession(Limits(512 << 20, threads=1), ordered=False) as session:
        ranges = KeyRanges(session, parse(["ts:time"]))
        weights = dict.fromkeys(ranges.keys(chunk)[1], 1.0)
        for parts in (8, 256, 4_096):
            bounds, find, send = bounds_of(weights, parts), Cost("", process_time), Cost("", process_time)
            for _ in range(_ROUNDS):
                find.measure(lambda bounds=bounds: ranges.parts(chunk, bounds))  # type: ignore[misc]
                found = ranges.parts(chunk, bounds)
                send.measure(lambda found=found: list(records_to_send(chunk, found, dict(enumerate(splits)))))  # type: ignore[misc]
            rows.append([f"{parts:,} parts", min(find.cpu), min(send.cpu)])
    title = f"{len(chunk.texts):,} rows, {chunk.texts.nbytes / 1e6:.0f} MB, to parts of the key: CPU s"
    show(title, ["", "find", "make records"], rows)


def _grow(spark: SparkSession, folder: Path) -> None:
    rows = []
    for times in (1, 4, 16):
        count = max(1, ROWS * times // 4)
        file, cost = _file(folder, count), Cost("", _cpu)
        for number in range(2):
            lake = folder / f"grown{times}-{number}"
            cost.measure(lambda lake=lake, file=file: _load(spark, lake, file))  # type: ignore[misc]
        rows.append([f"{times} x", count, min(cost.cpu), min(cost.wall), count / min(cost.wall), _share(lake)])
        shutil.rmtree(lake)
        file.unlink()
    show("How it grows", ["", "rows", "CPU s", "wall s", "rows/s", "% by executors"], rows)


def _share(lake: Path) -> float:
    """Of all bytes on the store, how many are of data objects: no other process writes these."""
    sizes = {path: path.stat().st_size for path in lake.rglob("*") if path.is_file()}
    return 100 * sum(size for path, size in sizes.items() if "data" in path.parts) / sum(sizes.values())


def _file(folder: Path, rows: int) -> Path:
    file = folder / f"{rows}.ndjson"
    load_pool.write_lines(file, rows)
    return file


def _plain(spark: SparkSession, file: Path, target: Path, schema: StructType | None = None) -> None:
    """As a person would write it."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    reader.json(str(file)).sort("ts").write.mode("overwrite").option("compression", "zstd").parquet(str(target))


def _load(spark: SparkSession, folder: Path, file: Path) -> LoadCommit:
    async def load() -> LoadCommit:
        lake = await Lake.create(LocalStore(str(folder), create=True))
        await lake.create_pool("logs", parse(["ts:time"]), actor=ACTOR)
        repository = await lake.open_repository("logs")
        try:
            return await load_files(
                repository, lake.place, "main", [local_file(file)], actor=ACTOR, where=LoadContext(spark)
            )
        finally:
            await repository.close()
            await lake.close()

    return asyncio.run(load())


def _cpu() -> float:
    """Of this process and all below it, with those that have ended."""
    used: dict[int, float] = {}
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        id = int(stat.parent.name)
        parents[id] = int(fields[1])
        used[id] = sum(map(int, fields[11:15])) / _TICK
    return sum(seconds for id, seconds in used.items() if _is_below(id, parents))


def _is_below(id: int, parents: dict[int, int]) -> bool:
    while id not in (0, os.getpid()):
        id = parents.get(id, 0)
    return id != 0


if __name__ == "__main__":
    main()
