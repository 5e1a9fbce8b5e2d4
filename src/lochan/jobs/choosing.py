"""Which engine does a job: DuckDB, unless a cluster is there and it reads so much that starting Spark pays."""

from __future__ import annotations

from lochan.engines.choosing import DUCKDB, SPARK
from lochan.engines.spark.place import SparkPlace, why_not


def engine_for(engine: str, size_bytes: int, place: SparkPlace) -> str:
    """`engine` is what was asked for. `auto` never fails because Spark is not there."""
    if engine != "auto":
        return engine
    return SPARK if size_bytes > place.auto_bytes and why_not(place) is None else DUCKDB
