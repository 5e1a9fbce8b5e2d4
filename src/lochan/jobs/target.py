"""What an executor must know to write data objects of a pool. Small, and the same for all tasks of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from lochan.clock import Clock
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.executors import TASK_MEMORY_BYTES, open_on_executor
from lochan.errors import Refused
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.ids import Ids
from lochan.jobs.messages import TaskMessage
from lochan.pools.object_upload import ObjectWriter
from lochan.pools.settings import settings_of
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.location import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL


@dataclass(frozen=True, slots=True)
class PoolTarget:
    """May be pickled; what opens the store is never printed."""

    place: StoreLocation
    repository_id: str
    settings: PoolSettings
    mint: int  # folded before any task wrote a byte (G1)
    limits: Limits = field(default=Limits(memory_bytes=TASK_MEMORY_BYTES, threads=1))  # of one task
    temp: str | None = None  # the folder for what does not fit into a task's memory; None: Spark's own

    prefix: ClassVar[str] = ""  # all of the pool
    suffix: ClassVar[str] = ""  # behind the name of the branch
    verb: ClassVar[str] = "load"  # in the journal, and in a commit that has no message

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """What a task does with its rows."""
        from lochan.jobs.pool_writer import write_rows  # with an engine behind it, which only tasks need

        return write_rows(self, batches)

    def store(self, clock: Clock, ids: Ids) -> Store:
        return open_on_executor(self.place, clock, ids)

    def writer(self, store: Store, clock: Clock, ids: Ids) -> ObjectWriter:
        return ObjectWriter(store, self.repository_id, self.mint, clock=clock, ids=ids)


async def pool_target(
    repository: OpenRepository, place: StoreLocation, branch: str, *, memory_bytes: int = TASK_MEMORY_BYTES
) -> PoolTarget:
    """To be made before the first task starts. Raises Refused for a repository that is no pool, NotFound for a branch
    that is not there: before anything is written."""
    about = repository.repository
    if about.kind != POOL:
        raise Refused(f"{about.name!r} holds files and is not a pool", hint="`lochan create POOL` makes a pool")
    refs, mint = await repository.refs()
    refs.guard.check_writable()
    refs.branch(branch)
    limits = Limits(memory_bytes=memory_bytes, threads=1)
    return PoolTarget(place.for_others(), about.id, settings_of(about), mint, limits)


class PutCounter:
    """What a task puts to the store, counted where it is put.

    The counts travel in the task's messages, and so only those of tries whose messages Spark took: one of Spark's
    accumulators would count a task twice that was tried twice. What other tries put is in no commit, and is
    not counted.
    """

    def __init__(self, store: Store) -> None:
        self._counts = RequestCounts()
        self._told = 0
        self.store = CountingStore(store, self._counts)  # to put through

    def message(self, entry: Entry, rows: int) -> TaskMessage:
        """Of an object that was put."""
        put = self._counts.total.bytes_out
        new, self._told = put - self._told, put
        return TaskMessage((entry,), rows, entry.size, put_bytes=new)
