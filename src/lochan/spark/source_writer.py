"""How the data source writes: tasks write objects, and the commit names those that the tasks reported.

Spark calls `commit` in a process of its own, once. If it fails, `abort` is called with the same messages, although the
commit may have landed, so `abort` deletes nothing. Objects that nothing names are garbage, and are collected.

    frames.writeStream.format("lochan").option("checkpointLocation", …).start("logs@main")

A stream's batch is one commit, named by the stream and the number of the batch. Only tasks know which stream they work
for, so their messages contain it. `lochan.spark.ingest` does the same in the driver, does not write again what had
landed, and merges small objects behind the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from lochan.api.spark_tasks import TaskFailed, decode_message, encode_message, query_of_task
from lochan.connection import LakeAddress

if TYPE_CHECKING:
    from lochan.api.spark_tasks import TaskMessage, WriteJob


@dataclass
class WrittenPart(WriterCommitMessage):
    """What a task reports about its rows."""

    messages: list[bytes]
    query: str = ""  # the stream that it works for


class JobWriter(DataSourceArrowWriter):
    def __init__(self, address: LakeAddress, job: WriteJob) -> None:
        self._address = address
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        return WrittenPart(_write(self._job, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with self._address.connect(counted=True) as lake:
            lake.frames.begun(self._job).land(_decode(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Aborts the job only if a task has failed. If the commit failed, that has been reported already."""
        if None in messages:
            with suppress(Exception), self._address.connect(counted=True) as lake:
                lake.frames.begun(self._job).abort()


class NoWriter(DataSourceArrowWriter):
    """Writes nothing: the place has rows already, and the mode is to leave them."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        return WrittenPart([])

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """There is nothing to commit."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """There is nothing to abort."""


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream. Spark makes one for each batch, so that its files carry a fresh number."""

    def __init__(self, address: LakeAddress, job: WriteJob) -> None:
        self._address = address
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        return WrittenPart(_write(self._job, iterator), query_of_task())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        query = next((each.query for each in messages if isinstance(each, WrittenPart)), None)
        if query is not None:
            with self._address.connect(counted=True) as lake:
                lake.frames.begun(self._job).land_batch(query, batchId, _decode(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Removes nothing: the commit may have landed, although Spark does not know it."""


def _write(job: WriteJob, rows: Iterator[pa.RecordBatch]) -> list[bytes]:
    try:
        return [encode_message(message) for message in job.write(rows)]
    except TaskFailed as failed:  # Spark shows it unchanged
        raise failed.__cause__ or failed from None


def _decode(messages: list[WriterCommitMessage | None]) -> list[TaskMessage]:
    return [decode_message(data) for each in messages if isinstance(each, WrittenPart) for data in each.messages]
