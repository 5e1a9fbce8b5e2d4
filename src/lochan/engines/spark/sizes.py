"""How finely Spark cuts a query's work: rows come to the driver by whole partitions, which must be small there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from lochan.engines.duckdb.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW_ROWS = 10_000
_LEAST, _MOST, _USUAL = 2 << 20, 32 << 20, 128 << 20  # of Parquet in a partition; the last is Spark's own
_GROWN = 6  # rows in memory are about so much larger than in Parquet
_PARTITIONS_MAX = 10_000


class Sizes(NamedTuple):
    partition_bytes: int  # of Parquet
    wave_bytes: int  # of rows that come at once: one wave is read, one waits, one comes, and the JVM has it again
    first_wave: int  # partitions, before it is known how large they are
    few: bool  # a handful of rows: all of them come at once

    def fit(self, session: SparkSession, read_bytes: int) -> None:
        """Two queries at once may get each other's sizes; that changes no row."""
        parts = max(min(os.cpu_count() or 1, 8), read_bytes // min(self.partition_bytes, _MOST))
        session.conf.set("spark.sql.files.maxPartitionBytes", str(self.partition_bytes))
        session.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", str(min(self.partition_bytes * 2, _MOST)))
        session.conf.set("spark.sql.shuffle.partitions", str(min(parts, _PARTITIONS_MAX)))


def sizes_for(query: exp.Query, limits: Limits) -> Sizes:
    """Few rows come of a great many, or as many as are read."""
    memory, few = limits.memory_bytes, _few(query)
    if few or _sums_up(query):
        return Sizes(_USUAL, memory // 8, _PARTITIONS_MAX, few)
    partition = max(_LEAST, min(memory // 128, _MOST))
    return Sizes(partition, memory // 8, memory // 4 // (partition * _GROWN), few)


def _few(query: exp.Query) -> bool:
    limit = query.args.get("limit")
    return isinstance(limit, exp.Limit) and limit.expression.is_int and int(limit.expression.this) <= FEW_ROWS


def _sums_up(query: exp.Query) -> bool:
    return any(each.args.get("group") or each.find(exp.AggFunc) for each in query.find_all(exp.Select))
