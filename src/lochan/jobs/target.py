"""What an executor must know to write data objects of a pool. Small, and the same for all tasks of a job."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from lochan.clock import Clock
from lochan.engines.duckdb.limits import Limits
from lochan.errors import NotFound, Refused
from lochan.formats.pool_settings import PoolSettings
from lochan.ids import Ids
from lochan.pools.settings import settings_of
from lochan.pools.writing import ObjectWriter
from lochan.store.location import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

TASK_MEMORY_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """May be pickled; what opens the store is never printed."""

    place: StoreLocation
    repository_id: str
    settings: PoolSettings
    mint: int  # folded before any task wrote a byte (G1)
    limits: Limits = field(default=Limits(memory_bytes=TASK_MEMORY_BYTES, threads=1))  # of one task
    temp: str | None = None  # the folder for what does not fit into a task's memory; None: Spark's own

    def store(self, clock: Clock, ids: Ids) -> Store:
        return open_there(self.place, clock, ids)

    def writer(self, store: Store, clock: Clock, ids: Ids) -> ObjectWriter:
        return ObjectWriter(store, self.repository_id, self.mint, clock=clock, ids=ids)


def open_there(place: StoreLocation, clock: Clock, ids: Ids) -> Store:
    """On an executor. Raises Refused where its machine has no such folder."""
    try:
        return place.open(clock=clock, ids=ids)
    except NotFound as error:
        raise Refused(
            f"{socket.gethostname()} does not see the lake at {place.url}: {error.message}",
            hint="executors need a folder that all machines share, or a bucket",
        ) from error


async def target_of(
    repository: OpenRepository, place: StoreLocation, branch: str, *, memory_bytes: int = TASK_MEMORY_BYTES
) -> Target:
    """To be made before the first task starts. Raises Refused for a repository that is no pool, NotFound for a branch
    that is not there: before anything is written."""
    about = repository.repository
    if about.kind != POOL:
        raise Refused(f"{about.name!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")
    refs, mint = await repository.refs()
    refs.guard.check_writable()
    refs.branch(branch)
    limits = Limits(memory_bytes=memory_bytes, threads=1)
    return Target(place.for_others(), about.id, settings_of(about), mint, limits)
