"""A lake as frames of a session: a pool or files, every pool as a view, and rows that differ."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.connection import spark_lake
from lochan.errors import Invalid, Refused
from lochan.spark.source_options import time_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lochan.api.blocking import Lake
    from lochan.api.frames import PlannedFrame

_OTHER = re.compile(r"[^a-z0-9_]", re.IGNORECASE)


def read(
    spark: SparkSession,
    uri: str,
    *,
    where: str = "",
    columns: Sequence[str] = (),
    version_as_of: str = "",
    timestamp_as_of: str | datetime = "",
    metadata: bool = False,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Reads a pool at a ref (`logs@main`), or Parquet files of a repository (`sales@main/2026/`). The frame stays at
    the commit that the ref names now, whatever comes to the branch later.

    `where` is a test of the pipe language, and objects that cannot hold such rows are never opened. `version_as_of` is
    any ref, if the place names none; `timestamp_as_of` is a time (UTC, unless it has another zone), for the branch as
    it was then. `metadata` adds columns with the place of each row of a pool: `_commit`, `_object` and `_row`, its
    number there. A place with a colon (`logs@main:objects`) is read as `lochan.spark.metadata` reads it. Raises
    QueryError for a test that is wrong, and NotFound."""
    if ":" in uri and "/" not in uri:
        if version_as_of or timestamp_as_of or metadata:
            raise Invalid("metadata are read at the ref that they name", hint="such as logs@v1:objects")
        return _read_metadata(spark, uri, where=where, columns=columns, lake=lake, options=options)
    moment = timestamp_as_of.isoformat() if isinstance(timestamp_as_of, datetime) else timestamp_as_of
    with spark_lake(lake, options).connect() as opened:
        at = time_travel(opened, uri, version_as_of, moment)
        planned = opened.frames.read(spark, at, where=where, columns=columns, metadata=metadata)
    return planned.frame(spark)


def metadata(
    spark: SparkSession,
    source: str,
    *,
    where: str = "",
    columns: Sequence[str] = (),
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Reads metadata of the lake, a pool, a repository or a commit: `:pools`, `shop:branches`, `logs@main:objects`.
    Spark itself reads the entries of a commit (`shop@main:entries`), from the files of the commit's tree; all others
    are read here and passed on. A field of several kinds is JSON text.

    `where` is a test of the pipe language, and `columns` are names. Raises QueryError, NotFound or Invalid."""
    with spark_lake(lake, options).connect() as opened:
        planned = opened.frames.metadata(source, where=where, columns=columns)
    return planned.frame(spark)


def register_views(
    spark: SparkSession,
    lake: str | os.PathLike[str] | None = None,
    *,
    pools: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    check: bool = True,
) -> dict[str, str]:
    """Makes a temporary view for each branch of each pool, `pool_branch`, at the current commit. Calling it again makes
    them anew. Returns what each view stands for. Pools whose rows make no table are left out, and so is a name that two
    branches would have.

    `pools` selects pools, each with all of its branches (`logs`), or one ref of it (`logs@dev`). Then nothing is left
    out: a pool that cannot be a view is an error (NotFound, Refused, Invalid).

    Every data object that was not checked before is read, to compare it with its SHA-256, unless `check` is False;
    damage may go unnoticed then. Raises Gone or Corrupt."""
    with spark_lake(lake, options).connect() as opened:
        uris = list(_branches(opened, pools))
        found = list(_plan_frames(opened, spark, uris, check=check, skips=pools is None))
    names = [view_name(uri) for uri, _ in found]
    if pools is not None and (twice := next((name for name in names if names.count(name) > 1), None)):
        both = [uri for uri, _ in found if view_name(uri) == twice]
        raise Invalid(
            f"{' and '.join(both)} would be one view, {twice}", hint="read one of them with lochan.spark.read"
        )
    views = {name: each for name, each in zip(names, found, strict=True) if names.count(name) == 1}
    for name, (_, planned) in views.items():
        planned.frame(spark).createOrReplaceTempView(name)
    return {name: uri for name, (uri, _) in views.items()}


def _branches(lake: Lake, pools: Sequence[str] | None) -> Iterator[str]:
    for name in [each.name for each in lake.pools()] if pools is None else dict.fromkeys(pools):
        if "@" in name:
            yield name
        else:
            yield from (f"{name}@{each.name}" for each in lake.pool(name).branches())


def _plan_frames(
    lake: Lake, spark: SparkSession, uris: Sequence[str], *, check: bool, skips: bool
) -> Iterator[tuple[str, PlannedFrame]]:
    for uri in uris:
        try:
            yield uri, lake.frames.read(spark, uri, check=check)
        except Refused:  # rows that make no table
            if not skips:
                raise


_read_metadata = metadata  # `read` has an option of that name


def view_name(uri: str) -> str:
    """Returns a name that SQL accepts without quotes."""
    return _OTHER.sub("_", uri)


def diff(
    spark: SparkSession,
    left: str,
    right: str,
    *,
    key: str | Sequence[str] | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Compares two refs of a pool (`logs@main`, `logs@dev`), or files of a repository (`demo@main/data/`). The frame
    has a row for each row that differs, with `change`, `times`, `key`, `before`, `after`, `lefts` and `rights`.

    `key` are fields that identify rows, by default the pool's primary key; with none (`[]`), whole rows are compared. A
    comparison by key reads everything at once, to find rows with the same key, and keeps it for the frame until
    `unpersist()` is called. Raises Invalid for such rows, and NotFound."""
    with spark_lake(lake, options).connect() as opened:
        planned = opened.frames.diff(left, right, on=key)
    return planned.frame(spark)
