"""A repository as a simulated machine opens it: the real one, without anything that would leave the simulated loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lochan.errors import Transient
from lochan.formats.record import Actor
from lochan.formats.repository_events import RepositoryOpened
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import GROUP, ObjectSlots
from lochan.journal.state import Schema
from lochan.staging.compaction import CompactionLimits
from lochan.staging.runs import Runs
from lochan.store.protocol import Store
from lochan.store.retry import RetryStore
from lochan.store.threads import Threads
from lochan.tree.assemble import RangeCut
from lochan.tree.trees import Trees
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.catalog import _first_commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import FILES, Repository
from lochan.versioning.state.refs import Refs
from tests.sim.machine import Machine
from tests.sim.request import Request
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.view import View
from tests.store_faults import LatencyStore

ID = "repo"
SMALL = RangeCut(2, 2, 4)  # so that a few paths make several ranges
WHOLE = RangeCut(50, 50, 100)  # and here one, which is quicker
EAGER = CompactionLimits(inline_count=2, runs=1, tombstones=1)  # so that a few writes go through every level
_FILE = "a file"
T = TypeVar("T")


@dataclass(slots=True)
class Place:
    """The state that all machines of one run share."""

    oracle: RepositoryOracle
    aged: bool = True  # an object store, with the journal's fast path; else a disk
    checkpoint_every: int = 1_000
    patience_s: float = 30.0
    instant: bool = False  # files take no time and no turn: only what the journal is asked for can be reordered
    cut: RangeCut = SMALL
    workspaces: list[str] = field(default_factory=list)  # ids of those that were opened
    asked: int = 0
    written: int = 0
    uploads: list[str] = field(default_factory=list)  # ids of those that were opened
    id: str = ID
    kind: str = FILES
    group: int = GROUP  # records in a segment of the journal

    async def open(self, machine: Machine, slow_s: float = 0.0) -> OpenRepository:
        """`slow_s`: how long this machine takes to write or read a file, in addition to the world's delays."""
        store = self.store_of(machine)
        if slow_s:
            store = Sluggish(store, machine.clock, lambda verb: slow_s if verb in ("put", _FILE) else 0.0)
        schema = Schema(Refs, alarm=self.oracle.alarm)
        slots = ObjectSlots(store, self.id, aged=self.aged, group=self.group)
        settings = Settings(machine.name, patience_s=self.patience_s, checkpoint_every=self.checkpoint_every)
        while True:
            try:
                journal = await Journal.open(self.id, schema, slots, store, machine.clock, machine.ids, settings)
                break
            except Transient:
                await machine.clock.sleep(1)
        known = Repository(self.id, "demo-repo", self.kind, "main", 0, "user", {})
        repository = OpenRepository(
            known, journal, store, machine.clock, machine.ids, writer=machine.name, outside=self.outside_of(machine)
        )
        repository.trees = Trees(store, self.id, threads=Here(), cut=self.cut, width=1)
        repository.runs = Runs(store, self.id, machine.clock, machine.ids, threads=Here())
        return repository

    def store_of(self, machine: Machine) -> Store:
        return Instant(machine) if self.instant else RetryStore(machine.store, machine.clock, machine.ids)

    def outside_of(self, machine: Machine) -> OutsideFiles | None:
        return None

    async def begin(self, machine: Machine) -> OpenRepository:
        """The repository's first event."""
        repository = await self.open(machine)
        first = RepositoryOpened(self.kind, "main", _first_commit(machine.clock))
        await repository.submit(Actor("user", "sim", ""), first)
        return repository


class Here(Threads):
    """Runs work at once, without a thread."""

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        return work(*arguments)


class Sluggish(LatencyStore):
    """Files take long, the journal does not: otherwise a slow writer would never get a turn."""

    async def get(self, path: str) -> bytes:
        if "/journal/" not in path:
            await self._wait(_FILE)
        return await self.inner.get(path)


class Instant(View):
    """The store, with every file except the journal's written and read at once. Nobody looks at a file before the
    journal names it, so the order of these requests makes no difference."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.world.shared_store(), machine)

    async def send(self, verb: str, path: str, data: bytes | None = None, more: Any = None) -> Any:
        if "/journal/" in path or not self._machine.alive:
            return await super().send(verb, path, data, more)
        value = self._store.perform(Request(self._store, self._machine, verb, path, data, more))
        if isinstance(value, BaseException):
            raise value
        return value
