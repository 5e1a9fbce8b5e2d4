"""Runs a task's work on each partition of a frame. Nothing but messages comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lochan.engines.spark.package import ship
from lochan.formats.entry import Entry
from lochan.jobs.failing import explained
from lochan.jobs.messages import SPARK_SCHEMA, Message, as_batches, from_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TASK_BYTES = 64 << 20

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[Message]]


def shared_out(entries: Iterable[Entry]) -> Iterator[tuple[Entry, ...]]:
    """As much as one task reads each time; an entry is never cut."""
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
    """A partition for each task, which has it in the column `task`."""
    numbers = pa.array(range(len(tasks)), pa.int32())
    frame = spark.createDataFrame(pa.table({"number": numbers, "task": pa.array(tasks, pa.binary())}))
    return frame.repartitionById(max(1, len(tasks)), "number")


def numbered(frame: DataFrame) -> DataFrame:
    """Its columns as c0, c1, …: Spark looks for each by its name as for a path, in which dots and backticks mean
    something, and in most sessions without regard to case."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def run_tasks(frame: DataFrame, work: Work) -> list[Message]:
    """`work` goes to the executors: a function of a module that they have too, or a `partial` of one. A call into the
    JVM: whoever has an event loop waits for it on a thread. Raises what a task raised."""

    names = frame.columns

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return as_batches(work(batch.rename_columns(names) for batch in batches))

    try:
        ship(frame.sparkSession)
        table = numbered(frame).mapInArrow(of_partition, SPARK_SCHEMA).toArrow()
    except Exception as error:  # whatever a JVM comes up with
        raise explained(error) from error
    return from_table(table)
