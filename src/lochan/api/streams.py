"""Endless rows that are followed into a pool: their sources and options."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from lochan.api.uri import Uri

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.jobs.job_commit import LandResult
    from lochan.jobs.streams.batches import StreamJobOptions
    from lochan.jobs.streams.sources import SparkSource

    StreamBatch: TypeAlias = LandResult
    BatchListener = Callable[[int, StreamBatch], None]  # called with the number of the batch

_MEMORY_BYTES = 512 << 20


class FolderSource(msgspec.Struct, frozen=True, kw_only=True):
    """Files that are put into a folder, and stay there. It needs Spark."""

    folder: str
    format: str | None = None  # None: it is detected from the content
    files_per_batch: int = 1_000


class SocketSource(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of JSON. They need Spark."""

    address: str  # HOST:PORT


class RateSource(msgspec.Struct, frozen=True, kw_only=True):
    """Rows for trials. They need Spark."""

    rows_per_second: int


class KafkaSource(msgspec.Struct, frozen=True, kw_only=True):
    """JSON messages of topics. The commits record how far they were read."""

    brokers: str
    topics: tuple[str, ...]
    settings: Mapping[str, str] = {}  # settings of Kafka's client
    latest: bool = False  # for a topic that was never read: reads only what arrives from now on
    go_on: bool = False  # goes on if Kafka has dropped messages that were not read


StreamSource: TypeAlias = FolderSource | SocketSource | RateSource | KafkaSource


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    every_s: float = 10.0  # the least time from one commit to the next
    once: bool = False  # reads all that is available, and ends
    on_error: str = "fail"  # what happens to input that is no row: fail, skip, or keep it as a row of its own
    message: str = ""  # the message of each commit
    metadata: Mapping[str, str] = {}
    memory_bytes: int = _MEMORY_BYTES  # the memory of one task
    compact: str | bool = "driver"  # where small data objects are merged behind the stream: driver, spark or none
    size_bytes: int = 0  # the size of objects that are merged; 0 for the pool's own
    master: str | None = None  # where Spark runs; None for where it is configured
    checkpoint: str = ""  # where Spark keeps its position; empty for a folder of its own below the next one
    state_folder: str = ""  # where the user's programs keep their state

    def for_job(self) -> StreamJobOptions:
        from lochan.jobs.streams.batches import StreamJobOptions
        from lochan.jobs.streams.compaction import compaction_place
        from lochan.versioning.heads.moves import CommitMessage

        message = CommitMessage(self.message, self.metadata)
        rest = self.memory_bytes, compaction_place(self.compact), self.size_bytes
        return StreamJobOptions(self.every_s, self.once, self.on_error, message, *rest)


class StreamRequest(NamedTuple):
    uri: Uri
    options: StreamOptions
    stop: threading.Event
    listener: BatchListener | None


async def follow(session: Session, source: StreamSource, request: StreamRequest) -> None:
    from lochan.jobs.streams.batches import checked_branch

    found = None if isinstance(source, KafkaSource) else _spark_source(source, request.options)
    branch = await checked_branch(session.lake, request.uri)  # before a broker is asked, or Spark is started
    request = request._replace(uri=request.uri._replace(ref=branch))
    if isinstance(source, KafkaSource):
        await _follow_topics(session, source, request)
    elif found is not None:
        await _follow_on_spark(session, found, request)


async def _follow_topics(session: Session, source: KafkaSource, request: StreamRequest) -> None:
    import asyncio

    from lochan.jobs.record import record_job
    from lochan.jobs.streams.batches import reporting
    from lochan.jobs.streams.kafka import TopicOptions, Topics
    from lochan.jobs.streams.topics import TopicTarget, follow_topics

    lake, actor, uri = session.lake, session.actor, request.uri
    chosen = TopicOptions(tuple(dict.fromkeys(source.topics)), source.latest, source.go_on)
    async with session.opened(uri.repository) as repository:
        with (
            record_job(lake, "ingest", str(uri), actor=actor, where=source.brokers) as report,
            await asyncio.to_thread(Topics, source.brokers, chosen, source.settings) as topics,
        ):
            target = TopicTarget(lake, repository, uri.ref, actor, session.spark(request.options.master))
            listener = reporting(report, request.listener, by_tasks=False)
            await follow_topics(topics, target, request.options.for_job(), request.stop, listener)


async def _follow_on_spark(session: Session, source: SparkSource, request: StreamRequest) -> None:
    from lochan.errors import Invalid, Refused
    from lochan.jobs.streams.batches import StreamTarget
    from lochan.jobs.streams.spark_stream import LakeOnLoop, default_checkpoint, follow_source

    lake, uri, options = session.lake, request.uri, request.options
    where = session.spark(options.master)
    if where.remote:
        raise Refused("a stream needs its driver here, not behind Spark Connect", hint="name a cluster by --master")
    target = StreamTarget(LakeOnLoop(lake), uri.repository, uri.ref, session.actor, options.for_job())
    if not (options.checkpoint or options.state_folder):
        raise Invalid("nothing says where the stream keeps how far it is", hint="name a folder as its checkpoint")
    default = default_checkpoint(Path(options.state_folder), lake.id, target, source)
    checkpoint = Path(options.checkpoint) if options.checkpoint else default
    await follow_source(lake, source, target, where, checkpoint, request.stop, request.listener)


def _spark_source(source: FolderSource | SocketSource | RateSource, options: StreamOptions) -> SparkSource:
    """Returns the source for Spark. Raises NotFound, Invalid."""
    from lochan.engines.duckdb.load.load import LoaderOptions
    from lochan.jobs.streams.sources import folder_source, rate_source, socket_source

    match source:
        case FolderSource():
            reading = LoaderOptions(source.format, options.on_error)
            return folder_source(source.folder, reading, source.files_per_batch)
        case SocketSource():
            return socket_source(source.address, options.on_error)
        case RateSource():
            return rate_source(source.rows_per_second)
