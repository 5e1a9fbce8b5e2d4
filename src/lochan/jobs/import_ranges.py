"""Cuts runs of listed files into the ranges of a tree, in tasks of Spark. The driver holds names, counts, and the rows
after which a cut is possible.

    runs       ├──────1──────┤├──────2──────┤├──────3──────┤     each task reported which of its rows may end a range
    ranges     ├───a───┤├───b────┤├──c──┤├────d────┤├──e──┤     the driver counts; a task writes some of them

A range begins where the one before it ends, so the cuts follow from these rows and the counts alone. The first begins
with the first file, as if nothing were before it: the code that puts the ranges into a tree opens those whose cuts are
elsewhere there (`tree/assemble.py`)."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor
from lochan.formats import bloom
from lochan.formats import range as ranges
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.range import RangeRef
from lochan.ids import Ids
from lochan.jobs.job_entries import decoded_run
from lochan.jobs.messages import EntryRun, reports_errors
from lochan.jobs.tasks import run_on_bytes
from lochan.store.checked_reads import get_checked
from lochan.store.protocol import Store
from lochan.tree.assemble import RangeCut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.jobs.import_files import ImportTarget

_HASHED_AT_ONCE = 8_192


class RangePart(msgspec.Struct, frozen=True, array_like=True):
    """Rows of a run."""

    run: EntryRun
    start: int
    stop: int


class RangeTask(msgspec.Struct, frozen=True, array_like=True):
    """Ranges that follow each other, each with the rows that it is made of."""

    ranges: tuple[tuple[RangePart, ...], ...]


def rows_of_cuts(paths: pa.StringArray, cut: RangeCut) -> tuple[int, ...]:
    """Returns the rows whose path may end a range."""
    found: list[int] = []
    for low in range(0, len(paths), _HASHED_AT_ONCE):
        hashes = bloom.hash_all(paths[low : low + _HASHED_AT_ONCE])
        found += (np.flatnonzero(hashes % np.uint64(cut.modulus) == 0) + low).tolist()
    return tuple(found)


def range_tasks(runs: Sequence[EntryRun], cut: RangeCut) -> list[RangeTask]:
    """Returns the tasks. Each has the ranges that begin in one run. REQUIRES: the runs follow each other in path
    order."""
    starts = np.concatenate([[0], np.cumsum([made.run.count for made in runs])]).tolist()
    tasks: dict[int, list[tuple[RangePart, ...]]] = {}
    for begin, end in _spans(runs, starts, cut):
        parts = _parts(runs, starts, begin, end)
        tasks.setdefault(_run_of(starts, begin), []).append(parts)
    return [RangeTask(tuple(each)) for each in tasks.values()]


def _spans(runs: Sequence[EntryRun], starts: Sequence[int], cut: RangeCut) -> Iterator[tuple[int, int]]:
    """Yields the first and last row of each range, counted through all runs."""
    ends = [start + row + 1 for start, made in zip(starts, runs, strict=False) for row in made.cuts]
    begin, total = 0, starts[-1]
    while begin < total:
        at = bisect_left(ends, begin + cut.least)
        end = min(ends[at] if at < len(ends) else total, begin + cut.most, total)
        yield begin, end
        begin = end


def _parts(runs: Sequence[EntryRun], starts: Sequence[int], begin: int, end: int) -> tuple[RangePart, ...]:
    parts = []
    number = _run_of(starts, begin)
    while number < len(runs) and starts[number] < end:
        low, high = max(begin - starts[number], 0), min(end, starts[number + 1]) - starts[number]
        parts.append(RangePart(runs[number], low, high))
        number += 1
    return tuple(parts)


def _run_of(starts: Sequence[int], row: int) -> int:
    return bisect_left(starts, row + 1) - 1


def write_on_spark(spark: SparkSession, target: ImportTarget, tasks: Sequence[RangeTask]) -> tuple[RangeRef, ...]:
    """Writes the ranges, and returns them in path order. It calls into the JVM, so a program with an event loop must
    call it on a thread. Raises Corrupt or Gone."""
    encoded = [msgspec.msgpack.encode(task) for task in tasks]
    answers = run_on_bytes(spark, partial(_write_ranges, target), encoded)
    found = [ref for answer in answers for ref in msgspec.msgpack.decode(answer, type=list[RangeRef])]
    return tuple(sorted(found, key=lambda ref: ref.min_path.encode()))


def _write_ranges(target: ImportTarget, tasks: Iterable[bytes]) -> Iterator[bytes]:
    """Writes the ranges of a task. If it runs twice, it writes the same files again."""
    with reports_errors(), asyncio.Runner() as runner:
        store = open_on_executor(target.place, SystemClock(), Ids())
        for data in tasks:
            task = msgspec.msgpack.decode(data, type=RangeTask)
            yield msgspec.msgpack.encode(runner.run(_put_ranges(target, store, task)))


async def _put_ranges(target: ImportTarget, store: Store, task: RangeTask) -> list[RangeRef]:
    opened: dict[str, pa.Table] = {}
    made = []
    for parts in task.ranges:
        opened = {part.run.run.file: await _open_run(target, store, part.run, opened) for part in parts}
        tables = [opened[part.run.run.file].slice(part.start, part.stop - part.start) for part in parts]
        entries = pa.concat_tables(tables).combine_chunks()
        id = ranges.content_id(entries)
        ref = ranges.refer(entries, target.mint, id)
        await store.put(f"{target.repository_id}/{ref.file}", ranges.encode(entries, id))
        made.append(ref)
    return made


async def _open_run(target: ImportTarget, store: Store, made: EntryRun, opened: dict[str, pa.Table]) -> pa.Table:
    held = opened.get(made.run.file)
    if held is not None:
        return held
    path = f"{target.repository_id}/{made.run.file}"

    async def decode(data: bytes) -> pa.Table:
        return decoded_run(data, made, f"run {path} in {store.url}")

    return (await get_checked(store, path, decode)).select(ENTRY_SCHEMA.names)
