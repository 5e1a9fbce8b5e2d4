"""Finds the rows that differ between two commits on the engine that fits: DuckDB, unless so much differs that it is
worth starting Spark.

On Spark, executors read the entries that differ and write each row as a line; equal lines, or those of one key, meet in
one task.

    entries ──▶ lines, each with the number of its bucket ──▶ the lines of one bucket, compared ──▶ a frame
    └──────────────────── tasks ────────────────┘   shuffle   └────────────── tasks ─────────┘

A task compares in the same way as the embedded engine, so both find the same differences. The driver sees counts and a
sample."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.choice import SPARK, engine_for
from lochan.engines.duckdb.diff_rows import FOUND, find, part_lines, place_parts, with_side
from lochan.engines.duckdb.diff_rows import diff_rows as embedded
from lochan.engines.duckdb.files import files_of
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.query_context import QueryContext
from lochan.engines.row_diff import statements
from lochan.engines.row_diff.result import SAMPLE, RowChange, RowDiff, check_keys
from lochan.engines.row_diff.result import SCHEMA as FOUND_SCHEMA
from lochan.engines.row_diff.sides import LEFT, RIGHT, RowDiffRequest, Sides, sides_of
from lochan.engines.run_query import NOBODY
from lochan.engines.spark.executors import open_on_executor, ship, spark_folder, task_limits
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, listener_of
from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.jobs.load.key_ranges import Parts
from lochan.jobs.load.shuffle import SPARK_SCHEMA, Received, records_to_send
from lochan.jobs.messages import error_of, reports_errors
from lochan.jobs.record import record_job
from lochan.jobs.tasks import frame_of, on_spark, split_entries
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FRAME = "{found}"  # the name of a frame in Spark's SQL
_BUCKET_BYTES = 16 << 20  # bytes of files whose rows one task compares
_BUCKETS_LEAST, _BUCKETS_MOST = 4, 10_000
_FOUND_SCHEMA = "change string, times bigint, key string, before string, after string, lefts bigint, rights bigint"
_FEW = "8"  # tasks that count and sort the differences


class DiffOptions(NamedTuple):
    engine: str = "auto"
    limits: Limits = STANDARD
    spark: SparkPlace = ANY_SPARK
    sample: int = SAMPLE  # how many rows are shown
    actor: Actor = NOBODY  # the user of the comparison
    watch: Listener | None = None  # receives the progress of Spark


DEFAULT_DIFF = DiffOptions()


async def diff_rows(
    repository: OpenRepository,
    at: QueryContext,
    request: RowDiffRequest,
    options: DiffOptions = DEFAULT_DIFF,
) -> RowDiff:
    """Compares the rows of two commits. Raises NotFound, Invalid for a bad key or files that are not rows, Gone, and
    Refused if Spark does not start."""
    sides = await sides_of(repository, request)
    if engine_for(options.engine, sides.size_bytes, options.spark, options.limits) != SPARK:
        return await embedded(repository, sides, at.files, options.limits, sample=options.sample)
    from lochan.engines.spark.session import session_at

    about = f"{sides.name(LEFT)} {sides.name(RIGHT)}"
    with record_job(repository, "diff", about, actor=options.actor, where=options.spark.where) as report:
        spark = session_at(options.spark, options.limits)
        spark.conf.set("spark.sql.shuffle.partitions", _FEW)
        work = partial(diff_rows_on_spark, spark, at.place, sides, sample=options.sample)
        listener = listener_of(report, options.watch)
        found = await on_spark(spark, work, tag=f"lochan-diff-{report.id}", about=f"diff {about}", listener=listener)
        report.rows(sum(found.counts.values()))
        return found


class DiffTask(msgspec.Struct, frozen=True, array_like=True):
    """Some entries of one side."""

    side: int
    entries: tuple[Entry, ...]


class DiffReading(NamedTuple):
    """The information that an executor needs to read them. It can be pickled; the credentials of the store are never
    printed."""

    place: StoreLocation
    sides: Sides  # without entries, because each task has its own
    buckets: int
    limits: Limits


def diff_rows_on_spark(spark: SparkSession, place: StoreLocation, sides: Sides, *, sample: int = SAMPLE) -> RowDiff:
    """Compares the rows on Spark. Raises Invalid for a key that is not unique and for files that are not rows, and
    Gone."""
    found = differences(spark, place, sides).persist()
    try:
        return _outcome(spark, found, sides, sample)
    except LochanError:
        found.unpersist()
        raise
    except Exception as error:  # any error of the JVM
        found.unpersist()
        raise error_of(error) from error


def _outcome(spark: SparkSession, found: DataFrame, sides: Sides, sample: int) -> RowDiff:
    ask = partial(_query_found, spark, found)
    counts = dict(ask(statements.counts(_FRAME)))
    if counts.keys() & {statements.KEYLESS, statements.REPEATED}:
        check_keys(sides, ask(statements.wrong(_FRAME)))
    first = [RowChange(*row) for row in ask(statements.first(_FRAME, sample))] if sample else []
    return RowDiff(sides, "spark", counts, first, partial(_batches, found), partial(_forget, found), found)


def differences(spark: SparkSession, place: StoreLocation, sides: Sides) -> DataFrame:
    """Returns the frame of `statements.differences`. Nothing is read yet."""
    ship(spark)
    tasks = [DiffTask(side, lot) for side in (LEFT, RIGHT) for lot in split_entries(sides.entries[side])]
    buckets = min(max(_BUCKETS_LEAST, sides.size_bytes // _BUCKET_BYTES), _BUCKETS_MOST)
    reading = DiffReading(place.for_others(), replace(sides, entries=((), ())), buckets, task_limits(spark))
    each = frame_of(spark, [msgspec.msgpack.encode(task) for task in tasks])
    rows = each.mapInArrow(partial(_send_lines, reading), SPARK_SCHEMA)
    return rows.repartitionById(buckets, "part").mapInArrow(partial(_find_differences, reading), _FOUND_SCHEMA)


def _send_lines(reading: DiffReading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the lines of some entries, for their buckets. It runs on an executor."""
    with reports_errors(), _session(reading) as session:
        for batch in batches:
            for data in batch.column("task").to_pylist():
                for rows in _lines(reading, _decoder.decode(data)):
                    yield from records_to_send(rows, _buckets(session, rows, reading))


def _lines(reading: DiffReading, task: DiffTask) -> Iterator[pa.RecordBatch]:
    sides = reading.sides
    store = open_on_executor(reading.place, SystemClock(), Ids())
    with tempfile.TemporaryDirectory(prefix="lochan-", dir=spark_folder()) as folder:
        reader = BodyReader(store, OutsideFiles(partial(_open_outside, reading.place)))
        placed = place_parts(sides, task.side, task.entries, reader, files_of(store), Path(folder))
        for batch in part_lines(asyncio.run(placed), sides.is_pool, sides.keys, reading.limits):
            yield with_side(task.side, batch)


def _buckets(session: DuckSession, rows: pa.RecordBatch, reading: DiffReading) -> Parts:
    """Returns the bucket of each row, by the engine's own hash, which does not depend on the machine. Rows without the
    key share a bucket."""
    by = "ident" if reading.sides.keys else "line"
    with session.registered("lines", rows):
        found = session.table(f"SELECT (coalesce(hash({by}), 0) % {reading.buckets})::INTEGER AS bucket FROM lines")
    buckets: Parts = found["bucket"].to_numpy()
    return buckets


def _find_differences(reading: DiffReading, records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the differences among the lines that were sent here. It runs on an executor."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    with reports_errors(), _session(reading) as session:
        find(session, _rows(chain([first], each)), keyed=bool(reading.sides.keys))
        for batch in session.stream(f"FROM {FOUND}"):
            yield batch.cast(FOUND_SCHEMA)


def _rows(records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for chunk in Received(records).chunks():
        assert isinstance(chunk, pa.RecordBatch)
        yield chunk


def _session(reading: DiffReading) -> DuckSession:
    return DuckSession(reading.limits, folders=[], temp=spark_folder(), ordered=True)


def _open_outside(place: StoreLocation, url: str) -> Store:
    """Opens a store outside the lake, with the lake's own keys."""
    return place.at(url).open(clock=SystemClock(), ids=Ids())


def _query_found(spark: SparkSession, found: DataFrame, statement: str) -> list[list[Any]]:
    return [list(row.values()) for row in spark.sql(statement, found=found).toArrow().to_pylist()]


def _forget(found: DataFrame) -> None:
    found.unpersist()


def _batches(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    return iter(frame.toArrow().to_batches())


_decoder = msgspec.msgpack.Decoder(DiffTask)
