"""Spark's batches of a stream, each as one commit.

The commit carries the id of Spark's query, which its checkpoint keeps, and the number of the batch. A batch that Spark
plays again after a stop is found by these and not done twice. This is checked before its rows are written, and again on
the head that the commit is based on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from lochan.engines.spark.executors import TASK_MEMORY_BYTES
from lochan.engines.spark.scan import literal_path
from lochan.errors import Invalid
from lochan.formats.record import Actor
from lochan.jobs.compaction_plan import CompactRequest
from lochan.jobs.job_commit import BatchName, LandResult, earlier_commit
from lochan.jobs.messages import PoolTarget, TaskMessage, reports_errors
from lochan.jobs.record import JobReporter
from lochan.jobs.streams.compaction import DRIVER, NOWHERE, CompactionSchedule, compact_stream, compaction_options
from lochan.jobs.tasks import run_tasks
from lochan.jobs.write import JobLake, WriteJob, WriteRequest, begin, land_job, patiently
from lochan.pools.json_row import FAIL
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.job_hold import give_up
from lochan.versioning.uri import Uri, on_branch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")
Write = Callable[[PoolTarget, Iterable[pa.RecordBatch]], Iterator[TaskMessage]]
BatchListener = Callable[[int, LandResult], None]


class StreamLake(Protocol):
    """Does one piece of work on the lake, from any thread."""

    def run(self, work: Callable[[JobLake], Awaitable[T]]) -> T: ...


class StreamJobOptions(NamedTuple):
    every_s: float = 10.0  # the least time from one commit to the next
    once: bool = False  # whether only rows are read that exist when it starts
    on_error: str = FAIL
    message: CommitMessage = NOTHING
    memory_bytes: int = TASK_MEMORY_BYTES  # for one task
    compact: str = DRIVER  # where small objects are merged while the stream runs
    size_bytes: int = 0  # the size of objects that a compaction makes; 0 for the pool's own


DEFAULT_STREAM = StreamJobOptions()


class StreamTarget(NamedTuple):
    """The branch that the batches come to, and the options of the commits. It can be pickled if its lake can."""

    lake: StreamLake
    pool: str
    branch: str
    actor: Actor
    options: StreamJobOptions = DEFAULT_STREAM

    @property
    def about(self) -> str:
        return f"{self.pool}@{self.branch}"

    def request(self, batch: BatchName | None = None) -> WriteRequest:
        uri = Uri(self.pool, self.branch, "")
        options = self.options
        return WriteRequest(uri, self.actor, options.message, batch=batch, memory_bytes=options.memory_bytes)


async def checked_branch(lake: JobLake, uri: Uri) -> str:
    """Returns the branch that a stream goes to. Raises NotFound, Refused if the repository is not a pool, and Invalid
    if the URI is not a branch."""
    from lochan.jobs.messages import pool_target

    if uri.path:
        raise Invalid(f"{uri} names files, and streams go into pools", hint="such as logs@main")
    repository = await lake.open_repository(uri.repository)
    try:
        branch = on_branch(uri).ref or repository.repository.default_branch
        await pool_target(repository, lake.place, branch)
        return branch
    finally:
        await repository.close()


def reporting(report: JobReporter, listener: BatchListener | None, *, by_tasks: bool = True) -> BatchListener:
    """Returns a listener that adds each batch to the record of the stream, and then calls the given one. With
    `by_tasks`, other processes put the rows to the store; what this process puts is counted by its store."""
    rows = 0

    def both(number: int, landed: LandResult) -> None:
        nonlocal rows
        rows += landed.rows
        report.rows(rows)
        if by_tasks:
            report.wrote(landed.put_bytes)
        if listener is not None:
            listener(number, landed)

    return both


class Left(Exception):
    """Ends a stream between two batches."""


@dataclass
class Batches:
    """The function for `foreachBatch`. It can be pickled until the first batch has come."""

    target: StreamTarget
    checkpoint: str  # the checkpoint of the stream
    write: Write | None = None  # the work of a task on its rows; None for rows of the pool
    listener: BatchListener | None = None
    leaving: bool = False  # whether further batches are not begun
    _query: str = ""
    _compactor: StreamCompactor | None = field(default=None, repr=False)

    def start(self, frame: DataFrame) -> StreamingQuery:
        writer = frame.writeStream.foreachBatch(self).option("checkpointLocation", self.checkpoint)
        options = self.target.options
        if options.once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{max(1, round(options.every_s * 1_000))} milliseconds").start()

    def __call__(self, frame: DataFrame, number: int) -> None:
        if self.leaving:  # the batch before has landed; this one will be played again
            raise Left
        with reports_errors():
            landed = self._land(frame, number)
        if self._compactor is not None:
            self._compactor.landed(landed, frame.sparkSession)
        if self.listener is not None:
            self.listener(number, landed)

    def stop(self, spark: SparkSession) -> None:
        """Finishes the merges that run behind the batches. Call it when no more batches come."""
        if self._compactor is None and self.target.options.compact != NOWHERE:
            self._compactor = StreamCompactor(self.target, 0)
        if self._compactor is not None:
            self._compactor.stop(spark)

    def _land(self, frame: DataFrame, number: int) -> LandResult:
        self._query = self._query or query_of(frame.sparkSession, self.checkpoint)
        lake, batch = self.target.lake, BatchName(self._query, number)
        job, before = lake.run(lambda lake: patiently(lambda: _begin(lake, self.target, batch)))
        assert isinstance(job.target, PoolTarget)
        if self._compactor is None and self.target.options.compact != NOWHERE:
            self._compactor = StreamCompactor(self.target, job.target.settings.size_bytes)
        if before is not None:
            return LandResult(before, again=True)
        write = job.write if self.write is None else partial(self.write, job.target)
        messages = run_tasks(frame, write)
        return lake.run(lambda lake: land_job(lake, job, messages))


async def _begin(lake: JobLake, target: StreamTarget, batch: BatchName) -> tuple[WriteJob, str | None]:
    """Begins the batch. Returns its job, and the commit if it landed before."""
    job = await begin(lake, target.request(batch))
    repository = await lake.open_repository(target.pool)
    try:
        before = await earlier_commit(repository, target.branch, batch)
        if before is not None:
            await give_up(repository, job.hold, actor=job.actor)
        return job, before
    finally:
        await repository.close()


def query_of(spark: SparkSession, checkpoint: str) -> str:
    """Returns the id of the stream, from Spark's own checkpoint: behind Connect it is available nowhere else."""
    found = spark.read.text(f"{literal_path(checkpoint)}/metadata").collect()
    return str(json.loads("".join(line.value for line in found))["id"])


class StreamCompactor:
    """Merges small objects on a thread of its own, one round at a time, while batches go on. `size_bytes` is the size
    that an object of the pool should have."""

    def __init__(self, target: StreamTarget, size_bytes: int) -> None:
        self._target = target
        self._schedule = CompactionSchedule(target.options.size_bytes or size_bytes)
        self._round: threading.Thread | None = None

    def landed(self, landed: LandResult, spark: SparkSession) -> None:
        request = self._schedule.landed(landed.size_bytes) if landed.objects else None
        if request is not None and (self._round is None or not self._round.is_alive()):
            work = partial(self._compact, request, spark)
            self._round = threading.Thread(target=work, name="lochan-compact", daemon=True)
            self._round.start()

    def stop(self, spark: SparkSession) -> None:
        if self._round is not None:
            self._round.join()
        self._compact(CompactRequest(size_bytes=self._target.options.size_bytes), spark, last=True)

    def _compact(self, request: CompactRequest, spark: SparkSession, *, last: bool = False) -> None:
        to = self._target
        chosen = compaction_options(to.options.compact, session=spark)
        compact = partial(compact_stream, actor=to.actor, options=chosen, last=last)
        to.lake.run(lambda lake: compact(lake.queries(), to.pool, to.branch, request))
