"""A stream whose batches a function of the user handles, with writes into a lake that happen once.

    def handle(rows, batch):
        batch.write(rows.where("status >= 500"), "errors@main")
        batch.write(rows.groupBy("host").count(), "counts@main")

    query = lochan.spark.foreach_batch(frames, handle, checkpoint="/var/lib/by-status")

Each write is one commit of its own, which carries the id of the stream and the number of the batch. Spark calls the
function again for a batch that may not be complete; then writes that have landed are found, and the others are carried
out. A frame that is written to several pools is computed for each, unless the function caches it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lochan.api.options import CommitOptions
from lochan.connection import LakeAddress, spark_lake
from lochan.errors import Invalid
from lochan.spark.write_frame import check_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from lochan.api.spark_tasks import LandResult

    Handle = Callable[["DataFrame", "LakeBatch"], None]

EVERY_S = 10.0


def foreach_batch(
    frame: DataFrame,
    handle: Handle,
    *,
    checkpoint: str | os.PathLike[str],
    every_s: float = EVERY_S,
    available_now: bool = False,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Starts the stream. `handle` is called with the rows of each batch and a LakeBatch, which writes them. A batch
    begins at the earliest `every_s` seconds after the one before; with `available_now` the stream ends when all
    existing rows were read. Raises Invalid for a frame that is not a stream."""
    from lochan.api.spark_tasks import ship

    if not frame.isStreaming:
        raise Invalid("this frame is no stream", hint="lochan.spark.write takes it as it is")
    ship(frame.sparkSession)
    function = BatchFunction(spark_lake(lake, options), os.fspath(checkpoint), handle)
    writer = frame.writeStream.foreachBatch(function).option("checkpointLocation", function.checkpoint)
    if available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(1, round(every_s * 1_000))} milliseconds").start()


@dataclass
class BatchFunction:
    """The function for `foreachBatch`. It can be pickled if the user's function can."""

    address: LakeAddress
    checkpoint: str
    handle: Handle
    _query: str = ""

    def __call__(self, frame: DataFrame, number: int) -> None:
        from lochan.api.spark_tasks import query_of

        self._query = self._query or query_of(frame.sparkSession, self.checkpoint)
        self.handle(frame, LakeBatch(self.address, self._query, number))


@dataclass
class LakeBatch:
    """One batch of a stream."""

    address: LakeAddress = field(repr=False)
    query: str  # the id of the stream, which its checkpoint keeps
    number: int
    _written: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def write(
        self,
        frame: DataFrame,
        uri: str,
        *,
        name: str = "",
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        spread: bool = True,
        parts: int | None = None,
    ) -> LandResult:
        """Adds the rows to a pool, once for each batch. A second write to the same branch needs a `name`, and must have
        that name whenever the batch is played again. `spread` and `parts` are as in `lochan.spark.write`. Raises an
        error for rows that cannot be stored."""
        check_schema(frame.schema)
        job = f"{self.query}/{name}" if name else self.query
        with self.address.connect(counted=True) as lake:
            begun = lake.frames.write(uri, CommitOptions(message=message, metadata=metadata or {}))
            self._check(begun.job.is_pool, begun.job.about, name)
            before = begun.find_batch(job, self.number)
            if before is not None:
                return before
            return begun.land_batch(job, self.number, begun.job.run(frame, spread=spread, parts=parts))

    def _check(self, is_pool: bool, about: str, name: str) -> None:
        if not is_pool:
            hint = "`lochan create POOL` makes a pool"
            raise Invalid("streams go into pools, and this repository holds files", hint=hint)
        if (about, name) in self._written:
            hint = "give each of its writes a `name` of its own"
            raise Invalid(f"batch {self.number} was written to {about} before", hint=hint)
        self._written.add((about, name))
