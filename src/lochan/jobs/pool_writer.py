"""Writes a task's rows on an executor: the embedded loader makes objects of them, which are put to the store.

So the shapes, the statistics and the order of rows are those of any other load. A task holds no more in memory than its
limit; the rest lies on its machine's disk meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.objects import WrittenObject
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import spark_folder
from lochan.formats.entry import Entry
from lochan.ids import Ids
from lochan.ingest.lines import Lines
from lochan.ingest.tabular import BATCH_ROWS
from lochan.jobs.entry_runs import spilling
from lochan.jobs.messages import PoolTarget, PutCounter, TaskMessage, reports_errors
from lochan.pools.commit_objects import ObjectWriter
from lochan.pools.json_row import FAIL, Faults

_PIECE_BYTES = 2 << 20
_BATCH_BYTES = 32 << 20


def write_rows(target: PoolTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Writes rows in typed columns, in any order."""

    def fill(loader: Loader) -> None:
        for batch in join_batches(batches):
            loader.take_batch(batch)

    return write(target, fill)


def write_lines(target: PoolTarget, lines: Iterable[Lines], *, on_error: str = FAIL) -> Iterator[TaskMessage]:
    """Writes rows that are JSON texts, in any order, with the places they come from."""

    def fill(loader: Loader) -> None:
        for chunk in lines:
            loader.take(chunk)

    return write(target, fill, on_error=on_error)


@spilling
def write(
    target: PoolTarget, fill: Callable[[Loader], None], *, on_error: str = FAIL, faults: Faults | None = None
) -> Iterator[TaskMessage]:
    """Writes all rows that `fill` gives the loader. `faults` collects the texts that are not rows, by its own policy.
    Raises TaskFailed, which `error_of` reads."""
    with (
        reports_errors(),
        DuckSession(target.limits, temp=target.temp or spark_folder(), ordered=False) as session,
        asyncio.Runner() as runner,
    ):
        clock, ids = SystemClock(), Ids()
        putting = PutCounter(target.store(clock, ids))
        writer = target.writer(putting.store, clock, ids)
        faults = Faults(on_error) if faults is None else faults
        loader = Loader(session, target.settings, faults)
        fill(loader)
        for written in loader.objects():
            target.check(written)
            yield putting.message(runner.run(put(writer, written)), written.facts.rows)
        if faults.count:
            yield TaskMessage(faults=faults.count, first_faults=tuple(faults.first))


def join_batches(batches: Iterable[pa.RecordBatch], rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Joins many small batches into a few large ones: each costs the loader a statement of its own, and Spark's have
    only 10,000 rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > rows_max or batch.schema != held[0].schema):
            yield _one(held)
            held, rows, size = [], 0, 0
        if not batch.num_rows:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if size > _BATCH_BYTES:
            yield _one(held)
            held, rows, size = [], 0, 0
    if held:
        yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


async def put(writer: ObjectWriter, written: WrittenObject) -> Entry:
    """Puts the object, and deletes its local file."""
    entry = await writer.write(file_pieces(written.file), written.facts)
    written.file.unlink()
    return entry


async def file_pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as stream:
        while piece := await asyncio.to_thread(stream.read, _PIECE_BYTES):
            yield piece
