"""A load on Spark from beginning to end: one commit of all files, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import STANDARD, LoadCommit, LoaderOptions, repeated_load
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import take_chunk
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import ship, spark_folder
from lochan.engines.spark.progress import Listener, context_of
from lochan.errors import NothingToDo
from lochan.formats.record import Actor
from lochan.jobs.job_commit import LandResult, land
from lochan.jobs.load.file_splits import FileSplit, rows_of, splits_of
from lochan.jobs.load.files import File, PositionedFaults, SurveyedFile
from lochan.jobs.load.key_ranges import KeyRanges, bounds_of
from lochan.jobs.load.shuffle import SPARK_SCHEMA, Received, sent, sent_faults
from lochan.jobs.load.survey import some_rows, survey
from lochan.jobs.messages import PoolTarget, TaskMessage, pool_target, reports_errors
from lochan.jobs.pool_writer import write
from lochan.jobs.tasks import on_spark, run_tasks
from lochan.pools.json_row import Faults
from lochan.store.open import StoreLocation
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import hold_key, once
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What executors do: read splits and cut their rows by key, then make objects of the rows of one part.


@dataclass(frozen=True, slots=True)
class LoadWork:
    """The same for all tasks of a load. May be pickled."""

    files: tuple[SurveyedFile, ...]
    splits: tuple[FileSplit, ...]
    target: PoolTarget
    options: LoaderOptions
    bounds: tuple[bytes, ...] = ()  # between the parts of the key

    def faults(self) -> PositionedFaults:
        return PositionedFaults(self.options.on_error, files=[seen.file for seen in self.files])


def cut(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of splits by their numbers: all rows, for the parts that they lie in."""
    target = work.target
    with reports_errors(), DuckSession(target.limits, temp=target.temp or spark_folder(), ordered=False) as session:
        room, keyed = _Room(session, work.faults()), KeyRanges(session, target.settings)
        for split in _splits(work, numbers):
            for chunk in rows_of(room, work.files[split.file], split, work.options):
                yield from sent(chunk, keyed.parts(chunk, work.bounds))
        yield from sent_faults(room.faults)


def load_part(work: LoadWork, records: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Of the rows that `cut` sent here: objects on the store."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    received = Received(chain([first], each))

    def fill(loader: Loader) -> None:
        for chunk in received.chunks():
            take_chunk(loader, chunk)

    yield from write(work.target, fill, faults=work.faults())
    yield from received.faults


def load_splits(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """If all rows are one part: no task needs to send them to another."""

    def fill(loader: Loader) -> None:
        for split in _splits(work, numbers):
            for chunk in rows_of(loader, work.files[split.file], split, work.options):
                take_chunk(loader, chunk)

    return write(work.target, fill, faults=work.faults())


def _splits(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[FileSplit]:
    for batch in numbers:
        yield from (work.splits[number] for number in batch.column(0).to_pylist())


@dataclass(slots=True)
class _Room:
    session: DuckSession
    faults: Faults

    @property
    def folder(self) -> Path:
        return Path(self.session.folder)


_OBJECTS = 4  # the text of so many bytes, for each of an object, is one part: objects are packed
_PART_BYTES_MAX = 1 << 30
_PART_BYTES_MIN = 8 << 20  # less is not worth a task: to start one costs PySpark 0.15 s, whatever it does
_PIECE_BYTES_MIN, _PIECE_BYTES_MAX = 16 << 20, 128 << 20
_PARTS_MAX = 4_096
_PARALLEL = 8  # where nobody says
_SPOTS = 64
_BATCH_BYTES = 32 << 20


class LoadContext(NamedTuple):
    """Where a load runs, and who listens."""

    spark: SparkSession
    listener: Listener | None = None
    tag: str = "lochan-load"
    about: str = "load"
    wrote: Callable[[int], None] | None = None  # is told how many bytes tasks put to the store


class LoadSizes(NamedTuple):
    """How much is the work of one task; 0: as it seems best."""

    part_bytes: int = 0  # of rows, as text
    piece_bytes: int = 0  # of files


DEFAULT_SIZES = LoadSizes()


@once(repeated_load)
async def load_files(
    repository: OpenRepository,
    place: StoreLocation,
    branch: str,
    files: Sequence[File],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    where: LoadContext,
    options: LoaderOptions = STANDARD,
    sizes: LoadSizes = DEFAULT_SIZES,
) -> LoadCommit:
    """`place` is where the lake is. Raises Invalid for input that is no rows, NothingToDo if there are none,
    Conflict for a file that was changed meanwhile, and what landing raises."""
    target = await pool_target(repository, place, branch)
    await hold_key(repository, actor)
    work = partial(_written, where.spark, target, files, options._replace(advance=STANDARD.advance), sizes)
    messages = await on_spark(where.spark, work, tag=where.tag, about=where.about, listener=where.listener)
    if where.wrote is not None:
        where.wrote(sum(message.put_bytes for message in messages))
    landed = await land(repository, branch, messages, message, actor=actor)
    return loaded_of(landed, options)


def loaded_of(landed: LandResult, options: LoaderOptions) -> LoadCommit:
    if not landed.commit:
        raise NothingToDo("there are no rows to load", hint="nothing was changed")
    faults = Faults(options.on_error, landed.faults, list(landed.first_faults))
    return LoadCommit(
        landed.commit, landed.rows, landed.paths.to_pylist(), landed.size_bytes, faults, landed.unparsed_times
    )


def _written(
    spark: SparkSession, target: PoolTarget, files: Sequence[File], options: LoaderOptions, sizes: LoadSizes
) -> list[TaskMessage]:
    """What tasks wrote."""
    ship(spark)
    return _run(spark, planned(survey(files, options.format), target, options, sizes, parallel=_parallel(spark)))


def planned(
    files: Sequence[SurveyedFile], target: PoolTarget, options: LoaderOptions, sizes: LoadSizes, *, parallel: int
) -> LoadWork:
    """Into which splits and parts the work is cut."""
    size, rows_bytes = sum(seen.file.size for seen in files), sum(seen.rows_bytes for seen in files)
    split = sizes.piece_bytes or max(_PIECE_BYTES_MIN, min(size // parallel, _PIECE_BYTES_MAX))
    work = LoadWork(tuple(files), tuple(splits_of(files, split)), target, options)
    parts = _parts(rows_bytes, sizes.part_bytes or _part_bytes(target), parallel)
    return work if parts == 1 else replace(work, bounds=_bounds(files, target, options, parts))


def _part_bytes(target: PoolTarget) -> int:
    return max(_PART_BYTES_MIN, min(_OBJECTS * target.settings.size_bytes, _PART_BYTES_MAX))


def _parts(rows_bytes: int, part_bytes: int, parallel: int) -> int:
    least = min(part_bytes, _PART_BYTES_MIN)
    return min(max(1, -(-rows_bytes // part_bytes), min(parallel, rows_bytes // least)), _PARTS_MAX)


def _bounds(files: Sequence[SurveyedFile], target: PoolTarget, options: LoaderOptions, parts: int) -> tuple[bytes, ...]:
    with DuckSession(Limits(target.limits.memory_bytes, threads=1), ordered=False) as session:
        keyed = KeyRanges(session, target.settings)
        chunks = some_rows(files, max(_SPOTS, 4 * parts), target.settings, typed=options.typed)
        return tuple(bounds_of([key for chunk in chunks for key in keyed.keys(chunk)], parts))


def _run(spark: SparkSession, work: LoadWork) -> list[TaskMessage]:
    count, parts = len(work.splits), len(work.bounds) + 1
    if parts == 1:
        return run_tasks(spark.range(0, count, 1, 1), partial(load_splits, work))
    # A record holds many rows: not as many records as there may be rows go to a task at once.
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_BATCH_BYTES))
    records = spark.range(0, count, 1, count).mapInArrow(partial(cut, work), SPARK_SCHEMA)
    return run_tasks(records.repartitionById(parts, "part"), partial(load_part, work))


def _parallel(spark: SparkSession) -> int:
    context = context_of(spark)
    return _PARALLEL if context is None else max(1, int(context.defaultParallelism))
