"""Checks objects in a bucket that Spark reads by itself: before that, each is read as a whole and compared with its
SHA-256, once for each ETag.

Tasks of Spark read them, and only digests come back. If Spark runs on this machine, this process reads a few of them,
which is quicker than starting tasks. Sizes and ETags come from a listing, so there is no request for each object."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.files import StoredObject, damaged_error, gone_meanwhile
from lochan.engines.spark.executors import ship
from lochan.engines.spark.object_stats import at_once, object_stats
from lochan.errors import LochanError, NotFound
from lochan.ids import Ids
from lochan.runtime import run_in_thread
from lochan.store.checked_reads import ReadDoubt
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.store.verified_files import VerifiedFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_READ_AT_ONCE = 8
_TASK_BYTES = 256 << 20  # bytes that one task reads
_SCHEMA = pa.schema([("number", pa.int64()), ("etag", pa.string()), ("digest", pa.binary())])
_SPARK_SCHEMA = "number bigint, etag string, digest binary"


class _Seen(NamedTuple):
    """An object's ETag and digest as it was read. Both are empty if it is gone."""

    etag: str
    digest: bytes


class BucketCheck:
    """Checks objects. `tasks` is the session whose tasks read more than `few` objects; without it, this process reads
    all."""

    def __init__(
        self,
        place: StoreLocation,
        store: Store,
        verified: VerifiedFiles,
        tasks: SparkSession | None = None,
        few: int = 0,
    ) -> None:
        self._place = place
        self._store = store
        self._verified = verified
        self._tasks = tasks
        self._few = few

    async def check(self, objects: Sequence[StoredObject], *, recheck: bool = False) -> list[bool]:
        """Returns for each object whether it exists. Raises Corrupt. With `recheck`, earlier results do not count."""
        stats = await object_stats(self._store, [each.address for each in objects])
        for each, stat in zip(objects, stats, strict=True):
            if stat is not None and stat.size != each.size:
                raise damaged_error(each, f"it has {stat.size} bytes instead of {each.size}")
        doubtful = {  # a file that objects share is read once
            (each.address, each.sha256): each
            for each, stat in zip(objects, stats, strict=True)
            if stat is not None and (recheck or not self._verified.has(each.address, stat.etag or None, each.sha256))
        }
        lost: set[str] = set()
        try:
            wrong = await self._find_wrong(list(doubtful.values()), lost)
        finally:
            self._verified.save()
        if wrong:
            raise damaged_error(wrong[0], "its SHA-256 is not the one it was written with")
        return [stat is not None and each.address not in lost for each, stat in zip(objects, stats, strict=True)]

    def failure(self, objects: Sequence[StoredObject]) -> LochanError | None:
        """Returns the error of the first object that is gone or damaged. It can be called from any thread, even one
        with an event loop."""

        async def read() -> LochanError | None:
            lost: set[str] = set()
            wrong = await self._find_wrong(objects, lost)
            if lost:
                return gone_meanwhile(next(each for each in objects if each.address in lost))
            return damaged_error(wrong[0], "its SHA-256 is not the one it was written with") if wrong else None

        return run_in_thread(read)

    async def _find_wrong(self, objects: Sequence[StoredObject], lost: set[str]) -> list[StoredObject]:
        """Returns the objects that differ from what was written: the same wrong bytes were read twice."""
        doubts = {each.address: ReadDoubt() for each in objects}
        wrong: list[StoredObject] = []
        left = objects
        while left:
            again: list[StoredObject] = []
            for each, digest in await self._read(left, lost):
                (again if doubts[each.address].again(digest) else wrong).append(each)
            left = again
        return wrong

    async def _read(self, objects: Sequence[StoredObject], lost: set[str]) -> list[tuple[StoredObject, bytes]]:
        """Returns the objects with another digest than expected, each with that digest."""
        if self._tasks is None or len(objects) <= self._few:
            seen = await at_once(_READ_AT_ONCE, [_digest(self._store, each.address) for each in objects])
        else:
            seen = await asyncio.to_thread(_by_tasks, self._tasks, self._place, objects)
        wrong = []
        for each, (etag, digest) in zip(objects, seen, strict=True):
            if not digest:
                lost.add(each.address)
            elif digest != each.sha256:
                wrong.append((each, digest))
            else:
                self._verified.add(each.address, etag or None, each.sha256)
        return wrong


async def _digest(store: Store, address: str) -> _Seen:
    hashed = hashlib.sha256()
    try:
        before = await store.head(address)
        async for chunk in store.get_stream(address):
            await _threads.run(hashed.update, chunk)
        after = await store.head(address)
    except NotFound:
        return _Seen("", b"")
    return _Seen(after.etag if before.etag == after.etag else "", hashed.digest())


def _by_tasks(spark: SparkSession, place: StoreLocation, objects: Sequence[StoredObject]) -> list[_Seen]:
    ship(spark)
    lots = max(1, min(len(objects), sum(each.size for each in objects) // _TASK_BYTES + 1))
    table = pa.table(
        {
            "number": pa.array(range(len(objects)), pa.int64()),
            "lot": pa.array((number % lots for number in range(len(objects))), pa.int32()),
            "address": pa.array([each.address for each in objects], pa.string()),
        }
    )
    frame = spark.createDataFrame(table).repartitionById(lots, "lot")
    found = frame.mapInArrow(partial(_digests, place.for_others()), _SPARK_SCHEMA).toArrow().sort_by("number")
    return [_Seen(each["etag"], each["digest"]) for each in found.to_pylist()]


def _digests(place: StoreLocation, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Computes digests on an executor."""
    store = place.open(clock=SystemClock(), ids=Ids())
    for batch in batches:
        addresses = batch.column("address").to_pylist()
        seen = asyncio.run(at_once(_READ_AT_ONCE, [_digest(store, each) for each in addresses]))
        columns = [[each.etag for each in seen], [each.digest for each in seen]]
        yield pa.RecordBatch.from_arrays([batch.column("number"), *map(pa.array, columns)], schema=_SCHEMA)


_threads = for_tables()
