"""A load on Spark from beginning to end: either one commit of all files, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.load.load import STANDARD, LoadCommit, LoaderOptions, repeated_load
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import Chunk, ReadContext, take_chunk
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import TASK_MEMORY_BYTES, ship, spark_folder, task_memory
from lochan.engines.spark.progress import Listener, context_of
from lochan.errors import NothingToDo
from lochan.formats.record import Actor
from lochan.jobs.job_commit import LandResult, land
from lochan.jobs.load.file_splits import FileSplit, TaskRoom, rows_of, splits_in_task, splits_of, tasks_of
from lochan.jobs.load.files import File, Stores, SurveyedFile, stores_of
from lochan.jobs.load.key_ranges import KeyRanges, bounds_of
from lochan.jobs.load.key_sample import KeySampler, take_samples
from lochan.jobs.load.positions import PositionedFaults, check_count, with_positions
from lochan.jobs.load.shuffle import SPARK_SCHEMA, Received, gather_chunks, records_to_send, sent_faults
from lochan.jobs.load.sizes import DEFAULT_SIZES, LoadSizes, gathered_bytes, spots_for
from lochan.jobs.load.survey import TaskRunner, survey
from lochan.jobs.messages import PoolTarget, TaskMessage, pool_target, reports_errors
from lochan.jobs.pool_writer import write
from lochan.jobs.tasks import frame_of, on_spark, run_on_bytes, run_tasks
from lochan.pools.json_row import Faults
from lochan.store.open import StoreLocation
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import hold_key, once
from lochan.versioning.job_hold import held_open
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The work of executors: read splits and cut their rows by key, then make objects of the rows of one part.


@dataclass(frozen=True, slots=True)
class LoadWork:
    """The information that all tasks of a load share. It does not grow with the number of files. It can be pickled."""

    stores: Stores
    target: PoolTarget
    options: LoaderOptions
    bounds: tuple[bytes, ...] = ()  # the bounds between the parts of the key

    def faults(self, splits: Mapping[int, FileSplit] | None = None) -> PositionedFaults:
        return PositionedFaults(self.options.on_error, stores=self.stores, splits=splits or {})


def cut(work: LoadWork, tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reads some splits. Yields all rows, each for the part that it belongs to."""
    target = work.target
    with reports_errors(), DuckSession(target.limits, temp=target.temp or spark_folder(), ordered=False) as session:
        room, keyed = TaskRoom(session, work.faults()), KeyRanges(session, target.settings)
        size = gathered_bytes(len(work.bounds), target.limits.memory_bytes)
        for task in _tasks(tasks):
            splits = {split.number: split for split in splits_in_task(task)}
            for chunk in gather_chunks(_rows(work, room, splits.values()), size):
                yield from records_to_send(chunk, keyed.parts(chunk, work.bounds), splits)
        yield from sent_faults(room.faults)


def load_part(work: LoadWork, records: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Writes the rows that `cut` sent here as objects on the store."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    received, faults = Received(chain([first], each)), work.faults()

    def fill(loader: Loader) -> None:
        for chunk in received.chunks():
            faults.splits = received.splits
            take_chunk(loader, chunk)

    yield from write(work.target, fill, faults=faults)
    yield from received.faults


def load_splits(work: LoadWork, tasks: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Loads the splits directly, if all rows are one part: no task needs to send them to another."""
    splits: dict[int, FileSplit] = {}

    def fill(loader: Loader) -> None:
        for task in _tasks(tasks):
            splits.update((split.number, split) for split in splits_in_task(task))
            for chunk in _rows(work, loader, splits_in_task(task)):
                take_chunk(loader, chunk)

    return write(work.target, fill, faults=work.faults(splits))


def _rows(work: LoadWork, room: ReadContext, splits: Iterable[FileSplit]) -> Iterator[Chunk]:
    for split in splits:
        for chunk in rows_of(room, split.surveyed(work.stores), split, work.options):
            yield with_positions(split, chunk)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        yield from batch.column("task").to_pylist()


_PARALLEL = 8  # used if the number is not known
_BATCH_BYTES = 32 << 20


class LoadContext(NamedTuple):
    """The place where a load runs, and the receivers of its progress."""

    spark: SparkSession
    listener: Listener | None = None
    tag: str = "lochan-load"
    about: str = "load"
    wrote: Callable[[int], None] | None = None  # receives the number of bytes that tasks put to the store
    memory_bytes: int | None = None  # for one task; None for the setting of the session
    job: str = ""  # the id of its record; "" if it has none

    @property
    def task_memory(self) -> int:
        """The memory of one task in bytes. Raises Invalid."""
        return self.memory_bytes or task_memory(self.spark) or TASK_MEMORY_BYTES


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
    """Loads the files by one commit. `place` is the lake's place. Raises Invalid for input that is not rows,
    NothingToDo if there are none, Conflict for a file that was changed meanwhile, and the errors of landing."""
    memory = await asyncio.to_thread(lambda: where.task_memory)
    target = await pool_target(repository, place, branch, memory_bytes=memory)
    await hold_key(repository, actor)
    job = where.job or repository.ids.ksuid(repository.clock.wall())
    async with held_open(repository, job, target.mint, branch, actor=actor) as closes:
        work = partial(_write, where.spark, target, files, options._replace(advance=STANDARD.advance), sizes)
        messages = await on_spark(where.spark, work, tag=where.tag, about=where.about, listener=where.listener)
        if where.wrote is not None:
            where.wrote(sum(message.put_bytes for message in messages))
        landed = await land(repository, branch, messages, message, actor=actor, closes=closes)
    return load_commit(landed, options)


def load_commit(landed: LandResult, options: LoaderOptions) -> LoadCommit:
    if not landed.commit:
        raise NothingToDo("there are no rows to load", hint="nothing was changed")
    faults = Faults(options.on_error, landed.faults, list(landed.first_faults))
    return LoadCommit(
        landed.commit, landed.rows, landed.paths.to_pylist(), landed.size_bytes, faults, landed.unparsed_times
    )


def _write(
    spark: SparkSession, target: PoolTarget, files: Sequence[File], options: LoaderOptions, sizes: LoadSizes
) -> list[TaskMessage]:
    """Runs the tasks, and returns their messages."""
    ship(spark)
    run = partial(run_on_bytes, spark)
    plan = plan_load(survey(files, options.format, run), target, options, sizes, parallel=_parallel(spark), run=run)
    return _run(spark, plan)


class LoadPlan(NamedTuple):
    work: LoadWork
    tasks: list[bytes]  # the splits that each task reads


def plan_load(
    files: Sequence[SurveyedFile],
    target: PoolTarget,
    options: LoaderOptions,
    sizes: LoadSizes,
    *,
    parallel: int,
    run: TaskRunner,
) -> LoadPlan:
    """Divides the work into splits and parts. Raises Invalid, Conflict or Refused."""
    stores = stores_of(seen.file for seen in files)
    split_bytes = sizes.splits(sum(seen.file.size for seen in files), parallel)
    splits = splits_of(files, split_bytes, stores)
    check_count(len(splits))
    work, tasks = LoadWork(stores, target, options), tasks_of(splits, split_bytes)
    rows_bytes = sum(seen.rows_bytes for seen in files)
    parts = sizes.parts(rows_bytes, target.settings.size_bytes, parallel)
    if parts == 1:
        return LoadPlan(work, tasks)
    sampler = KeySampler(stores, target.settings, options, target.limits.memory_bytes)
    samples = take_samples(sampler, splits, spots_for(parts), run)
    parts = sizes.parts(int(sum(samples.values())), target.settings.size_bytes, parallel)
    return LoadPlan(replace(work, bounds=tuple(bounds_of(samples, parts))), tasks)


def _run(spark: SparkSession, plan: LoadPlan) -> list[TaskMessage]:
    work, tasks = plan
    if not work.bounds:
        return run_tasks(frame_of(spark, tasks).coalesce(1), partial(load_splits, work))
    # A record holds many rows, so fewer records than the usual number of rows go to a task at once.
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_BATCH_BYTES))
    records = frame_of(spark, tasks).mapInArrow(partial(cut, work), SPARK_SCHEMA)
    return run_tasks(records.repartitionById(len(work.bounds) + 1, "part"), partial(load_part, work))


def _parallel(spark: SparkSession) -> int:
    context = context_of(spark)
    return _PARALLEL if context is None else max(1, int(context.defaultParallelism))
