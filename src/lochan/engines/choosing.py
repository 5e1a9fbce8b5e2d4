"""Which engine runs a query: DuckDB, unless a cluster is there and it reads so much that starting Spark pays."""

from __future__ import annotations

from lochan.engines.spark.place import SparkPlace, why_not
from lochan.errors import Refused
from lochan.query.prepare import Prepared

DUCKDB, SPARK = "duckdb", "spark"


def chosen(engine: str, plan: Prepared, place: SparkPlace) -> str:
    """`engine` is what was asked for. `auto` never fails because Spark is not there, or cannot do the query."""
    if engine != "auto":
        return engine
    return SPARK if bytes_of(plan) > place.auto_bytes and _can(plan, place) else DUCKDB


def bytes_of(plan: Prepared) -> int:
    """Of the files that it reads; of each only some columns."""
    return sum(int(pool.snapshot.sizes[pool.objects].sum()) for pool in plan.opening.pools)


def _can(plan: Prepared, place: SparkPlace) -> bool:
    if why_not(place) is not None:
        return False
    try:
        plan.plan.sql(SPARK)
    except Refused:
        return False
    return True
