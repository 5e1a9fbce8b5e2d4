"""Chooses the engine: DuckDB, unless there is a cluster and so much to read that starting Spark is worth it.

On one machine both engines have the same processors, and Spark has to start a JVM first. There Spark is for work that
does not fit into the embedded engine's memory and the disk that it spills to. `bench engine_choice` measured the spill:
eight times the bytes of the objects for a sort of a whole pool, and no more than the text for a load of plain text.
"""

from __future__ import annotations

import shutil
import tempfile

from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.spark.place import SparkPlace, why_not
from lochan.errors import Invalid, Refused
from lochan.query.prepare import Prepared

AUTO, DUCKDB, SPARK = ENGINES = ("auto", "duckdb", "spark")

PACKED_SPILL = 8  # bytes of spill for each byte that is read, for Parquet and other compressed data
TEXT_SPILL = 1
_SPILL_SHARE = 0.9  # a share of the free disk, which is also DuckDB's own limit


def engine_for(
    engine: str, size_bytes: int, place: SparkPlace, limits: Limits = STANDARD, *, spill: float = PACKED_SPILL
) -> str:
    """Returns the engine for some work. `engine` is the requested one, `size_bytes` is how much the work reads. `auto`
    never fails because Spark is missing. Raises Invalid for an engine that does not exist."""
    if engine not in ENGINES:
        raise Invalid(f"there is no engine {engine!r}", hint=f"there are {', '.join(ENGINES)}")
    if engine != AUTO:
        return engine
    most = _most_here(place, limits, spill) if place.is_here else place.threshold_bytes
    return SPARK if size_bytes > most and why_not(place) is None else DUCKDB


def engine_of_query(engine: str, plan: Prepared, place: SparkPlace, limits: Limits = STANDARD) -> str:
    """Returns the engine for a query. `auto` does not fail either if Spark cannot run the query."""
    found = engine_for(engine, bytes_of(plan), place, limits)
    if engine == AUTO and found == SPARK:
        try:
            plan.plan.sql(SPARK)
        except Refused:
            return DUCKDB
    return found


def bytes_of(plan: Prepared) -> int:
    """Returns the size of the files that it reads, though it reads only some of their columns."""
    return sum(int(pool.snapshot.sizes[pool.objects].sum()) for pool in plan.opening.pools)


def _most_here(place: SparkPlace, limits: Limits, spill: float) -> float:
    """Returns how many bytes the embedded engine may read and still be sure to have room."""
    if place.local_threshold_bytes is not None:
        return place.local_threshold_bytes
    room = limits.spill_bytes
    if room is None:
        room = int(shutil.disk_usage(tempfile.gettempdir()).free * _SPILL_SHARE)
    return (limits.memory_bytes + room) / spill
