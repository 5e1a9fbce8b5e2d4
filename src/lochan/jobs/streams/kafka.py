"""Reads messages of Kafka's topics from given offsets on, many at a time. The offsets of the next messages are kept in
the commit that holds the rows, so the two cannot disagree. Offsets are never committed to the broker, so no consumer
group is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lochan.errors import Corrupt, Gone, LochanError, NotFound, Refused, Transient
from lochan.ingest.lines import Lines, texts_of
from lochan.jobs.job_commit import BatchName
from lochan.versioning.revisions.graph import LookUp, by_generation

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

OFFSETS = "lochan-offsets"  # in a commit's metadata, stored on disk

Partition = tuple[str, int]  # a topic, and the number of its part
Offsets = Mapping[Partition, int]  # the next message of each partition
_AT_ONCE = 20_000  # messages that are taken at once
_FIRST_ANSWER_S = 5.0  # how long to wait for a broker: after a typo in its name, too
_ANSWER_S = 30.0
_OURS = {
    "group.id": "lochan",  # required, but not used
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # continuing at another offset would lose rows, or repeat them
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}


class StreamPosition(NamedTuple):
    batch: int = -1  # the last batch that landed; -1 if none did
    offsets: Offsets = MappingProxyType({})
    since: str = ""  # a head before which there is nothing of the stream; "" if its own batches show that

    def next(self, stream: str) -> BatchName:
        """Returns the name of the next batch. Only one writer can land it: the second one finds that it has landed, and
        continues behind it."""
        return BatchName(stream, self.batch + 1, self.since)


def newest(look_up: LookUp, head: str, stream: str) -> StreamPosition:
    """Returns the position by the history of this head, down to where `find_commit` looks for a batch. Commits that
    came by a merge count too. Raises Corrupt."""
    once = BatchName(stream)
    batch, offsets = -1, dict[Partition, int]()
    line, lowest = head, 0
    for id, commit in by_generation(look_up, head):
        if commit.generation < lowest:
            break
        own = once.batch_of(commit)
        if own is not None:
            batch = max(batch, own)
            for part, at in decode_offsets(commit.metadata.get(OFFSETS, ""), id).items():
                offsets[part] = max(at, offsets.get(part, 0))
        if id == line:
            line = commit.parents[0] if commit.parents else ""
            lowest = commit.generation if own is not None else lowest
    return StreamPosition(batch, offsets, head if batch < 0 else "")


def encode_offsets(offsets: Offsets) -> str:
    """Returns the offsets as a text such as `{"orders": {"0": 17, "1": 9}}`."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, part), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(part)] = offset
    return json.dumps(topics)


def decode_offsets(text: str, commit: str) -> dict[Partition, int]:
    try:
        found = json.loads(text)
        return {(topic, int(part)): int(at) for topic, parts in found.items() for part, at in parts.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise Corrupt(f"commit {commit} does not tell how far its stream had read: {error}") from error


class TopicOptions(NamedTuple):
    topics: Sequence[str]
    latest: bool = False  # whether a topic without a position is read from its end; otherwise from its beginning
    go_on: bool = False  # whether to continue if the broker has dropped messages that were not read


class TopicChunk(NamedTuple):
    lines: list[Lines]  # by topic and partition; the place of each text is its offset
    offsets: dict[Partition, int]  # the offsets of the next messages
    bytes: int


class Topics:
    """Reads topics. Raises Transient if no broker answers, and NotFound for a topic that does not exist."""

    def __init__(self, brokers: str, options: TopicOptions, settings: Mapping[str, str]) -> None:
        self._options = options
        self._consumer = _consumer({"bootstrap.servers": brokers, **settings, **_OURS})
        with _explain_errors(brokers):
            found = self._consumer.list_topics(timeout=_FIRST_ANSWER_S)
        self.cluster = str(found.cluster_id)
        for topic in options.topics:
            about = found.topics.get(topic)
            if about is None or about.error is not None:
                raise NotFound(f"there is no topic {topic!r} at {brokers}", hint="make it first")
        self.parts = [(topic, part) for topic in options.topics for part in sorted(found.topics[topic].partitions)]
        self._brokers = brokers
        self.ends: dict[Partition, int] = {}  # the ends at the last `seek`

    @property
    def name(self) -> str:
        """The name of the stream, by which commits identify it. Another cluster counts its messages anew."""
        return f"kafka:{self.cluster}:{','.join(sorted(self._options.topics))}"

    def __enter__(self) -> Topics:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._consumer.close()

    def seek(self, known: Offsets) -> dict[Partition, int]:
        """Moves to the known offsets, or to the beginning of what is new. Raises Gone if messages that were not read no
        longer exist, unless the options allow that."""
        from confluent_kafka import TopicPartition

        starts = {}
        with _explain_errors(self._brokers):
            for each in self.parts:
                low, high = self._consumer.get_watermark_offsets(TopicPartition(*each), timeout=_ANSWER_S)
                self.ends[each] = high
                starts[each] = self._start(each, known.get(each), low, high)
            self._consumer.assign([TopicPartition(*each, at) for each, at in starts.items()])
        return starts

    def take(self, timeout_s: float) -> TopicChunk:
        """Returns new messages as soon as there are any, or nothing after so many seconds."""
        with _explain_errors(self._brokers):
            messages = self._consumer.consume(_AT_ONCE, timeout_s)
        texts: dict[Partition, tuple[list[bytes], list[int]]] = {}
        offsets: dict[Partition, int] = {}
        for message in messages:  # the client returns them one by one
            if not self._is_place(message):
                continue
            part, at = _place(message)
            value = message.value() if message.error() is None else None
            if value:  # a message without a value means that a key was deleted, which is not a row
                values, places = texts.setdefault(part, ([], []))
                values.append(value if isinstance(value, bytes) else value.encode())
                places.append(at)
            offsets[part] = at + (message.error() is None)
        lines = [_lines(part, *each) for part, each in texts.items()]
        return TopicChunk(lines, offsets, sum(each.texts.nbytes for each in lines))

    def _start(self, part: Partition, known: int | None, low: int, high: int) -> int:
        if known is None:
            return high if self._options.latest else low
        if low <= known <= high:
            return known
        if self._options.go_on:
            return low
        raise Gone(
            f"{_partition_text(part)}: what was not read is not there any more: message {known} comes next, and there "
            f"are those from {low} up to {high}",
            hint="--go-on begins with the first that is there",
        )

    def _is_place(self, message: Message) -> bool:
        """Returns whether it is a message, or the end of a part for now, rather than an error that the client retries
        by itself. Raises errors that end the stream."""
        from confluent_kafka import KafkaError

        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise Gone(f"{message.topic()}: {error.str()}", hint="--go-on begins with the first message that is there")
        if not error.retriable():
            raise _kafka_error(self._brokers, error.str())
        return False


def _consumer(settings: Mapping[str, object]) -> Consumer:
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError as error:
        raise Refused("Kafka needs the package confluent-kafka", hint="pip install 'lochan[kafka]'") from error
    try:
        return Consumer({**settings, "logger": _quiet()})
    except KafkaException as error:
        raise Refused(f"Kafka's client does not take these settings: {error.args[0].str()}") from error


def _quiet() -> object:
    """Returns the logger for the client's messages about brokers that come and go, which is silent by default."""
    import logging

    return logging.getLogger("lochan.kafka")


@contextmanager
def _explain_errors(brokers: str) -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise _kafka_error(brokers, error.args[0].str()) from error


def _kafka_error(brokers: str, text: str) -> LochanError:
    return Transient(f"Kafka at {brokers}: {text}", hint="check that the broker is up; what was committed stays")


def _place(message: Message) -> tuple[Partition, int]:
    topic, part, at = message.topic(), message.partition(), message.offset()
    assert topic is not None and part is not None and at is not None
    return (topic, part), at


def _lines(part: Partition, values: list[bytes], places: list[int]) -> Lines:
    ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
    return texts_of(_partition_text(part), b"".join(values), ends, 1, np.array(places, np.int64))


def _partition_text(part: Partition) -> str:
    return f"{part[0]}/{part[1]}"
