"""Lists files outside the lake in tasks of Spark: they list spans of a bucket, or read parts of an inventory, and Spark
sorts the files that they found.

    spans, parts ──▶ files ──▶ Spark's sort by path ──▶ runs on the store ──▶ ranges (`import_ranges.py`) ──▶ one commit
    └─── driver ──┘  └───────────────────────────── tasks ─────────────────────────────────────────────┘  └─ driver ─┘

The driver holds names and counts. Only if the branch has objects between the new paths, or something is staged, does it
compare them itself, and then it has a few runs at a time.

Tasks do the same as the embedded engine does in one process (`versioning/bodies`), so the list is the same on every
engine. A run is a file like any other that a job makes before it lands: its name carries the job's mint (G1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor
from lochan.errors import Invalid, NotFound
from lochan.formats import run
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.inventory import PartFormat
from lochan.formats.run import RunRef, ascends
from lochan.ids import Ids
from lochan.jobs.import_ranges import range_tasks, rows_of_cuts, write_on_spark
from lochan.jobs.job_entries import read_run
from lochan.jobs.messages import EntryRun, TaskMessage, reports_errors
from lochan.jobs.tasks import frame_of, run_tasks
from lochan.staging.runs import FOLDER
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.tree.assemble import STANDARD
from lochan.versioning import bulk
from lochan.versioning.bodies.file_list import PIECE
from lochan.versioning.bodies.inventory import (
    SAMPLE,
    InventoryPart,
    check_files,
    inventory_parts,
    read_part,
)
from lochan.versioning.bodies.list_spans import ListSpan, list_spans
from lochan.versioning.bodies.listed_files import LOCATED_SCHEMA, FileAddresses, as_entries
from lochan.versioning.bodies.outside_files import OutsideFiles, OutsideFolder
from lochan.versioning.heads.imports import ImportFolder, ListedRanges, Seen, place_of
from lochan.versioning.job_hold import run_prefix
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = "path string, address string, size long, etag string, mtime long"
_RUN_ROWS = 1 << 18  # rows of one run, which a task and the driver hold in memory: 100 MB
_SPANS_PER_CORE = 4
_LEVEL = 1
_AHEAD = 2  # runs that are read before they are needed


class ListTask(msgspec.Struct, frozen=True, array_like=True):
    """A span of a bucket, or a part of an inventory."""

    root: str
    prefix: str
    to: str
    after: str = ""
    upto: str | None = None
    part: tuple[str, str, int, str] | None = None  # root, path, size and MD5 of an inventory's part
    format: tuple[str, tuple[str, ...], bool, bool] | None = None
    checks: int = 0  # files that are checked on the store; -1 for all
    single: bool = False  # whether it is one file, whose whole name the prefix is


class ImportTarget(NamedTuple):
    """The information that all tasks share. It can be pickled."""

    place: StoreLocation  # the place of the lake
    repository_id: str
    mint: int
    stores: Mapping[str, StoreLocation]  # the stores outside the lake, by their roots


async def list_tasks(outside: OutsideFiles, sources: Sequence[ImportFolder], cores: int) -> list[ListTask]:
    """Returns the tasks. Raises Invalid, NotFound or Refused."""
    tasks: list[ListTask] = []
    for source in sources:
        at = await place_of(outside, source)
        if at.single:
            tasks.append(ListTask(at.root, at.prefix, source.to, single=True))
            continue
        if source.inventory:
            target = at.addresses(source.to)
            parts = await inventory_parts(outside, source.inventory, target)
            checks = -1 if source.verify else max(1, SAMPLE // len(parts))
            tasks += [_part_task(part, target, checks) for part in parts]
            continue
        wanted = 1 if at.is_local else _SPANS_PER_CORE * cores
        spans = await list_spans(at.store, at.prefix, wanted)
        tasks += [ListTask(at.root, at.prefix, source.to, span.after, span.upto) for span in spans]
    return tasks


def _part_task(part: InventoryPart, target: FileAddresses, checks: int) -> ListTask:
    about = part.root, part.path, part.size, part.md5
    form = part.format.format, part.format.columns, part.format.encoded, part.format.packed
    return ListTask(target.root, target.prefix, target.to, part=about, format=form, checks=checks)


def roots_of(tasks: Iterable[ListTask]) -> set[str]:
    return {root for task in tasks for root in (task.root, task.part[0] if task.part else task.root)}


def list_on_spark(spark: SparkSession, target: ImportTarget, tasks: Sequence[ListTask], seen: Seen) -> list[EntryRun]:
    """Lists the files as runs that follow each other in path order. It calls into the JVM, so a program with an event
    loop must call it on a thread. Raises Invalid for two files at one path, NotFound if there are none, and the errors
    of tasks."""
    from lochan.jobs.messages import error_of
    from lochan.jobs.spread import cache_frame

    frame = frame_of(spark, [msgspec.msgpack.encode(task) for task in tasks])
    listed = frame.mapInArrow(partial(_list_files, target), _COLUMNS)
    with cache_frame(listed):
        try:
            count = listed.count()
        except Exception as error:  # any error of the JVM
            raise error_of(error) from error
        if not count:
            raise NotFound("there is nothing to import under the places given", hint="are they folders?")
        seen(count)
        ordered = listed.repartitionByRange(max(1, -(-count // _RUN_ROWS)), "path").sortWithinPartitions("path")
        messages = run_tasks(ordered, partial(_write_runs, target))
    return sorted((made for message in messages for made in message.runs), key=lambda made: made.run.min_path.encode())


def cut_on_spark(spark: SparkSession, target: ImportTarget, runs: Sequence[EntryRun]) -> ListedRanges:
    """Writes all files of the runs as ranges on the store. It blocks and raises as `list_on_spark` does."""
    return ListedRanges(write_on_spark(spark, target, range_tasks(runs, STANDARD)), target.mint)


def _list_files(target: ImportTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lists the files of a task."""
    with reports_errors(), asyncio.Runner() as runner:
        clock, ids = SystemClock(), Ids()
        stores = {root: open_on_executor(place, clock, ids) for root, place in target.stores.items()}
        for batch in batches:
            for data in batch.column("task").to_pylist():
                tables = _files(msgspec.msgpack.decode(data, type=ListTask), stores)
                while (table := runner.run(_next(tables))) is not None:
                    yield from table.combine_chunks().to_batches()


async def _next(tables: AsyncIterator[pa.Table]) -> pa.Table | None:
    return await anext(tables, None)


async def _files(task: ListTask, stores: Mapping[str, Store]) -> AsyncIterator[pa.Table]:
    store, addresses = stores[task.root], FileAddresses(task.root, task.prefix, task.to)
    if task.part is None or task.format is None:
        folder = OutsideFolder(task.root, task.prefix, store, task.single)
        span = ListSpan(task.after, task.upto)
        async for table in folder.files(task.to) if task.single else folder.span(span, task.to):
            yield addresses.located(table)
        return
    root, path, size, md5 = task.part
    part = InventoryPart(root, path, PartFormat(*task.format), size, md5)
    left = task.checks
    async for table in read_part(stores[root], part, addresses):
        if left:
            checked = table if left < 0 else table.take(np.arange(0, len(table), max(1, len(table) // left)))
            await check_files(store, addresses, checked)
            left = min(left, 0)
        yield addresses.located(table)


def _write_runs(target: ImportTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Writes a task's part of the sorted list."""
    with reports_errors():
        clock, ids = SystemClock(), Ids()
        store = open_on_executor(target.place, clock, ids)
        held: list[pa.RecordBatch] = []
        last = ""
        for batch in batches:
            held.append(batch)
            if sum(each.num_rows for each in held) >= _RUN_ROWS:
                message, last = _put(target, store, held, last, ids.ksuid(clock.wall()))
                yield message
                held = []
        if any(each.num_rows for each in held):
            yield _put(target, store, held, last, ids.ksuid(clock.wall()))[0]


def _put(
    target: ImportTarget, store: Store, batches: list[pa.RecordBatch], last: str, id: str
) -> tuple[TaskMessage, str]:
    files = pa.Table.from_batches(batches).select(LOCATED_SCHEMA.names).cast(LOCATED_SCHEMA).combine_chunks()
    paths = files["path"].combine_chunks()
    first = paths[0].as_py()
    if not ascends(paths) or first == last:
        twice = first if first == last else _twice(paths)
        raise Invalid(f"two files would become the object {twice!r}", hint="an inventory lists each file once")
    data = run.encode(bulk.puts(as_entries(files)))
    id = f"{run_prefix(target.mint)}{id}"
    file = f"{FOLDER}/{id}-{target.mint}.parquet"
    asyncio.run(store.put(f"{target.repository_id}/{file}", data))
    ref = RunRef(id, file, _LEVEL, len(files), 0, len(data), first, paths[-1].as_py(), target.mint)
    made = EntryRun(ref, sha256(data).digest(), target.mint, rows_of_cuts(paths, STANDARD))
    return TaskMessage(runs=(made,), put_bytes=len(data)), ref.max_path


def _twice(paths: pa.StringArray) -> str:
    import pyarrow.compute as pc

    found: str = paths[1:].filter(pc.equal(paths[:-1], paths[1:]))[0].as_py()
    return found


class RunFiles:
    """A `FileList` of runs that follow each other. It keeps only a few of them open."""

    def __init__(self, repository: OpenRepository, runs: Sequence[EntryRun]) -> None:
        self._repository = repository
        self._runs = runs
        self._highs = [made.run.max_path for made in runs]
        self._threads = for_tables()
        self._opened: dict[int, asyncio.Task[pa.Table]] = {}
        self.count = sum(made.run.count for made in runs)

    async def between(self, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
        for number, made in enumerate(self._runs):
            if self._highs[number].encode() <= after.encode():
                continue
            if upto is not None and made.run.min_path.encode() > upto.encode():
                return
            entries = await self._open(number)
            low, high = _row_after(entries, after), len(entries) if upto is None else _row_after(entries, upto)
            for start in range(low, high, PIECE):
                yield entries.slice(start, min(PIECE, high - start))

    async def _open(self, number: int) -> pa.Table:
        wanted = range(number, min(number + 1 + _AHEAD, len(self._runs)))
        for old in [each for each in self._opened if each not in wanted]:
            self._opened.pop(old).cancel()
        for each in wanted:
            if each not in self._opened:
                self._opened[each] = asyncio.ensure_future(self._read(self._runs[each]))
        return await self._opened[number]

    async def _read(self, made: EntryRun) -> pa.Table:
        table = await read_run(self._repository, made, self._threads)
        return table.select(ENTRY_SCHEMA.names)


def _row_after(entries: pa.Table, path: str) -> int:
    paths, key = entries["path"], path.encode()
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if paths[middle].as_py().encode() <= key:
            low = middle + 1
        else:
            high = middle
    return low
