"""A stream of Spark into a pool, a commit for each batch.

    query = lochan.spark.ingest(frames, "logs@main", checkpoint="/var/lib/logs-in", every_s=10)

If it is stopped or killed at any moment and started again with the same checkpoint, it continues where it was: no row
is lost, and none comes twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lochan.api.spark_tasks import is_remote
from lochan.connection import spark_lake
from lochan.errors import Invalid
from lochan.spark.write_frame import check_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from lochan.api.spark_tasks import BatchListener

EVERY_S = 10.0


def ingest(
    frame: DataFrame,
    uri: str,
    *,
    checkpoint: str | os.PathLike[str],
    every_s: float = EVERY_S,
    available_now: bool = False,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    compact: str | bool = "driver",
    tell: BatchListener | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Starts the stream. At most one commit comes in `every_s` seconds; with `available_now` it ends when all existing
    rows were read. `compact` chooses where small objects are merged: in the `driver`, by tasks of `spark`, or nowhere
    (`none`); True and False mean the first and the last. `tell` is called after each batch. Raises errors that occur
    before the first batch: a pool that does not exist, or a column that no row can store."""
    if not frame.isStreaming:
        raise Invalid("this frame is no stream", hint="lochan.spark.write takes it as it is")
    check_schema(frame.schema)
    address = spark_lake(lake, options)
    opened = address.connect(counted=True)  # until the stream has ended
    try:
        stream = opened.frames.stream(
            uri,
            checkpoint=os.fspath(checkpoint),
            every_s=every_s,
            available_now=available_now,
            message=message,
            metadata=metadata,
            compact=compact,
            listener=tell,
            elsewhere=address if is_remote(frame.sparkSession) else None,
        )
        return stream.start(frame, opened.close)
    except BaseException:
        opened.close()
        raise
