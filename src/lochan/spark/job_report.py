"""A job in a session of the user's own tells the lake of itself, as any other does: see `lochan.jobs.record`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from lochan.clock import Clock, SystemClock
from lochan.engines.spark.progress import watched
from lochan.ids import Ids
from lochan.jobs.record import JobReporter, recorded
from lochan.spark.lakes import LakePlace
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.protocol import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def told(spark: SparkSession, place: LakePlace, kind: str, about: str, counts: RequestCounts) -> Iterator[JobReporter]:
    """`counts` are those of what this process asks of the lake's store."""
    at = record_location(place, counts)
    with recorded(at, kind, about, actor=place.actor, where=where(spark)) as run, watched(spark, run.stages):
        yield run


class RecordLocation(NamedTuple):
    """Where its record is kept."""

    store: Store
    clock: Clock
    ids: Ids


def record_location(place: LakePlace, counts: RequestCounts | None) -> RecordLocation:
    clock, ids = SystemClock(), Ids()
    store = place.store.open(clock=clock, ids=ids)
    return RecordLocation(store if counts is None else CountingStore(store, counts), clock, ids)


def where(spark: SparkSession) -> str:
    """What the session itself says."""
    with suppress(Exception):  # a server of Connect may keep it to itself
        return spark.conf.get("spark.master") or ""
    return ""
