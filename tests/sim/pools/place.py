"""A pool as a simulated machine opens it: the real one, with an engine whose rows are words."""

from dataclasses import dataclass, field

from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import RepositoryOpened
from lochan.pools.merge import PoolJoins, RowMerge
from lochan.versioning.catalog import _first_commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL, Repository
from tests.sim.machine import Machine
from tests.sim.pools.oracle import PoolOracle
from tests.sim.pools.rows import entry, merged
from tests.sim.versioning.place import ID, WHOLE, Place


@dataclass(slots=True)
class PoolPlace:
    oracle: PoolOracle
    asked: int = 0
    written: int = 0
    inner: Place = field(init=False)

    def __post_init__(self) -> None:
        self.inner = Place(self.oracle, instant=True, patience_s=0.05, cut=WHOLE)  # type: ignore[arg-type]

    async def open(self, machine: Machine) -> OpenRepository:
        repository = await self.inner.open(machine)
        repository.repository = Repository(ID, "demo-pool", POOL, "main", 0, "user", {})
        repository.joins = PoolJoins(repository, self.computed)
        return repository

    async def begin(self, machine: Machine) -> OpenRepository:
        repository = await self.open(machine)
        await repository.submit(Actor("user", "sim", ""), RepositoryOpened(POOL, "main", _first_commit(machine.clock)))
        return repository

    async def computed(self, repository: OpenRepository, merge: RowMerge, mint: int) -> list[Entry]:
        rows = merged(*merge[:3])
        return [self.object(rows)] if rows else []

    def object(self, rows: list[str]) -> Entry:
        self.written += 1
        return entry(self.written, rows)
