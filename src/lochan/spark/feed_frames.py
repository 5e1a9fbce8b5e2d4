"""A pool as a stream, and the changes of its commits, as frames of a session.

    rows = lochan.spark.read_stream(spark, "logs@main", where="status >= 500")
    lochan.spark.changes(spark, "logs@main", since="main~3")

Both are the data source of `feed_source`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.connection import spark_lake
from lochan.spark.feed_source import NAME, FeedSource
from lochan.spark.stream_reader import READ_CHANGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_stream(
    spark: SparkSession,
    uri: str,
    *,
    where: str = "",
    columns: Sequence[str] = (),
    starting_version: str = "",
    starting_timestamp: str = "",
    starting_after: str = "",
    read_change_feed: bool = False,
    ignore_deletes: bool = False,
    ignore_changes: bool = False,
    skip_change_commits: bool = False,
    max_commits_per_trigger: int | None = None,
    max_bytes_per_trigger: int | str | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the new rows of a branch as a stream, commit by commit. It begins with all existing rows, unless it
    starts at a commit (`latest`, `earliest`, or the first that is read), at a time, or after a commit. Options mean the
    same as those of `spark.readStream.format("lochan")`. Raises NotFound, Invalid, or Refused for a pool that has no
    rows yet."""
    given = {
        "startingVersion": starting_version,
        "startingTimestamp": starting_timestamp,
        "startingAfter": starting_after,
        READ_CHANGES: _text(read_change_feed),
        "ignoreDeletes": _text(ignore_deletes),
        "ignoreChanges": _text(ignore_changes),
        "skipChangeCommits": _text(skip_change_commits),
        "maxCommitsPerTrigger": "" if max_commits_per_trigger is None else str(max_commits_per_trigger),
        "maxBytesPerTrigger": "" if max_bytes_per_trigger is None else str(max_bytes_per_trigger),
    }
    _register(spark)
    reader = spark.readStream.format(NAME)
    return reader.options(**_options(given, where, columns, lake, options)).load(uri)


def changes(
    spark: SparkSession,
    uri: str,
    *,
    since: str = "",
    until: str = "",
    where: str = "",
    columns: Sequence[str] = (),
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns rows that the commits of a branch have added and deleted, after the commit `since` (from the first on, if
    none is given) up to `until` (the head), with `_change_type` (insert or delete), `_commit` and `_commit_time`. A row
    that was changed is deleted and inserted; a commit that has only written the same rows anew has no changes. With
    `columns`, only these are compared. Raises NotFound, Invalid, or Gone if the objects of an old commit are no longer
    kept."""
    given = {READ_CHANGES: "true", "endingVersion": until}
    given |= {"startingAfter": since} if since else {"startingVersion": "earliest"}
    _register(spark)
    reader = spark.read.format(NAME)
    return reader.options(**_options(given, where, columns, lake, options)).load(uri)


def _register(spark: SparkSession) -> None:
    from lochan.api.spark_tasks import ship

    ship(spark)
    spark.dataSource.register(FeedSource)


def _options(
    given: Mapping[str, str],
    where: str,
    columns: Sequence[str],
    lake: str | os.PathLike[str] | None,
    options: Mapping[str, str] | None,
) -> dict[str, str]:
    found = spark_lake(lake, options)  # by the settings of this process: Spark asks in another
    all = {**given, "where": where, "columns": ",".join(columns), "lake": found.location.url}
    return {**(options or {}), **{name: value for name, value in all.items() if value}}


def _text(flag: bool) -> str:
    return "true" if flag else ""
