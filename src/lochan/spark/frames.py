"""A lake as frames of a session: a pool or files, every pool as a view, and rows that differ."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.connection import spark_lake
from lochan.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OTHER = re.compile(r"[^a-z0-9_]", re.IGNORECASE)


def read(
    spark: SparkSession,
    uri: str,
    *,
    where: str = "",
    columns: Sequence[str] = (),
    metadata: bool = False,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A pool at a ref (`logs@main`), or Parquet files of a repository (`sales@main/2026/`). It stays at the commit that
    the ref meant, whatever comes to the branch later.

    `where` is a test of the pipe language, and objects that cannot hold such rows are never opened. `metadata` adds
    columns that tell of each row of a pool where it is: `_commit`, `_object` and `_row`, its number there. Raises
    QueryError for a test that is wrong, NotFound."""
    with spark_lake(lake, options).connect() as opened:
        planned = opened.frames.read(spark, uri, where=where, columns=columns, metadata=metadata)
    return planned.frame(spark)


def register_views(
    spark: SparkSession,
    lake: str | os.PathLike[str] | None = None,
    *,
    options: Mapping[str, str] | None = None,
    check: bool = True,
) -> dict[str, str]:
    """Makes a temporary view for each branch of each pool, `pool_branch`, at the commit of this moment; called again,
    it makes them anew. Returns what each stands for. Pools whose rows make no table are left out, and so is a name that
    two branches would have.

    Every data object of the lake that was not checked before is read, to compare it with its SHA-256, unless `check`
    is False: then damage may go unnoticed. Raises Gone, Corrupt."""
    found = []
    with spark_lake(lake, options).connect() as opened:
        uris = [f"{pool.name}@{each.name}" for pool in opened.pools() for each in opened.pool(pool.name).branches()]
        for uri in uris:
            try:
                found.append((uri, opened.frames.read(spark, uri, check=check)))
            except Refused:  # rows that make no table
                continue
    names = [view_name(uri) for uri, _ in found]
    views = {name: each for name, each in zip(names, found, strict=True) if names.count(name) == 1}
    for name, (_, planned) in views.items():
        planned.frame(spark).createOrReplaceTempView(name)
    return {name: uri for name, (uri, _) in views.items()}


def view_name(uri: str) -> str:
    """What SQL takes without quotes."""
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
    """Between two refs of a pool (`logs@main`, `logs@dev`), or of files of a repository (`demo@main/data/`): a row for
    each that differs, with `change`, `times`, `key`, `before`, `after`, `lefts` and `rights`.

    `key` are fields that tell rows apart, by default the pool's primary key; with none (`[]`), whole rows are compared.
    By key all is read at once, to find rows that it does not tell apart, and kept for who uses the frame, until it is
    told `unpersist()`. Raises Invalid for such rows, NotFound."""
    with spark_lake(lake, options).connect() as opened:
        planned = opened.frames.diff(left, right, on=key)
    return planned.frame(spark)
