"""The data source for streams out of a pool and for its change feed. `lochan` delegates to it, and `feed_frames` uses
it under its own name.

Spark makes it in one process and passes it to others with its state, so its columns stay those of one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from lochan.connection import LakeAddress, spark_lake
from lochan.errors import Gone, Invalid
from lochan.spark.stream_reader import (
    FEED_OPTIONS,
    READ_CHANGES,
    ChangesReader,
    FeedReader,
    FeedRequest,
    ending,
    feed_options,
    reads_changes,
)

if TYPE_CHECKING:
    from lochan.api.frames import PoolFeed

NAME = "lochan-feed"
COLUMNS_OF = "versionAsOf"  # of a stream: the commit whose columns it has
_OURS = frozenset(
    each.lower() for each in ("path", "lake", "where", "columns", "checkpointLocation", COLUMNS_OF, *FEED_OPTIONS)
)
_NOT_OURS = ("from", "to", "timestampAsOf")


class FeedSource(DataSource):
    def __init__(self, options: dict[str, str], commit: str = "") -> None:
        """`commit` is the one whose columns it has; by default they are those of the pool at this moment."""
        super().__init__(options)
        self._commit = commit
        self._feed: PoolFeed | None = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return self._opened().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        if not reads_changes(self.options):
            raise Invalid(f"{NAME} is read as a stream", hint=f"set {READ_CHANGES} to true to read changes")
        if not self._request().options.begins:
            hint = "set startingVersion to a commit, or to earliest"
            raise Invalid(f"nothing says where {READ_CHANGES} is to begin", hint=hint)
        feed = self._opened()
        return ChangesReader(self._address(), feed if feed.end else self._changes(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if ending(self.options):
            raise Invalid("a stream has no end that could be set", hint="read the changes with spark.read")
        request, feed = self._request(), self._opened()
        if reads_changes(self.options) or schema.names == feed.schema.names:
            return FeedReader(self._address(), request, schema, feed)
        chosen = request._replace(fields=tuple(schema.names), commit=feed.columns.request.uri.ref)
        return FeedReader(self._address(), chosen, schema)  # the user's own schema: only these columns

    def _opened(self) -> PoolFeed:
        """Opens the feed. A change feed can only be a stream if it names no beginning, or if that has expired, because
        a stream may have passed it since."""
        if self._feed is None:
            request = self._request()
            try:
                ends = reads_changes(self.options) and request.options.begins
                self._feed = self._changes() if ends else self._open(request)
            except Gone:
                self._feed = self._open(request)
        return self._feed

    def _open(self, request: FeedRequest) -> PoolFeed:
        with self._address().connect() as lake:
            return request.open(lake)

    def _changes(self) -> PoolFeed:
        with self._address().connect() as lake:
            return self._request().changes(lake, ending(self.options))

    def _request(self) -> FeedRequest:
        given = self._given()
        wrong = next((name for name in _NOT_OURS if name.lower() in given), None)
        if wrong is not None:
            raise Invalid(f"{wrong}: a stream is read without it", hint="choose rows by `where`")
        if not given.get("path"):
            raise Invalid("nothing says which pool is meant", hint="such as .load('logs@main')")
        columns = tuple(name.strip() for name in given.get("columns", "").split(",") if name.strip())
        commit = self._commit or given.get(COLUMNS_OF.lower(), "")
        return FeedRequest(given["path"], feed_options(given), given.get("where", ""), columns, commit=commit)

    def _address(self) -> LakeAddress:
        given = self._given()
        return spark_lake(given.get("lake"), {name: value for name, value in given.items() if name not in _OURS})

    def _given(self) -> Mapping[str, str]:
        return {name.lower(): value for name, value in self.options.items()}
