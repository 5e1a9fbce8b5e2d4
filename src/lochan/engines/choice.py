"""Which engine does the work: DuckDB, unless a cluster is there and it reads so much that starting Spark pays.

On one machine both engines have the same processors, and Spark starts a JVM first: there it is for what does not fit
the embedded engine's memory and the disk that it spills to. What work spills was measured by `bench engine_choice`: a
sort of a whole pool eight times the bytes of its objects, a load of plain text no more than the text.
"""

from __future__ import annotations

import shutil
import tempfile

from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.spark.place import SparkPlace, why_not
from lochan.errors import Invalid, Refused
from lochan.query.prepare import Prepared

AUTO, DUCKDB, SPARK = ENGINES = ("auto", "duckdb", "spark")

PACKED_SPILL = 8  # bytes on the disk for each byte that is read, of Parquet and whatever is compressed
TEXT_SPILL = 1
_SPILL_SHARE = 0.9  # of what is free: DuckDB takes no more


def engine_for(
    engine: str, size_bytes: int, place: SparkPlace, limits: Limits = STANDARD, *, spill: float = PACKED_SPILL
) -> str:
    """`engine` is the user's choice, `size_bytes` what the work reads. `auto` never fails because Spark is not there.
    Raises Invalid for an engine that does not exist."""
    if engine not in ENGINES:
        raise Invalid(f"there is no engine {engine!r}", hint=f"there are {', '.join(ENGINES)}")
    if engine != AUTO:
        return engine
    most = _most_here(place, limits, spill) if place.is_here else place.threshold_bytes
    return SPARK if size_bytes > most and why_not(place) is None else DUCKDB


def engine_of_query(engine: str, plan: Prepared, place: SparkPlace, limits: Limits = STANDARD) -> str:
    """Nor does `auto` fail because Spark cannot do the query."""
    found = engine_for(engine, bytes_of(plan), place, limits)
    if engine == AUTO and found == SPARK:
        try:
            plan.plan.sql(SPARK)
        except Refused:
            return DUCKDB
    return found


def bytes_of(plan: Prepared) -> int:
    """Of the files that it reads; of each only some columns."""
    return sum(int(pool.snapshot.sizes[pool.objects].sum()) for pool in plan.opening.pools)


def _most_here(place: SparkPlace, limits: Limits, spill: float) -> float:
    """What the embedded engine may read and still be sure to have room for."""
    if place.local_threshold_bytes is not None:
        return place.local_threshold_bytes
    room = limits.spill_bytes
    if room is None:
        room = int(shutil.disk_usage(tempfile.gettempdir()).free * _SPILL_SHARE)
    return (limits.memory_bytes + room) / spill
