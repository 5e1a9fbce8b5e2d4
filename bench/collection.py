"""Garbage collection of a repository with so many entries in 50 commits, on both engines, against reading the same
range files once with the same engine.

Each commit after the first replaces 400 objects, so most ranges are shared. Objects are packed, 20 to a file, as a
server packs small ones; the files are real ones on this machine's disk, and one in ten is dead. "Read" reads and checks
every range that some commit names, once: the embedded engine by itself, Spark by tasks. A plan does that, lists the
store, compares, and writes its list. Each size has a process of its own, whose memory is the driver's.

Budget: a plan takes at most three times the processor time of the reading, at a million entries: that of this process,
the JVM and the workers of Spark together. The clock tells little where others use the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.places import ACTOR
from bench.processor import family_seconds
from bench.sizes import sizes
from bench.table import show
from bench.tree import entries as hourly_entries
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.formats.repository_events import RunsStaged
from lochan.jobs.collection.run import CollectJobOptions, plan, sweep
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.tree.trees import Trees
from lochan.versioning.collection.plan import CollectionLimits
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMMITS = 50
_CHANGED = 400
_PACKED = 20
_DEAD_SHARE = 10  # one file in so many
_BUDGET = 3.0
_JUDGED = 1_000_000
_ROUNDS = 3
_AT_ONCE = CollectionLimits(grace_s=-1e9, share_max=1)
_ENGINES = ("duckdb", "spark")
_COLUMNS = {
    "engine": "engine",
    "entries": "entries",
    "files": "files",
    "read, s": "read",
    "plan, s": "plan",
    "ratio": "ratio",
    "read, cpu s": "read_cpu",
    "plan, cpu s": "plan_cpu",
    "cpu ratio": "cpu_ratio",
    "planned/s": "planned",
    "swept/s": "swept",
    "before, MiB": "before_mib",
    "peak, MiB": "peak_mib",
}


def main() -> None:
    found = [_measured(size, engine) for engine in _ENGINES for size in sizes((62_500, 250_000, 1_000_000))]
    judged = [each["cpu_ratio"] for each in found if each["entries"] >= _JUDGED]
    met = "met" if judged and max(judged) <= _BUDGET else "missed" if judged else "not judged"
    title = f"garbage collection of entries in {_COMMITS} commits (budget: {_BUDGET:g} times reading, {met})"
    show(title, list(_COLUMNS), [[each[name] for name in _COLUMNS.values()] for each in found])
    for engine in _ENGINES:
        own = [each for each in found if each["engine"] == engine]
        times = [
            f"{each['entries'] // own[0]['entries']}x: {each['plan'] / own[0]['plan']:.1f}"
            f" ({each['plan_cpu'] / own[0]['plan_cpu']:.1f} of processor time)"
            for each in own
        ]
        print(f"  time of a plan on {engine} grows by {', '.join(times)}")


def _measured(size: int, engine: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        command = [sys.executable, "-m", "bench.collection", folder, str(size), engine]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            sys.exit(made.stderr)
        return dict(json.loads(made.stdout.splitlines()[-1]))


# --- one size on one engine, in a process of its own -----------------------------------------------------------------
async def _measure(folder: Path, size: int, engine: str) -> dict[str, Any]:
    lake = await Lake.create(open_store(str(folder / "lake"), create=True))
    await lake.create_repository("bench", actor=ACTOR)
    repository = await lake.open_repository("bench")
    data = folder / "lake" / repository.repository.id / "data"
    await _fill(repository, data, size)
    spark = _session() if engine == "spark" else None
    options = CollectJobOptions(engine, session=spark)
    given = repository, lake.id, lake.place, _AT_ONCE
    files = _dead(data, size)
    await plan(*given, actor=ACTOR, options=options)  # draws the line, and warms up
    await sweep(*given, actor=ACTOR, options=options)
    before = _memory_mib()
    used = partial(family_seconds, os.getpid())
    reads, plans, sweeps = [], [], []
    read_cpu, plan_cpu = [], []
    swept = 0
    for _ in range(_ROUNDS):
        before_cpu = used()
        reads.append(await _read(repository, lake, spark))
        read_cpu.append(used() - before_cpu)
        begun, before_cpu = perf_counter(), used()
        made = await plan(*given, actor=ACTOR, options=options)
        plans.append(perf_counter() - begun)
        plan_cpu.append(used() - before_cpu)
        begun = perf_counter()
        swept = (await sweep(*given, actor=ACTOR, options=options)).files
        sweeps.append(perf_counter() - begun)
        assert swept == made.head.dead_files >= files, (swept, made.head.dead_files, files)
        _dead(data, size)
    await lake.close()
    read, planned = min(reads), min(plans)
    return {
        "engine": engine,
        "entries": size,
        "files": made.head.files,
        "read": read,
        "plan": planned,
        "ratio": planned / read,
        "read_cpu": min(read_cpu),
        "plan_cpu": min(plan_cpu),
        "cpu_ratio": min(plan_cpu) / min(read_cpu),
        "planned": made.head.files / planned,
        "swept": swept / min(sweeps),
        "before_mib": before,
        "peak_mib": _memory_mib(),
    }


def _memory_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


async def _fill(repository: OpenRepository, data: Path, size: int) -> None:
    _, mint = await repository.refs()
    rows = _placed(hourly_entries(size), repository, mint, 0)
    _files(data / f"{mint:020d}-bench", -(-size // _PACKED))
    await _commit(repository, rows, mint)
    for number in range(1, _COMMITS):
        start = number * (size - _CHANGED) // _COMMITS
        _, mint = await repository.refs()
        changed = _placed(rows.slice(start, _CHANGED), repository, mint, number)
        _files(data / f"{mint:020d}-bench", _CHANGED // _PACKED)
        await _commit(repository, changed, mint)


def _placed(rows: pa.Table, repository: OpenRepository, mint: int, number: int) -> pa.Table:
    """The entries with other content, in packs of that mint."""
    packs = np.arange(len(rows)) // _PACKED
    folder = f"{repository.repository.id}/data/{mint:020d}-bench/"
    addresses = pc.binary_join_element_wise(folder, pa.array(packs).cast(pa.string()), "")
    blocks = pc.list_flatten(rows["blocks"].combine_chunks())
    columns = [addresses, *(pc.struct_field(blocks, name) for name in ("offset", "size", "sha256"))]
    spans = pa.StructArray.from_arrays(columns, fields=list(blocks.type))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(len(rows) + 1, dtype=np.int32)), spans, type=ENTRY_SCHEMA.field("blocks").type
    )
    checksum = pc.binary_join_element_wise(rows["checksum"], str(number), "-")
    made = rows.set_column(1, ENTRY_SCHEMA.field("blocks"), lists)
    return made.set_column(3, ENTRY_SCHEMA.field("checksum"), checksum).cast(ENTRY_SCHEMA)


async def _commit(repository: OpenRepository, rows: pa.Table, mint: int) -> None:
    changes = rows.append_column(RUN_SCHEMA.field("deleted"), pa.array(np.zeros(len(rows), np.bool_)))
    runs = await repository.runs.adopt(changes.select(RUN_SCHEMA.names), mint)
    await repository.submit(ACTOR, RunsStaged("main", runs, mint))
    await commit(repository, "main", CommitRequest("bench"), actor=ACTOR)


def _files(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / str(number)).write_bytes(b"x")


def _dead(data: Path, size: int) -> int:
    """Files that nothing names, minted long ago."""
    count = size // _PACKED // _DEAD_SHARE
    _files(data / f"{1:020d}-dead", count)
    return count


# --- reading every range once ----------------------------------------------------------------------------------------
async def _read(repository: OpenRepository, lake: Lake, spark: SparkSession | None) -> float:
    begun = perf_counter()
    refs, _ = await repository.refs()
    trees = Trees(repository.store, repository.repository.id)
    ranges: dict[str, RangeRef] = {}
    for id in refs.commit_table:
        each = refs.recorded(id)
        if each.tree_file:
            ranges |= {one.file: one for one in (await trees.open(TreeRef(each.tree, each.tree_file))).ranges}
    if spark is None:
        for one in ranges.values():
            await trees.ranges.load_all(one)
        return perf_counter() - begun
    _read_on_spark(spark, lake, repository, [*ranges.values()])
    return perf_counter() - begun


def _read_on_spark(spark: SparkSession, lake: Lake, repository: OpenRepository, ranges: list[RangeRef]) -> None:
    import msgspec

    from lochan.jobs.tasks import run_on_bytes

    work = [msgspec.msgpack.encode(ranges[start : start + 4]) for start in range(0, len(ranges), 4)]
    counted = run_on_bytes(spark, partial(_count, lake.place, repository.repository.id), work)
    assert sum(map(int, counted)) == sum(each.count for each in ranges)


def _count(place: Any, repository: str, tasks: Iterable[bytes]) -> Iterator[bytes]:
    import msgspec

    from lochan.clock import SystemClock
    from lochan.ids import Ids

    trees = Trees(place.open(clock=SystemClock(), ids=Ids()), repository)

    async def read(ranges: list[RangeRef]) -> int:
        return sum([(await trees.ranges.load_all(each)).batch.num_rows for each in ranges])

    for task in tasks:
        yield str(asyncio.run(read(msgspec.msgpack.decode(task, type=list[RangeRef])))).encode()


def _session() -> SparkSession:
    from lochan.engines.duckdb.limits import STANDARD
    from lochan.engines.spark.place import SparkPlace
    from lochan.engines.spark.session import session_at

    return session_at(SparkPlace(master="local[2]"), STANDARD)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))))
