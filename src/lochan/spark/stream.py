"""The data source's way to write a stream: each batch is one commit, named by the stream and the number of the batch.

    frames.writeStream.format("lochan").option("checkpointLocation", …).start("logs@main")

Only tasks are told which stream they work for, so what they wrote tells it. `lochan.spark.ingest` does the same in the
driver, does not write again what had landed, and merges small objects behind the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from lochan.errors import Invalid
from lochan.jobs.job_commit import BatchName, LandResult
from lochan.jobs.messages import TaskFailed, decode, encode
from lochan.jobs.record import add_silent_batch
from lochan.lake import Lake
from lochan.spark.batches import query_of_task
from lochan.spark.job import PoolJob, WriteJob
from lochan.store.counts import RequestCounts


@dataclass
class WroteBatch(WriterCommitMessage):
    query: str
    messages: list[bytes]


class StreamWriter(DataSourceStreamArrowWriter):
    """Spark makes one for each batch, so that its files carry a fresh number."""

    def __init__(self, job: WriteJob) -> None:
        if not isinstance(job, PoolJob):
            raise Invalid(
                "streams go into pools, and this repository holds files", hint="`lochan create POOL` makes a pool"
            )
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WroteBatch:
        try:
            return WroteBatch(query_of_task(), [encode(message) for message in self._job.write(iterator)])
        except TaskFailed as failed:  # nobody translates it: Spark shows it as it is
            raise failed.__cause__ or failed from None

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        wrote = [each for each in messages if isinstance(each, WroteBatch)]
        if wrote:
            query = wrote[0].query
            job = replace(self._job, once=BatchName(query, batchId))
            job.land(
                (decode(data) for each in wrote for data in each.messages), RequestCounts(), partial(self._tell, query)
            )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Takes nothing away: the commit may have landed, though Spark does not know it."""

    async def _tell(self, query: str, lake: Lake, how: LandResult | Exception) -> None:
        await add_silent_batch(lake, sha256(query.encode()).digest(), self._job.about, self._job.place.actor, how)
