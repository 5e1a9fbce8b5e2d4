"""Which engine does the work: DuckDB, unless a cluster is there and it reads so much that starting Spark pays."""

from __future__ import annotations

from lochan.engines.spark.place import SparkPlace, why_not
from lochan.errors import Refused
from lochan.query.prepare import Prepared

DUCKDB, SPARK = "duckdb", "spark"


def engine_for(engine: str, size_bytes: int, place: SparkPlace) -> str:
    """`engine` is what was asked for, `size_bytes` what the work reads. `auto` never fails where Spark is not there."""
    if engine != "auto":
        return engine
    return SPARK if size_bytes > place.auto_bytes and why_not(place) is None else DUCKDB


def engine_of_query(engine: str, plan: Prepared, place: SparkPlace) -> str:
    """Nor does `auto` fail because Spark cannot do the query."""
    found = engine_for(engine, bytes_of(plan), place)
    if engine == "auto" and found == SPARK:
        try:
            plan.plan.sql(SPARK)
        except Refused:
            return DUCKDB
    return found


def bytes_of(plan: Prepared) -> int:
    """Of the files that it reads; of each only some columns."""
    return sum(int(pool.snapshot.sizes[pool.objects].sum()) for pool in plan.opening.pools)
