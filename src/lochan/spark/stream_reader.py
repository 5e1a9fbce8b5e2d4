"""How the data source follows a branch.

    rows = spark.readStream.format("lochan").load("logs@main")

Spark keeps the position of the stream: an offset is a commit, up to which everything was read. After a restart it asks
for the same span again, and gets the same rows. A Python source learns the position only from the spans that Spark asks
for. The first of them is empty after a restart, so the reader knows where the next batch begins, and can end it early.
If Spark asks for an end before it has asked for a span, the stream is new.

With Trigger.AvailableNow Spark runs one batch of a Python source, even if that is one from before the restart. With
AVAILABLE_NOW it runs on to the end that it asks for first, so the reader cannot know whether the stream is new. Without
limits, that is the head in either case.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from lochan.connection import LakeAddress
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.blocking import Lake
    from lochan.api.frames import FeedOptions, FeedTask, PoolFeed

AVAILABLE_NOW = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"
COMMIT = "commit"  # in an offset, stored on disk
_POLL_S = 0.2  # Spark asks for new rows every 10 ms if there is no trigger

READ_CHANGES = "readChangeFeed"
_STARTS = ("startingVersion", "startingCommit", "startingTimestamp", "startingAfter")
_ENDS = ("endingVersion", "endingCommit")
_POLICIES = ("ignoreDeletes", "ignoreChanges", "skipChangeCommits")
_COMMITS_MAX, _BYTES_MAX = "maxCommitsPerTrigger", "maxBytesPerTrigger"
FEED_OPTIONS = (READ_CHANGES, *_STARTS, *_ENDS, *_POLICIES, _COMMITS_MAX, _BYTES_MAX)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


# --- options ---------------------------------------------------------------------------------------------------------
def feed_options(options: Mapping[str, str]) -> FeedOptions:
    """Returns the options of a feed. Raises Invalid."""
    from lochan.api.frames import FeedOptions

    options = _in_any_case(options)
    starts = [name for name in _STARTS if name in options]
    if len(starts) > 1:
        raise Invalid(f"{starts[0]} and {starts[1]} both say where to begin", hint="give one of them")
    deletes, changes, skip = (_flag(options, name) for name in _POLICIES)
    if changes and skip:
        raise Invalid("ignoreChanges reads what skipChangeCommits passes over", hint="give one of them")
    given = FeedOptions(
        options.get("startingCommit", options.get("startingVersion", "")),
        options.get("startingTimestamp", ""),
        options.get("startingAfter", ""),
        _flag(options, READ_CHANGES),
        deletes,
        changes,
        skip,
    )
    return given._replace(commits_max=_count(options, _COMMITS_MAX), bytes_max=_count(options, _BYTES_MAX))


def ending(options: Mapping[str, str]) -> str:
    """Returns the last commit whose changes are read, or an empty text for the head."""
    options = _in_any_case(options)
    found = [options[name] for name in _ENDS if name in options]
    if len(found) > 1:
        raise Invalid(f"{_ENDS[0]} and {_ENDS[1]} both say where to end", hint="give one of them")
    return found[0] if found else ""


def reads_changes(options: Mapping[str, str]) -> bool:
    return _flag(_in_any_case(options), READ_CHANGES)


def check_batch(options: Mapping[str, str]) -> None:
    """Checks the options of a read that is neither a stream nor a change feed. Raises Invalid."""
    options = _in_any_case(options)
    wrong = next((name for name in FEED_OPTIONS if name in options and name != READ_CHANGES), None)
    if wrong is not None:
        hint = f"use spark.readStream, or set {READ_CHANGES} to true"
        raise Invalid(f"{wrong} is an option of streams and of the change feed", hint=hint)


def _in_any_case(options: Mapping[str, str]) -> dict[str, str]:
    """Returns our options, by their names as they are written here: Spark passes them in lower case."""
    names = {name.lower(): name for name in FEED_OPTIONS}
    return {names[name.lower()]: value for name, value in options.items() if name.lower() in names}


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise Invalid(f"{name}={options[name]!r} is neither true nor false", hint=f"such as .option('{name}', 'true')")
    return text == "true"


def _count(options: Mapping[str, str], name: str) -> int:
    if name not in options:
        return 0
    text = options[name].strip().lower()
    digits = text.rstrip("bkmg")
    unit = text[len(digits) :] if name == _BYTES_MAX else text[len(digits) :] and "?"
    if not (digits.isascii() and digits.isdecimal()) or unit not in _UNITS or int(digits) < 1:
        hint = "such as 64m" if name == _BYTES_MAX else "such as 100"
        raise Invalid(f"{name}={options[name]!r} is no number from 1 on", hint=hint)
    return int(digits) * _UNITS[unit]


# --- reading ---------------------------------------------------------------------------------------------------------
class FeedRequest(NamedTuple):
    """What is followed. It can be pickled."""

    uri: str
    options: FeedOptions
    where: str = ""
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    commit: str = ""  # the commit whose columns the stream has

    def open(self, lake: Lake) -> PoolFeed:
        verb = partial(lake.frames.feed, self.uri, self.options, where=self.where, commit=self.commit)
        return verb(columns=self.columns, fields=self.fields)

    def changes(self, lake: Lake, until: str) -> PoolFeed:
        return lake.frames.changes(self.uri, self.options, until=until, where=self.where, columns=self.columns)


@dataclass
class FeedPartition(InputPartition):
    task: FeedTask


class ChangesReader(DataSourceReader):
    """Reads a feed that ends."""

    def __init__(self, address: LakeAddress, feed: PoolFeed, schema: StructType) -> None:
        self._address, self._feed, self._schema = address, feed, schema

    def partitions(self) -> list[InputPartition]:
        with self._address.connect() as lake:
            tasks = lake.frames.feed_batch(self._feed, self._feed.start, self._feed.end)
        return [FeedPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._schema)


class FeedReader(DataSourceStreamReader):
    """Reads a feed. Spark makes one for the whole stream, and others for tasks, which only read."""

    def __init__(
        self, address: LakeAddress, request: FeedRequest, schema: StructType, feed: PoolFeed | None = None
    ) -> None:
        self._address, self._request, self._schema = address, request, schema
        self._feed = feed
        self._lake: Lake | None = None
        self._at: str | None = None  # None: Spark has not told yet
        self._idle = False  # nothing was new when Spark asked last

    def initialOffset(self) -> dict[str, Any]:
        lake, feed = self._opened()
        self._at = lake.frames.feed_start(feed)
        return {COMMIT: self._at}

    def latestOffset(self) -> dict[str, Any]:
        lake, feed = self._opened()
        if self._idle:  # before it asks, never after: Spark takes the answer for what is there now
            time.sleep(_POLL_S)
        start = self._at
        if start is None and self._request.options.limited:
            start = lake.frames.feed_start(feed)
        end = lake.frames.feed_end(feed, start)
        self._idle = end == self._at
        return {COMMIT: end}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        self._at = end[COMMIT]
        if start == end:
            return []
        lake, feed = self._opened()
        return [FeedPartition(task) for task in lake.frames.feed_batch(feed, start[COMMIT], end[COMMIT])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._schema)

    def stop(self) -> None:
        if self._lake is not None:
            self._lake.close()

    def _opened(self) -> tuple[Lake, PoolFeed]:
        if self._lake is None:
            self._lake = self._address.connect()
        if self._feed is None:
            self._feed = self._request.open(self._lake)
        return self._lake, self._feed


def _rows(partition: InputPartition, schema: StructType) -> Iterator[pa.RecordBatch]:
    from pyspark.sql.pandas.types import to_arrow_schema

    if isinstance(partition, FeedPartition):  # else there is nothing to read
        yield from partition.task.read(to_arrow_schema(schema))
