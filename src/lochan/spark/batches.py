"""Spark's batches of a stream, each as one commit.

The commit carries the id of Spark's query, which its checkpoint keeps, and the number of the batch. What Spark plays
again after a stop is found by these and not done twice: before its rows are written, and once more on the very head
that the commit goes on from.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pyarrow as pa

from lochan.engines.compact import CompactRequest
from lochan.jobs.job_commit import BatchName, LandResult, land, landed_before
from lochan.jobs.messages import TaskMessage, reports_errors
from lochan.jobs.pool_writer import write_rows
from lochan.jobs.streams.compaction import CompactionSchedule, compact_stream
from lochan.jobs.target import TASK_MEMORY_BYTES, PoolTarget, pool_target
from lochan.jobs.tasks import run_tasks
from lochan.lake import Lake
from lochan.spark.lakes import LakePlace, on_lake, patient
from lochan.store.counts import RequestCounts
from lochan.versioning.heads.moves import NOTHING, CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
Write = Callable[[PoolTarget, Iterable[pa.RecordBatch]], Iterator[TaskMessage]]
Tell = Callable[[int, LandResult], None]

QUERY_ID = "sql.streaming.queryId"  # what Spark calls it in the properties of a task


class Destination(NamedTuple):
    place: LakePlace
    pool: str
    branch: str
    said: CommitMessage = NOTHING
    compact: bool = True  # behind the stream
    size_bytes: int = 0  # of objects that a compaction makes; 0: the pool's own
    memory_bytes: int = TASK_MEMORY_BYTES  # of one task


class Left(Exception):
    """Ends a stream between two batches."""


@dataclass
class Batches:
    """For `foreachBatch`. May be pickled until the first batch has come."""

    to: Destination
    checkpoint: str  # the stream's own
    write: Write = write_rows  # what a task does with its rows
    tell: Tell | None = None
    leaving: bool = False  # no batch that comes from now on is begun
    counts: RequestCounts | None = None  # of what this process asks of the lake's store
    _query: str = ""
    _behind: Behind | None = field(default=None, repr=False)

    def __call__(self, frame: DataFrame, number: int) -> None:
        if self.leaving:  # the one before has come to its end; this one will be played again
            raise Left
        with reports_errors():
            landed = self._land(frame, number)
        if self._behind is not None:
            self._behind.landed(landed)
        if self.tell is not None:
            self.tell(number, landed)

    def stop(self) -> None:
        """When no more batches come: what was merged behind them is finished."""
        behind = self._behind or (self._follow(0) if self.to.compact else None)
        if behind is not None:
            behind.stop()

    def _land(self, frame: DataFrame, number: int) -> LandResult:
        self._query = self._query or query_of(frame.sparkSession, self.checkpoint)
        once = BatchName(self._query, number)
        begun = self._on_lake(lambda lake: _begin(lake, self.to, once))
        if self._behind is None and self.to.compact:
            self._behind = self._follow(begun.target.settings.size_bytes)
        if begun.commit is not None:
            return LandResult(begun.commit, again=True)
        messages = run_tasks(frame, partial(self.write, begun.target))
        return self._on_lake(lambda lake: _land(lake, self.to, messages, once))

    def _on_lake(self, work: Callable[[Lake], Awaitable[T]]) -> T:
        return patient(lambda: on_lake(self.to.place, work, self.counts))

    def _follow(self, size_bytes: int) -> Behind:
        return Behind(self.to, CompactionSchedule(self.to.size_bytes or size_bytes), self.counts)


class _Begun(NamedTuple):
    target: PoolTarget
    commit: str | None  # that it landed by, before


async def _begin(lake: Lake, to: Destination, once: BatchName) -> _Begun:
    repository = await lake.open_repository(to.pool)
    try:
        target = await pool_target(repository, to.place.store, to.branch, memory_bytes=to.memory_bytes)
        return _Begun(target, await landed_before(repository, to.branch, once))
    finally:
        await repository.close()


async def _land(lake: Lake, to: Destination, messages: list[TaskMessage], once: BatchName) -> LandResult:
    repository = await lake.open_repository(to.pool)
    try:
        return await land(repository, to.branch, messages, to.said, actor=to.place.actor, once=once)
    finally:
        await repository.close()


def query_of(spark: SparkSession, checkpoint: str) -> str:
    """The id of the stream, from where Spark itself keeps it: behind Connect nothing else tells it."""
    found = spark.read.text(f"{plain_path(checkpoint)}/metadata").collect()
    return str(json.loads("".join(line.value for line in found))["id"])


def plain_path(path: str) -> str:
    """Spark takes a path for a pattern."""
    return "".join(f"\\{each}" if each in "\\*?[]{}" else each for each in path)


def query_of_task() -> str:
    """Raises AssertionError outside of a stream."""
    from pyspark import TaskContext

    task = TaskContext.get()
    found = None if task is None else task.getLocalProperty(QUERY_ID)
    assert found, "Spark tells each task which stream it works for"
    return str(found)


class Behind:
    """Merges small objects on a thread of its own, one round at a time, while batches go on."""

    def __init__(self, to: Destination, rhythm: CompactionSchedule, counts: RequestCounts | None) -> None:
        self._to = to
        self._rhythm = rhythm
        self._counts = counts
        self._round: threading.Thread | None = None

    def landed(self, landed: LandResult) -> None:
        wish = self._rhythm.landed(landed.size_bytes) if landed.entries else None
        if wish is not None and (self._round is None or not self._round.is_alive()):
            self._round = threading.Thread(target=self._tend, args=(wish,), name="lochan-compact", daemon=True)
            self._round.start()

    def stop(self) -> None:
        if self._round is not None:
            self._round.join()
        self._tend(CompactRequest(size_bytes=self._to.size_bytes), last=True)

    def _tend(self, wish: CompactRequest, *, last: bool = False) -> None:
        to = self._to
        on_lake(
            to.place,
            lambda lake: compact_stream(lake.queries(), to.pool, to.branch, wish, actor=to.place.actor, last=last),
            self._counts,
        )
