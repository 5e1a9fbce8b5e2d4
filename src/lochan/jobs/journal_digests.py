"""Prepares segments of a journal in tasks of Spark: a task reads some segments, checks them, and sends the parts of
each that the fold needs. The driver starts one wave of tasks at a time, so it never holds more of a journal than
that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor
from lochan.ids import Ids
from lochan.jobs.messages import reports_errors
from lochan.jobs.tasks import run_on_bytes
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.journal_digest import digest_segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEGMENTS_PER_TASK = 8


class DigestTask(msgspec.Struct, frozen=True, array_like=True):
    journal: str
    segments: list[tuple[int, str]]  # group, and the path of its segment
    stops: list[int]


def digest_wave(
    spark: SparkSession, place: StoreLocation, journal: str, segments: Sequence[tuple[int, str]], stops: Sequence[int]
) -> list[bytes]:
    """Returns the digests of these segments, in order. It calls into the JVM, so a program with an event loop must call
    it on a thread. Raises the errors of tasks, such as Corrupt for a damaged segment."""
    tasks = [
        DigestTask(journal, list(segments[at : at + _SEGMENTS_PER_TASK]), list(stops))
        for at in range(0, len(segments), _SEGMENTS_PER_TASK)
    ]
    sent = run_on_bytes(spark, partial(_digests, place), [msgspec.msgpack.encode(each) for each in tasks])
    found = dict(msgspec.msgpack.decode(each, type=tuple[int, bytes]) for each in sent)
    return [found[group] for group, _ in segments]


def _digests(place: StoreLocation, tasks: Iterable[bytes]) -> Iterator[bytes]:
    with reports_errors(), asyncio.Runner() as runner:
        store = open_on_executor(place, SystemClock(), Ids())
        for data in tasks:
            task = msgspec.msgpack.decode(data, type=DigestTask)
            for group, path in task.segments:
                made = runner.run(_digest(store, task, group, path))
                yield msgspec.msgpack.encode((group, made))


async def _digest(store: Store, task: DigestTask, group: int, path: str) -> bytes:
    return digest_segment(await store.get(path), task.journal, group, task.stops)
