"""A stream of Spark into a pool, a commit for each batch.

    query = lochan.spark.ingest(frames, "logs@main", checkpoint="/var/lib/logs-in", every_s=10)

Stopped or killed at any moment and started again with the same checkpoint, it goes on where it was: no row is lost, and
none comes twice.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from lochan.engines.spark.scan import is_remote
from lochan.errors import Invalid
from lochan.jobs.job_commit import LandResult
from lochan.jobs.messages import error_of
from lochan.jobs.record import JobReporter
from lochan.lake import Lake
from lochan.spark.batches import Batches, Destination, Tell
from lochan.spark.job_report import record_location, where
from lochan.spark.lakes import LakePlace, found_lake, on_lake
from lochan.spark.schemas import check_schema
from lochan.store.counts import RequestCounts
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.uri import Uri, on_branch, prefix_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EVERY_S = 10.0
_PATIENCE_S = 30.0


def ingest(
    frame: DataFrame,
    uri: str,
    *,
    checkpoint: str | os.PathLike[str],
    every_s: float = EVERY_S,
    available_now: bool = False,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    compact: bool = True,
    tell: Tell | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Starts it. At most one commit comes in `every_s` seconds; with `available_now` it ends when all that is there was
    read. `compact` merges the small objects that it leaves; `tell` is called after each batch. Raises what shows before
    the first batch: a pool that is not there, a column that no row can keep."""
    if not frame.isStreaming:
        raise Invalid("this frame is no stream", hint="lochan.spark.write takes it as it is")
    check_schema(frame.schema)
    place, at = found_lake(lake, options), prefix_uri(uri)
    to = destination(place, at, CommitMessage(message, metadata or {}), compact=compact)
    batches = Batches(to, os.fspath(checkpoint), tell=tell)
    run = _record(frame.sparkSession, batches)
    try:
        query = start(frame, batches, every_s=every_s, available_now=available_now)
    except BaseException as error:
        run.failed(error)
        raise
    behind = threading.Thread(target=_ended, args=(query, batches, run), name="lochan-ingest", daemon=True)
    behind.start()
    atexit.register(_leave, query, behind)
    return query


def _leave(query: StreamingQuery, behind: threading.Thread) -> None:
    """Of a program that ends as soon as its stream has."""
    with suppress(Exception):  # Spark may have ended before
        if not query.isActive:
            behind.join(_PATIENCE_S)


def _record(spark: SparkSession, batches: Batches) -> JobReporter:
    """What `lochan jobs` shows of it. Behind Connect the batches are handled elsewhere, and nobody here counts them."""
    to = batches.to
    if not is_remote(spark):
        batches.counts = RequestCounts()
    run = JobReporter(
        record_location(to.place, batches.counts), "ingest", f"{to.pool}@{to.branch}", to.place.actor, where(spark)
    )
    if not is_remote(spark):
        batches.tell = _both(run, batches.tell)
    return run


def _both(run: JobReporter, tell: Tell | None) -> Tell:
    rows = 0

    def told(number: int, landed: LandResult) -> None:
        nonlocal rows
        rows += landed.rows
        run.rows(rows)
        run.wrote(landed.put_bytes)
        if tell is not None:
            tell(number, landed)

    return told


def _ended(query: StreamingQuery, batches: Batches, run: JobReporter) -> None:
    """Waits for it, to merge what is left of small objects then."""
    why: Exception | None = None
    try:
        query.awaitTermination()
    except Exception as error:  # why it ended is told to who asks the query
        why = error
    if batches.to.compact:
        with suppress(Exception):
            batches.stop()
    if why is None:
        run.end()
    else:
        run.failed(error_of(why))


def destination(place: LakePlace, uri: Uri, said: CommitMessage, *, compact: bool = True) -> Destination:
    """Raises NotFound, Refused for what is no pool, Invalid for what is no branch."""
    if uri.path:
        raise Invalid(f"{uri} names files, and streams go into pools", hint="such as logs@main")
    return on_lake(place, lambda lake: _checked(lake, place, on_branch(uri), said, compact))


async def _checked(lake: Lake, place: LakePlace, uri: Uri, said: CommitMessage, compact: bool) -> Destination:
    from lochan.jobs.target import pool_target

    repository = await lake.open_repository(uri.repository)
    try:
        branch = uri.ref or repository.repository.default_branch
        await pool_target(repository, place.store, branch)
        return Destination(place, uri.repository, branch, said, compact)
    finally:
        await repository.close()


def start(
    frame: DataFrame,
    batches: Batches,
    *,
    every_s: float = EVERY_S,
    available_now: bool = False,
) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(batches).option("checkpointLocation", batches.checkpoint)
    if available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(1, round(every_s * 1_000))} milliseconds").start()
