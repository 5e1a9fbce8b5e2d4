"""Streams of Spark into a pool: one that runs in the user's own session and is finished in the background, and one that
is followed until it ends or must stop."""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.executors import ship
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import is_remote, master_of
from lochan.errors import Refused
from lochan.jobs.messages import error_of
from lochan.jobs.record import JobReporter, record_job
from lochan.jobs.streams.batches import Batches, BatchListener, Left, StreamTarget, reporting
from lochan.jobs.streams.compaction import NOWHERE
from lochan.jobs.streams.sources import SparkSource
from lochan.jobs.write import JobLake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")
_PATIENCE_S = 30.0
_POLL_S = 1


class LakeOnLoop:
    """A lake that is open on the current event loop, for code on another thread."""

    def __init__(self, lake: JobLake) -> None:
        self._lake = lake
        self._loop = asyncio.get_running_loop()

    def run(self, work: Callable[[JobLake], Awaitable[T]]) -> T:
        async def whole() -> T:
            return await work(self._lake)

        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result()


# --- in a session of the user's own ----------------------------------------------------------------------------------
class FrameStream:
    """A stream of a frame. It can be started once."""

    def __init__(self, lake: JobLake, batches: Batches) -> None:
        self._lake = lake
        self._batches = batches

    def start(self, frame: DataFrame, at_end: Callable[[], None] = lambda: None) -> StreamingQuery:
        """Starts the stream. `at_end` is called when all is done. Raises the errors that occur before the first
        batch."""
        batches, target = self._batches, self._batches.target
        report = JobReporter(self._lake, "ingest", target.about, target.actor, master_of(frame.sparkSession))
        if not is_remote(frame.sparkSession):  # behind Connect the batches are handled elsewhere
            batches.listener = reporting(report, batches.listener)
        try:
            query = batches.start(frame)
        except BaseException as error:
            report.failed(error)
            raise
        args = query, frame.sparkSession, batches, report, at_end
        thread = threading.Thread(target=_finish, args=args, name="lochan-ingest", daemon=True)
        thread.start()
        atexit.register(_leave, query, thread)
        return query


def _finish(
    query: StreamingQuery, spark: SparkSession, batches: Batches, report: JobReporter, at_end: Callable[[], None]
) -> None:
    """Waits for the end of the stream, and then merges the small objects that are left."""
    failure: Exception | None = None
    try:
        query.awaitTermination()
    except Exception as error:  # the query itself reports why it ended
        failure = error
    if batches.target.options.compact != NOWHERE:
        with suppress(Exception):
            batches.stop(spark)
    if failure is None:
        report.end()
    else:
        report.failed(error_of(failure))
    at_end()


def _leave(query: StreamingQuery, thread: threading.Thread) -> None:
    """Ends the Spark session of a program that ends when its stream does."""
    with suppress(Exception):  # Spark may have ended before
        if not query.isActive:
            thread.join(_PATIENCE_S)


# --- followed until its end ------------------------------------------------------------------------------------------
async def follow_source(
    lake: JobLake,
    source: SparkSource,
    target: StreamTarget,
    where: SparkPlace,
    checkpoint: Path,
    stop: threading.Event,
    listener: BatchListener | None = None,
) -> None:
    """Follows the source until it has ended, or `stop` is set; a batch that has begun then lands first. If it is
    cancelled, it does not wait, and that batch comes again the next time. Raises Refused if another stream has the
    checkpoint, and errors that end the stream; what landed stays."""
    from lochan.engines.spark.session import session_at

    checkpoint = await asyncio.to_thread(checkpoint.resolve)
    with (
        _lock(checkpoint),
        record_job(lake, "ingest", target.about, actor=target.actor, where=where.where) as report,
    ):
        spark = await asyncio.to_thread(session_at, where, STANDARD)
        batches = Batches(target, str(checkpoint), source.write, reporting(report, listener))
        try:
            await asyncio.to_thread(ship, spark)
            query = await asyncio.to_thread(lambda: batches.start(source.frame(spark)))
            await _wait_for_end(query, batches, stop)
        except Exception as error:  # any error of the JVM
            raise error_of(error) from error
        await asyncio.to_thread(batches.stop, spark)


def default_checkpoint(state_folder: Path, lake_id: str, target: StreamTarget, source: SparkSource) -> Path:
    """Returns the checkpoint of this source and branch, in the folder where the user keeps state."""
    name = f"{source.kind}-{sha256(source.name.encode()).hexdigest()[:16]}"
    return state_folder / "streams" / lake_id / target.about / name


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Locks the checkpoint: two streams with one checkpoint would each believe to be the other."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / "lochan.lock", os.O_CREAT | os.O_RDWR)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"another stream uses the checkpoint {folder}", hint="it follows the same source; stop it first"
            ) from None
        yield
    finally:
        os.close(file)


async def _wait_for_end(query: StreamingQuery, batches: Batches, stop: threading.Event) -> None:
    try:
        while not await asyncio.to_thread(query.awaitTermination, _POLL_S):
            batches.leaving = stop.is_set()
            if stop.is_set() and not query.status["isTriggerActive"]:
                await asyncio.to_thread(query.stop)
                return
    except asyncio.CancelledError:
        await asyncio.to_thread(query.stop)
        task = asyncio.current_task()
        if not stop.is_set() or task is None:
            raise
        task.uncancel()
    except Exception as error:
        if not (stop.is_set() and f"{Left.__module__}.{Left.__qualname__}" in str(error)):
            raise
