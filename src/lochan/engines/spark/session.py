"""One Spark session for all queries of this process: to start it takes seconds, to use it again nothing."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import SparkPlace, why_not
from lochan.engines.spark.said import stderr_kept, why
from lochan.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What rows mean must not depend on how somebody has set up Spark.
_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.groupByOrdinal": "false",
}
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_MEMORY_LEAST = 512 << 20  # a JVM with less does not even start Spark

_one = threading.Lock()
_sessions: dict[SparkKey, SparkSession] = {}
SparkKey = tuple[str, str]


def session_at(place: SparkPlace, limits: Limits) -> SparkSession:
    """Raises Refused where Spark cannot be started. The limit of memory is the JVM's: that of who comes first."""
    refused = why_not(place)
    if refused is not None:
        raise refused
    with _one:
        key = place.master, place.remote
        found = _sessions.get(key)
        if found is None or _is_stopped(found):
            found = _sessions[key] = _started(place, limits)
        return found


def stop() -> None:
    """All of them, with what they hold. The next query starts anew."""
    with _one:
        while _sessions:
            _, session = _sessions.popitem()
            session.stop()


def _started(place: SparkPlace, limits: Limits) -> SparkSession:
    from pyspark.sql import SparkSession

    session: SparkSession
    if place.remote:
        session = SparkSession.builder.remote(place.remote).create()
    else:
        there = SparkSession.getActiveSession()  # somebody's own: we take a session of ours beside it
        beside = there if isinstance(there, SparkSession) else _launched(place, limits)
        session = beside.newSession()
    for name, value in _MEANING.items():
        session.conf.set(name, value)
    if place.is_here:
        session.conf.set("spark.sql.shuffle.partitions", str(min(os.cpu_count() or 1, 8)))
    return session


def _launched(place: SparkPlace, limits: Limits) -> SparkSession:
    from pyspark.sql import SparkSession

    memory = max(limits.memory_bytes, _MEMORY_LEAST) >> 20
    builder = SparkSession.builder.appName("lochan").master(place.master)
    options = {
        **_QUIET,
        **(_HERE if place.is_here else {}),
        "spark.driver.memory": f"{memory}m",
        "spark.driver.maxResultSize": f"{memory}m",
        "spark.pyspark.python": sys.executable,
        **place.options,
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    with stderr_kept() as said:
        try:
            return builder.getOrCreate()
        except Exception as error:  # whatever a JVM comes up with
            hint = "`lochan doctor --spark` tells more"
            raise Refused(f"Spark did not start on {place.master}: {why(error, said)}", hint=hint) from error


def _is_stopped(session: SparkSession) -> bool:
    try:
        session.conf.get("spark.sql.ansi.enabled")
    except Exception:
        return True
    return False
