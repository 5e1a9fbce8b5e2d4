"""A folder, a socket or made-up rows into a pool, by Spark's batches."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lochan.cli.error_boundary import about_repository
from lochan.cli.ingest.stream_request import BatchReporter, StreamRequest
from lochan.errors import Invalid, NotFound, Refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from lochan.clock import Clock
    from lochan.config.load import Config
    from lochan.ids import Ids
    from lochan.jobs.job_commit import LandResult
    from lochan.spark.batches import Batches, Destination, Write
    from lochan.store.protocol import Store

_POLL_S = 1
_FILES = "path string, modificationTime timestamp, length long, content binary"  # as Spark names them
_FOREVER = "36500d"  # Spark forgets older files, and would leave out those that it has not read yet


def follow(request: StreamRequest) -> None:
    from lochan.cli.session import configuration, run
    from lochan.connection import spark_place
    from lochan.engines.duckdb.limits import STANDARD
    from lochan.engines.spark.package import ship
    from lochan.engines.spark.session import session_at
    from lochan.jobs.messages import error_of
    from lochan.jobs.record import recorded
    from lochan.spark.batches import Batches
    from lochan.spark.ingest_stream import start
    from lochan.store.counts import counts_of

    config = configuration()
    every_s, where = request.every_s, spark_place(config, request.master)
    if where.remote:
        raise Refused("a stream needs its driver here, not behind Spark Connect", hint="name a cluster by --master")
    source = _source(request)
    into = run(config, _into(config, request))
    to = into.to
    uri = request.uri._replace(ref=to.branch)
    with (
        _locked(_checkpoint(request, into, source.name)) as checkpoint,
        recorded(into, "ingest", str(uri), actor=to.place.actor, where=where.where) as job,
    ):
        spark = session_at(where, STANDARD)
        ship(spark)
        shown = BatchReporter(request, uri, job)

        def tell(number: int, landed: "LandResult") -> None:
            job.wrote(landed.put_bytes)
            shown(number, landed)

        batches = Batches(to, str(checkpoint), source.write, tell, counts=counts_of(into.store))
        try:
            query = start(source.frame(spark), batches, every_s=every_s, available_now=request.once)
            _until_stopped(query, batches)
        except Exception as error:  # whatever a JVM comes up with
            raise error_of(error) from error
        batches.stop()
        shown.end()


class _Source(NamedTuple):
    name: str  # by which one is told from another, into the same pool
    kind: str
    options: dict[str, str]
    path: str | None
    write: "Write"

    def frame(self, spark: "SparkSession") -> "DataFrame":
        reader = spark.readStream.format(self.kind).options(**self.options)
        return reader.load() if self.path is None else reader.schema(_FILES).load(self.path).select("path")


def _source(request: StreamRequest) -> _Source:
    from lochan.jobs.pool_writer import write_rows
    from lochan.jobs.streams.sources import write_texts

    match request.source:
        case "folder":
            return _folder(request)
        case "socket":
            host, colon, port = request.place.rpartition(":")
            if not (colon and host and port.isascii() and port.isdecimal()):
                raise Invalid(f"{request.place!r} is no HOST:PORT", hint="such as localhost:9999")
            options = {"host": host, "port": port}
            return _Source(
                request.place, "socket", options, None, partial(write_texts, request.place, request.on_error)
            )
        case _:
            options = {"rowsPerSecond": str(request.rows_per_second)}
            return _Source("rate", "rate", options, None, write_rows)


def _folder(request: StreamRequest) -> _Source:
    from lochan.engines.duckdb.load.load import LoaderOptions
    from lochan.jobs.streams.sources import write_files
    from lochan.spark.batches import plain_path

    folder = Path(request.place).resolve()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {request.place}", hint="make it first; files may come later")
    options = {
        "maxFilesPerTrigger": str(request.files_per_batch),
        "maxFileAge": _FOREVER,
        "recursiveFileLookup": "true",
    }
    how = LoaderOptions(request.input_format, request.on_error)
    return _Source(str(folder), "binaryFile", options, plain_path(str(folder)), partial(write_files, how))


class _Into(NamedTuple):
    """Also where its record is kept."""

    to: "Destination"
    lake_id: str
    store: "Store"
    clock: "Clock"
    ids: "Ids"


async def _into(config: "Config", request: StreamRequest) -> "_Into":
    from lochan.cli.session import actor, open_engine_lake
    from lochan.jobs.target import pool_target
    from lochan.spark.batches import Destination
    from lochan.spark.lakes import LakePlace

    async with open_engine_lake(config, counted=True) as lake:
        repository = await lake.open_repository(request.uri.repository)
        about_repository(request.uri.repository)
        try:
            branch = request.uri.ref or repository.repository.default_branch
            await pool_target(repository, lake.place, branch)
        finally:
            await repository.close()
        place = LakePlace(lake.place.for_others(), config.settings.journal.postgres.url or "", actor(config))
        compact, size_bytes = request.compaction(config)
        to = Destination(place, request.uri.repository, branch, request.said, compact, size_bytes, request.memory_bytes)
        return _Into(to, lake.id, lake.store, lake.clock, lake.ids)


def _checkpoint(request: StreamRequest, into: "_Into", source: str) -> Path:
    """One for each source of each branch, where the user keeps his state."""
    if request.checkpoint:
        return Path(request.checkpoint).resolve()
    from hashlib import sha256

    from lochan.connection import state_place

    name = f"{request.source}-{sha256(source.encode()).hexdigest()[:16]}"
    branch = into.to.branch.replace("/", "%2F")
    return state_place() / "streams" / into.lake_id / f"{into.to.pool}@{branch}" / name


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """Two streams with one checkpoint would each believe to be the other."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / "lochan.lock", os.O_CREAT | os.O_RDWR)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"another stream uses the checkpoint {folder}", hint="it follows the same source; stop it first"
            ) from None
        yield folder
    finally:
        os.close(file)


def _until_stopped(query: "StreamingQuery", batches: "Batches") -> None:
    """A batch that has begun lands first; who asks twice does not want to wait, and has it again the next time."""
    with _asked() as asked:
        try:
            while not query.awaitTermination(_POLL_S):
                batches.leaving = bool(asked)
                if len(asked) > 1 or (asked and not query.status["isTriggerActive"]):
                    query.stop()
                    return
        except Exception as error:
            from lochan.spark.batches import Left

            if not (asked and f"{Left.__module__}.{Left.__qualname__}" in str(error)):
                raise


@contextmanager
def _asked() -> Iterator[list[int]]:
    """How often the user has asked it to stop."""
    asked: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: asked.append(number)) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
