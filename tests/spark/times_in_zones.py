"""Times and days that must be the same in every session time zone, for tests with and without Spark Connect."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import lochan.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEST = "America/New_York"
_ZONE = "spark.sql.session.timeZone"
_NOON, _DAY, _LAST = datetime(2026, 11, 1, 12, tzinfo=UTC), date(2026, 11, 1), date(9999, 12, 31)
WRITTEN = """
    select 1 k, timestamp '2026-11-01 12:00:00Z' t, timestamp_ntz '2026-11-01 12:00:00' n,
        date '2026-11-01' d, date '9999-12-31' last,
        named_struct('d', date '2026-11-01', 'n', timestamp_ntz '2026-11-01 12:00:00') o,
        array(date '2026-11-01', null, date '9999-12-31') days,
        array(named_struct('d', date '2026-11-01', 't', timestamp '2026-11-01 12:00:00Z')) list,
        named_struct('v', named_struct('t', timestamp '2026-11-01 12:00:00Z', 'd', date '2026-11-01')) mixed
"""
OTHER = (
    "select 2 k, timestamp '2026-11-02 03:00:00Z' t, named_struct('v', array(timestamp '2026-11-01 12:00:00Z')) mixed"
)
READ: dict[str, Any] = {
    "k": 1,
    "t": _NOON,
    "n": _NOON,
    "d": _DAY,
    "last": _LAST,
    "o": {"d": _DAY, "n": _NOON},
    "days": [_DAY, None, _LAST],
    "list": [{"d": _DAY, "t": _NOON}],
    "mixed": {"v": '{"t":"2026-11-01T12:00:00Z","d":"2026-11-01"}'},
}


def check_times(spark: SparkSession, lake: str) -> None:
    """In a user's session, with an empty pool and the data source registered."""
    before = spark.conf.get(_ZONE) or ""
    spark.conf.set(_ZONE, WEST)
    try:
        lochan.spark.write(spark.sql(WRITTEN), "pool", lake=lake)
        lochan.spark.write(spark.sql(OTHER), "pool", lake=lake)
        source = spark.read.format("lochan").option("lake", lake).load("pool")
        for frame in (lochan.spark.read(spark, "pool", lake=lake), source):
            rows = frame.orderBy("k").toArrow().to_pylist()
            assert rows[0] == READ
            assert rows[1]["mixed"] == {"v": '["2026-11-01T12:00:00Z"]'}
        for where, found in (
            ("strftime('%Y-%m-%d %H', t) == '2026-11-02 03'", [2]),
            ("t >= 2026-11-02", [2]),
            ("d == 2026-11-01", [1]),
        ):
            frame = lochan.spark.read(spark, "pool", where=where, lake=lake)
            assert [row.k for row in frame.collect()] == found, where
        assert spark.conf.get(_ZONE) == WEST
    finally:
        spark.conf.set(_ZONE, before)
