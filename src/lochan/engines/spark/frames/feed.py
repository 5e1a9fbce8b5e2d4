"""A branch of a pool as a stream of rows: its beginning, its end, and the rows of each batch.

Positions are those of `pools/feed.py`. A PoolFeed has everything that they and the columns depend on. It can be
pickled, to be made in one process and used in others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.frames.feed_parts import CHANGE_SCHEMA, FeedTask, feed_tasks
from lochan.engines.spark.frames.feed_plan import FeedColumns, feed_columns, feed_plan
from lochan.engines.spark.frames.read_plan import ReadRequest
from lochan.errors import Invalid, Refused
from lochan.pools.feed import FeedBranch, FeedSpan, end_of, span_of, start_of
from lochan.pools.feed_options import FeedOptions
from lochan.versioning.repositories import POOL
from lochan.versioning.uri import Uri, on_branch

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class PoolFeed:
    uri: Uri  # the URI of the branch
    options: FeedOptions
    columns: FeedColumns
    head: str  # the head of the branch when the feed was opened
    start: str = ""  # only for a feed that ends; otherwise the stream keeps its position
    end: str = ""

    @property
    def arrow_schema(self) -> pa.Schema:
        fields = [*self.columns.types, *(CHANGE_SCHEMA if self.options.changes else ())]
        return pa.schema(fields)

    @property
    def schema(self) -> StructType:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.arrow_schema)


async def open_feed(at: QueryContext, request: ReadRequest, options: FeedOptions, *, commit: str = "") -> PoolFeed:
    """Opens a feed, with the columns that the pool has at a commit, or now. Raises NotFound, Invalid if the URI is not
    a branch, and Refused for a pool that has no rows yet."""
    async with _branch(at, request.uri) as branch:
        head = await branch.head()
        place = request.uri._replace(ref=commit or head)
        columns = await feed_columns(at, branch.repository, replace(request, uri=place))
        if not columns.forms.num_rows:
            hint = "start the stream when there are rows"
            raise Refused(f"{branch.about} has no rows yet, so nothing tells which columns a stream has", hint=hint)
        return PoolFeed(request.uri._replace(ref=branch.name), options, columns, head)


async def open_changes(at: QueryContext, request: ReadRequest, options: FeedOptions, until: str = "") -> PoolFeed:
    """Opens a feed of all changes up to a commit, with the columns of all rows that it reads. Raises the same as
    `open_feed`."""
    async with _branch(at, request.uri) as branch:
        head = await branch.head()
        end = (await branch.repository.resolve(until)).commit_id if until else head
        start = await start_of(branch, options, end)
        span = await span_of(branch, start, end, options)
        place = request.uri._replace(ref=end)
        columns = await feed_columns(at, branch.repository, replace(request, uri=place), span.entries)
        return PoolFeed(request.uri._replace(ref=branch.name), options, columns, head, start, end)


async def feed_start(at: QueryContext, feed: PoolFeed) -> str:
    """Returns the position that a new stream begins at."""
    async with _branch(at, feed.uri) as branch:
        return await start_of(branch, feed.options, feed.head)


async def feed_end(at: QueryContext, feed: PoolFeed, start: str | None) -> str:
    """Returns the position that the next batch goes to; that is `start` itself if there is nothing new."""
    async with _branch(at, feed.uri) as branch:
        return await end_of(branch, start, feed.options)


async def feed_batch(at: QueryContext, feed: PoolFeed, start: str, end: str) -> Sequence[FeedTask]:
    """Returns what tasks read between two positions. Raises Refused for rows that are not new, or do not fit the
    columns, LeftLine, or Gone."""
    async with _branch(at, feed.uri) as branch:
        span: FeedSpan = await span_of(branch, start, end, feed.options)
        if not span.entries:
            return []
        planned = await feed_plan(at, branch.repository, feed.columns, span, end)
        return feed_tasks(at.place, planned, span, changes=feed.options.changes)


@asynccontextmanager
async def _branch(at: QueryContext, uri: Uri) -> AsyncIterator[FeedBranch]:
    if uri.path:
        raise Invalid(f"{uri} names files, and only pools are read as streams", hint="such as logs@main")
    repository = await at.catalog.open_repository(uri.repository)
    try:
        about = repository.repository
        if about.kind != POOL:
            raise Invalid(f"{about.name!r} holds files, and only pools are read as streams", hint="such as logs@main")
        await repository.refs()  # from here on its commits are known
        yield FeedBranch(repository, on_branch(uri).ref or about.default_branch)
    finally:
        await repository.close()
