"""Follows topics of Kafka into a pool in this process: the messages of a while become one commit, which also has the
next offsets."""

from __future__ import annotations

import asyncio
import logging
import threading
from functools import partial
from typing import NamedTuple

from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.spark.place import SparkPlace
from lochan.errors import Retry
from lochan.formats.record import Actor
from lochan.jobs.compaction_plan import CompactRequest
from lochan.jobs.job_commit import BatchName, LandResult, land
from lochan.jobs.messages import PoolTarget, TaskFailed, TaskMessage, error_of, pool_target
from lochan.jobs.pool_writer import write
from lochan.jobs.streams.batches import BatchListener, StreamJobOptions
from lochan.jobs.streams.compaction import NOWHERE, CompactionSchedule, compact_stream, compaction_options
from lochan.jobs.streams.kafka import OFFSETS, Partition, StreamPosition, TopicChunk, Topics, encode_offsets, newest
from lochan.jobs.write import JobLake
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.job_hold import held_if_long
from lochan.versioning.open_repository import OpenRepository

_PAUSE_S = 0.2  # the time that a stop may take
_BATCH_BYTES = 512 << 20  # a batch of this size lands before its time is over
_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0)  # between tries to land
_log = logging.getLogger("lochan.ingest")


class TopicTarget(NamedTuple):
    lake: JobLake
    repository: OpenRepository
    branch: str
    actor: Actor
    spark: SparkPlace | None = None  # the place where small objects are merged, if that is Spark


async def follow_topics(
    topics: Topics, into: TopicTarget, options: StreamJobOptions, stop: threading.Event, listener: BatchListener
) -> None:
    """Follows the topics until `stop` is set; then what was read by then lands. Raises errors that end the stream; what
    landed stays."""
    await _Following(topics, into, options, stop, listener).run()


class _Following:
    def __init__(
        self,
        topics: Topics,
        into: TopicTarget,
        options: StreamJobOptions,
        stop: threading.Event,
        listener: BatchListener,
    ) -> None:
        self._topics, self._into, self._options = topics, into, options
        self._stop, self._listener = stop, listener
        self._clock = into.lake.clock
        self._position = StreamPosition()
        self._next: dict[Partition, int] = {}  # the next offsets after the messages that were read, landed or not
        self._upkeep: asyncio.Task[object] | None = None

    async def run(self) -> None:
        target = await self._target()
        schedule = CompactionSchedule(self._options.size_bytes or target.settings.size_bytes)
        await self._find()
        try:
            while (first := await asyncio.to_thread(self._wait)) is not None:
                deadline = self._clock.boot() + self._options.every_s
                landed = await self._batch(first, deadline)
                self._listener(self._position.batch, landed)
                if landed.objects:
                    self._compact_behind(schedule.landed(landed.size_bytes))
                await self._pause(deadline)
        except BaseException:
            if self._upkeep is not None:
                self._upkeep.cancel()  # it has changed nothing, or has landed already
            raise
        if self._upkeep is not None:
            await self._upkeep
        if self._options.compact != NOWHERE:
            await self._compact(CompactRequest(size_bytes=self._options.size_bytes), last=True)

    async def _find(self) -> None:
        """Finds the stream's position in the history of the branch."""
        refs, _ = await self._into.repository.refs()
        self._position = newest(refs.recorded, refs.branch(self._into.branch).head, self._topics.name)
        self._next = await asyncio.to_thread(self._topics.seek, self._position.offsets)

    async def _target(self) -> PoolTarget:
        into = self._into
        return await pool_target(into.repository, into.lake.place, into.branch, memory_bytes=self._options.memory_bytes)

    def _wait(self) -> TopicChunk | None:
        """Waits for the first messages of a batch. Returns None if there will be no further batch."""
        while not self._stop.is_set() and not self._done():
            chunk = self._take(_PAUSE_S)
            if chunk.lines:
                return chunk
        return None

    def _take(self, timeout_s: float) -> TopicChunk:
        chunk = self._topics.take(timeout_s)
        for part, at in chunk.offsets.items():
            self._next[part] = max(at, self._next[part])
        return chunk

    def _done(self) -> bool:
        return self._options.once and all(self._next[part] >= end for part, end in self._topics.ends.items())

    async def _batch(self, first: TopicChunk, deadline: float) -> LandResult:
        target = await self._target()  # before a byte is written
        into = self._into
        async with held_if_long(into.repository, "ingest", into.branch, target.mint, actor=into.actor) as hold:
            messages = await asyncio.to_thread(self._write, target, first, deadline)
            once, offsets = self._position.next(self._topics.name), dict(self._next)
            message = self._options.message
            message = message._replace(metadata={**message.metadata, OFFSETS: encode_offsets(offsets)})
            landed = await self._land(messages, message, once, await hold.closes())
        if landed.again:  # another process follows the same topics, or the answer to our own try was lost
            await self._find()
        elif landed.commit:
            self._position = StreamPosition(once.batch, offsets)
        return landed

    async def _land(
        self, messages: list[TaskMessage], message: CommitMessage, once: BatchName, closes: tuple[str, ...]
    ) -> LandResult:
        """Lands the batch, again if the store does not answer for a while: each try finds out whether the last one
        landed."""
        into = self._into
        work = partial(land, into.repository, into.branch, messages, message, actor=into.actor, once=once)
        for pause_s in _PAUSES_S:
            try:
                return await work(closes=closes)
            except Retry as error:
                _log.warning("batch %d could not be committed yet: %s", once.batch, error)
                await self._clock.sleep(pause_s)
        return await work(closes=closes)

    def _write(self, target: PoolTarget, first: TopicChunk, deadline: float) -> list[TaskMessage]:
        """Writes the rows of `first`, and all messages that come until the time is over."""

        def fill(loader: Loader) -> None:
            chunk, size = first, 0
            while True:
                for lines in chunk.lines:
                    loader.take(lines)
                size += chunk.bytes
                left = deadline - self._clock.boot()
                if left <= 0 or size > _BATCH_BYTES or self._stop.is_set() or self._done():
                    return
                chunk = self._take(min(left, _PAUSE_S))

        try:
            return list(write(target, fill, on_error=self._options.on_error))
        except TaskFailed as failed:
            raise error_of(failed) from failed

    async def _pause(self, deadline: float) -> None:
        """Waits until the time of the batch is over, even if the batch was full before, so that commits come at their
        pace."""
        while not self._stop.is_set() and not self._done() and (left := deadline - self._clock.boot()) > 0:
            await self._clock.sleep(min(left, _PAUSE_S))

    def _compact_behind(self, request: CompactRequest | None) -> None:
        there = self._options.compact != NOWHERE
        if request is not None and there and (self._upkeep is None or self._upkeep.done()):
            self._upkeep = asyncio.create_task(self._compact(request))

    async def _compact(self, request: CompactRequest, *, last: bool = False) -> None:
        into, name = self._into, self._into.repository.repository.name
        options = compaction_options(self._options.compact, into.spark)
        at = into.lake.queries()
        await compact_stream(at, name, into.branch, request, actor=into.actor, options=options, last=last)
