"""The data source's way to write: tasks write objects, and the commit names those that tasks told of.

Spark calls `commit` in a process of its own, once. If it fails `abort` is called with the same messages, though the
commit may have landed: so `abort` takes nothing away. What nobody names is garbage, and is collected as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lochan.formats.job import JobRecord
from lochan.jobs.job_commit import LandResult
from lochan.jobs.messages import TaskFailed, decode, encode
from lochan.jobs.record import end_silent
from lochan.lake import Lake
from lochan.spark.job import WriteJob
from lochan.spark.lakes import on_lake
from lochan.store.counts import RequestCounts


@dataclass
class Wrote(WriterCommitMessage):
    messages: list[bytes]


class JobWriter(DataSourceArrowWriter):
    def __init__(self, job: WriteJob, record: JobRecord) -> None:
        self._job = job
        self._record = record

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Wrote:
        try:
            return Wrote([encode(message) for message in self._job.write(iterator)])
        except TaskFailed as failed:  # nobody translates it: Spark shows it as it is
            raise failed.__cause__ or failed from None

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        wrote = (decode(data) for each in messages if isinstance(each, Wrote) for data in each.messages)
        self._job.land(wrote, RequestCounts(), self._tell)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Only tells; of a commit that failed that was done."""
        if None in messages:
            with suppress(Exception):
                on_lake(self._job.place, lambda lake: self._tell(lake, TaskFailed()))

    async def _tell(self, lake: Lake, how: LandResult | Exception) -> None:
        await end_silent(lake, self._record, how)
