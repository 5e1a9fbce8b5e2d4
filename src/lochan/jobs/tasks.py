"""Runs work on Spark: on a thread of its own, so that a waiting caller can be cancelled, and on each partition of a
frame. Only messages come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from lochan.engines.spark.executors import keep_archives_read, ship
from lochan.engines.spark.job import Tagged
from lochan.engines.spark.progress import Listener, Watch
from lochan.formats.entry import Entry
from lochan.jobs.messages import SPARK_SCHEMA, TaskMessage, as_batches, error_of, from_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TASK_BYTES = 64 << 20

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[TaskMessage]]
T = TypeVar("T")

_AGAIN_S = 0.5


def split_entries(entries: Iterable[Entry]) -> Iterator[tuple[Entry, ...]]:
    """Yields lots of entries, each as large as one task reads at a time. An entry is never cut."""
    held: list[Entry] = []
    size = 0
    for entry in entries:
        if held and size + entry.size > _TASK_BYTES:
            yield tuple(held)
            held, size = [], 0
        held.append(entry)
        size += entry.size
    if held:
        yield tuple(held)


def frame_of(spark: SparkSession, tasks: Sequence[bytes]) -> DataFrame:
    """Returns a frame with a partition for each task, which has it in the column `task`."""
    numbers = pa.array(range(len(tasks)), pa.int32())
    frame = spark.createDataFrame(pa.table({"number": numbers, "task": pa.array(tasks, pa.binary())}))
    return frame.repartitionById(max(1, len(tasks)), "number")


def number_columns(frame: DataFrame) -> DataFrame:
    """Renames the columns to c0, c1, …: Spark looks up each name as a path, in which dots and backticks have a meaning,
    and in most sessions without regard to case."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def run_tasks(frame: DataFrame, work: Work) -> list[TaskMessage]:
    """Runs `work` on the executors: a function of a module that they have too, or a `partial` of one. It calls into the
    JVM, so a program with an event loop must call it on a thread. Raises the errors of tasks."""

    names = frame.columns

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_archives_read()
        return as_batches(work(batch.rename_columns(names) for batch in batches))

    try:
        ship(frame.sparkSession)
        table = number_columns(frame).mapInArrow(of_partition, SPARK_SCHEMA).toArrow()
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error
    return from_table(table)


def run_on_bytes(
    spark: SparkSession, work: Callable[[Iterable[bytes]], Iterator[bytes]], tasks: Sequence[bytes]
) -> list[bytes]:
    """Does the same for work on bytes that returns bytes, in any order. `work` must be small: it goes to each task."""

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_archives_read()
        given = (task for batch in batches for task in batch.column("task").to_pylist())
        for result in work(given):
            yield pa.RecordBatch.from_pydict({"result": pa.array([result], pa.binary())})

    try:
        ship(spark)
        table = frame_of(spark, tasks).mapInArrow(of_partition, "result binary").toArrow()
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error
    found: list[bytes] = table["result"].to_pylist()
    return found


async def on_spark(
    spark: SparkSession, work: Callable[[], T], *, tag: str, about: str, listener: Listener | None = None
) -> T:
    """Runs the work on a thread, and stops it on Spark if it is cancelled. `tag` must be a name that no other work has;
    `about` is the name of its stages in Spark; the listener receives its progress."""
    tagged = Tagged(spark, tag, about)

    def begun() -> T:
        tagged.begin()
        return work()

    watch = None if listener is None else Watch(spark, tag, listener)
    with ThreadPoolExecutor(1) as threads:  # Spark's data about a thread ends with it
        task = asyncio.get_running_loop().run_in_executor(threads, begun)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():  # repeatedly, because it may just be about to start the next job
                tagged.stop()
                await asyncio.wait([task], timeout=_AGAIN_S)
            task.exception()  # it was stopped on purpose, so its error does not matter
            raise
        finally:
            if watch is not None:
                await asyncio.to_thread(watch.end)
