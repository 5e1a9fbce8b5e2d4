"""Decides when the small objects of a stream are merged, how far, and where: eight commits into one object, eight of
those into one, and so on up to the pool's own size. So a row is written again only as often as its object has grown
eightfold.

    driver   in the process that the stream runs in, by the embedded engine, with little memory and one thread
    spark    by tasks of Spark, beside those of the stream
    none     not at all: `lochan manage` does it, wherever that runs

A failed merge never ends a stream: objects that were not merged now will be merged in another round."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import duckdb
import pyarrow.compute as pc

from lochan.engines.choice import DUCKDB, SPARK
from lochan.engines.duckdb.data_objects import snapshot_of
from lochan.engines.duckdb.limits import Limits
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.place import SparkPlace
from lochan.errors import ConcurrentCommit, Invalid, LochanError, NothingToDo
from lochan.formats.record import Actor
from lochan.jobs.compaction import CompactJobOptions, PoolCompactionResult, compact
from lochan.jobs.compaction_plan import CompactRequest
from lochan.pools.upkeep import Policy
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAN = 8
_ROOM = 1.25  # merged rows take less room, and merged objects must not be small again in the next round
# If keys come in no order, all objects overlap, and each round would write all of them again.
_OVERLAPPING = 2 * FAN
DRIVER, ON_SPARK, NOWHERE = "driver", "spark", "none"
PLACES = (DRIVER, ON_SPARK, NOWHERE)
# It runs in this process with few resources, because the stream goes on meanwhile.
_HERE = CompactJobOptions(DUCKDB, Limits(memory_bytes=512 << 20, threads=1))
_ROUNDS = 3
_TOO_MANY = 2  # times as many objects as the rows would fill
_log = logging.getLogger("lochan.ingest")


def compaction_place(place: str | bool) -> str:
    """Returns the place. True and False are older names for the first and the last. Raises Invalid."""
    found = place if isinstance(place, str) else DRIVER if place else NOWHERE
    if found not in PLACES:
        raise Invalid(f"compact={found!r}: small objects cannot be merged there", hint=f"say {', '.join(PLACES)}")
    return found


def compaction_options(
    place: str, spark: SparkPlace | None = None, session: SparkSession | None = None
) -> CompactJobOptions:
    """Returns the options for a compaction. On Spark it runs in that session, or at that place."""
    if place != ON_SPARK:
        return _HERE
    return CompactJobOptions(SPARK, spark=spark or CompactJobOptions().spark, session=session)


class CompactionSchedule:
    """Decides when a stream's objects are merged. `size_bytes` is the size that an object of the pool should have."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._commits = self._bytes = 0

    def landed(self, size_bytes: int) -> CompactRequest | None:
        """Counts a commit of so many bytes that came to the branch. Returns what is to be merged now, if anything."""
        self._commits += 1
        self._bytes += size_bytes
        if self._commits % FAN:
            return None
        fit = int(self._bytes / self._commits * self._count_together() * _ROOM)
        return CompactRequest(policy=Policy(_OVERLAPPING, 1), size_bytes=min(self._size_bytes, max(1, fit)))

    def _count_together(self) -> int:
        """Returns how many commits one object should hold: the greatest power of eight that their number is a multiple
        of."""
        commits = 1
        while self._commits % (commits * FAN) == 0:
            commits *= FAN
        return commits


async def compact_stream(
    at: QueryContext,
    pool: str,
    branch: str,
    request: CompactRequest,
    *,
    actor: Actor,
    options: CompactJobOptions = _HERE,
    last: bool = False,
) -> PoolCompactionResult | None:
    """Merges small objects of the stream. With `last`, the stream stops and should leave no more than twice as many
    objects as its rows would fill; if there are no more, nothing is done. Returns None if nothing was done, or if it
    failed, which is logged."""
    try:
        repository = await at.catalog.open_repository(pool)
        try:
            if last and not await _too_many(repository, branch, request.size_bytes):
                return None
            return await _compact(at, repository, branch, request, actor, options)
        finally:
            await repository.close()
    except (LochanError, OSError, duckdb.Error) as error:
        _log.warning("could not compact %s@%s: %s", pool, branch, error)
        return None


async def _compact(
    at: QueryContext,
    repository: OpenRepository,
    branch: str,
    request: CompactRequest,
    actor: Actor,
    options: CompactJobOptions,
) -> PoolCompactionResult | None:
    """Compacts more than once: objects that overlapped are merged first, and may then be small beside their
    neighbours."""
    done = None
    for _ in range(_ROUNDS):
        try:
            done = await compact(repository, branch, at, request, actor=actor, options=options)
        except NothingToDo:
            break
        except ConcurrentCommit:
            continue
    return done


async def _too_many(repository: OpenRepository, branch: str, size_bytes: int) -> bool:
    refs, _ = await repository.refs()
    id = refs.branch(branch).head
    snapshot = await snapshot_of(repository, id, await repository.tree(refs.commit(id)))
    total = pc.sum(snapshot.spans["size"]).as_py() or 0
    ideal = max(1, math.ceil(total / (size_bytes or snapshot.settings.size_bytes)))
    return bool(snapshot.spans.num_rows > _TOO_MANY * ideal)
