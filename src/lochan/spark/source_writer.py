"""The data source's way to write: tasks write objects, and the commit names those that tasks told of.

Spark calls `commit` in a process of its own, once. If it fails `abort` is called with the same messages, though the
commit may have landed: so `abort` takes nothing away. What nobody names is garbage, and is collected as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lochan.jobs.failing import TaskFailed
from lochan.jobs.messages import decode, encode
from lochan.spark.job import Job


@dataclass
class Wrote(WriterCommitMessage):
    messages: list[bytes]


class JobWriter(DataSourceArrowWriter):
    def __init__(self, job: Job) -> None:
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        try:
            return Wrote([encode(message) for message in self._job.write(iterator)])
        except TaskFailed as failed:  # nobody translates it: Spark shows it as it is
            raise failed.__cause__ or failed from None

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._job.land(decode(data) for each in messages if isinstance(each, Wrote) for data in each.messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        pass
