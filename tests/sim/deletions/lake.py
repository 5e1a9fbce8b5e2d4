"""A lake with one repository as a simulated machine opens it, and what everybody was told about it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

from lochan.clock import Clock
from lochan.errors import LochanError, NotFound
from lochan.formats.collection_events import RetentionSet
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.formats.repository_events import RepositoryClosed, RepositoryOpened, RepositoryReopened
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.protocol import Store
from lochan.store.retry import RetryStore
from lochan.versioning import objects
from lochan.versioning.catalog import _first_commit
from lochan.versioning.collection import strays
from lochan.versioning.collection.deleted import ages, erase_deleted, expire_deleted
from lochan.versioning.collection.plan import CollectionLimits
from lochan.versioning.deletion import Closing, LakeJournals, delete_repository, restore_repository, settle_closed
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import FILES, DeletedRepository, Repositories, Repository
from lochan.versioning.state.refs import Refs
from tests.sim.machine import Machine
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.world import World

ID, NAME = "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "demo"
AT_ONCE = CollectionLimits(grace_s=-1e9, confirmed=True, records=0)
_SETTINGS_S = 0.05


@dataclass(slots=True)
class Told:
    """What machines were told, which must be true in the end."""

    world: World
    written: list[str] = field(default_factory=list)  # paths
    restored: bool = False  # somebody was told that it is back
    named: bool = False
    deletions: int = 0  # that were begun; whoever dies half-way is told nothing
    before: int = 0  # of them, before the scene

    def alarm(self, text: str) -> None:
        if "no checkpoint" not in text:
            self.world.fail(f"ALARM: {text}")


class SimLake:
    id = "lake"

    def __init__(self, told: Told, machine: Machine, own: Journal, store: Store) -> None:
        self.told = told
        self.machine = machine
        self._own = own
        self._store = store
        self.actor = Actor("user", machine.name, "")

    @classmethod
    async def open(cls, told: Told, machine: Machine) -> "SimLake":
        store = RetryStore(machine.store, machine.clock, machine.ids)
        return cls(told, machine, await _journal(told, machine, store, "_lake", Schema(Repositories)), store)

    @property
    def store(self) -> Store:
        return self._store

    @property
    def files(self) -> Store:
        return self._store  # every repository lies in the lake

    async def release_storage(self, repository: Repository) -> None:
        pass

    @property
    def clock(self) -> Clock:
        return self.machine.clock

    def journals(self) -> LakeJournals:
        return LakeJournals(self._own, self._open_own, self._store, self.clock)

    async def _open_own(self, id: str) -> Journal:
        return await _journal(self.told, self.machine, self._store, id, Schema(Refs, alarm=self.told.alarm))

    async def open_known(self, found: Repository) -> OpenRepository:
        place = Place(SimpleNamespace(alarm=self.told.alarm), patience_s=_SETTINGS_S, cut=WHOLE, id=found.id)  # type: ignore[arg-type]
        opened = await place.open(self.machine)
        opened.repository = found
        opened.settle_closed = partial(self._settle, found.id)
        return opened

    async def _settle(self, id: str, number: int, undo_days: float) -> None:
        await settle_closed(self.journals(), id, Closing(number, undo_days))

    async def repositories(self) -> list[Repository]:
        return (await self._own.fresh()).of(Repositories).all()

    async def deleted_repositories(self) -> list[DeletedRepository]:
        return (await self._own.fresh()).of(Repositories).deleted()

    async def close(self) -> None:
        await self._own.close()

    # --- what machines do --------------------------------------------------------------------------------------------
    async def prepare(self) -> None:
        """The first half of a creation."""
        own = await self._open_own(ID)
        first = RepositoryOpened(FILES, "main", _first_commit(self.clock))
        await own.submit(AppendRequest(self.actor, lambda _: [first]))
        await own.submit(AppendRequest(self.actor, lambda _: [RetentionSet(undo_days=0)]))
        await own.close()

    async def name(self) -> None:
        made = RepositoryCreated(ID, NAME, FILES, "main")
        await self._own.submit(AppendRequest(self.actor, lambda _: [made]))
        self.told.named = True

    async def create(self) -> None:
        await self.prepare()
        await self.name()

    async def write(self, path: str) -> None:
        repository = await self.open_known((await self._own.fresh()).of(Repositories).get(NAME))
        await repository.refs()
        await objects.put(repository, "main", path, _pieces(path), actor=self.actor)
        self.told.written.append(path)
        await repository.close()

    async def delete(self) -> None:
        self.told.deletions += 1
        await delete_repository(self.journals(), name=NAME, actor=self.actor)

    async def restore(self) -> None:
        await restore_repository(self.journals(), name=NAME, actor=self.actor)
        self.told.restored = True

    async def collect(self) -> None:
        for age in await ages(self):
            if not age.about.list:
                await expire_deleted(self, age, actor=self.actor)
        await erase_deleted(self, [age for age in await ages(self) if age.about.list], AT_ONCE, actor=self.actor)

    async def adopt(self) -> None:
        for stray in await strays.find_strays(self, silent_s=-1e9):
            await strays.adopt(self, stray, actor=self.actor)

    # --- in the end --------------------------------------------------------------------------------------------------
    async def judge(self) -> None:
        """On a machine that comes last: what is there is whole, and what can be restored is whole after that."""
        try:
            await self._judge()
        except LochanError as error:
            self.told.world.fail(f"BROKEN: it can be neither used nor restored: {error}")

    async def _judge(self) -> None:
        await self._judge_journal()
        told = self.told
        live = await self._read() is not None
        if not live:
            found = await self.deleted_repositories()
            if told.deletions == told.before and (told.restored or (told.named and not told.before)):
                told.world.fail("LOST: it is not there, and nobody was told that it is deleted")
            if found and not found[0].list and found[0].repository.name:
                await restore_repository(self.journals(), name=NAME, actor=self.actor)
                live = True
        if live and (missing := set(told.written) - set(await self._read() or ())):
            told.world.fail(f"LOST: {sorted(missing)} were written, and are not there")

    async def _read(self) -> list[str] | None:
        try:
            repository = await self.open_known((await self._own.fresh()).of(Repositories).get(NAME))
            await repository.refs()
        except NotFound:
            return None
        entries = (await objects.list_objects(repository, "main")).entries
        for entry in entries:
            if await repository.reader.read_all(entry) != entry.path.encode():
                self.told.world.fail(f"DESTROYED: {entry.path} is not what was written")
        await objects.put(repository, "main", "last", _pieces("last"), actor=self.actor)
        await repository.close()
        return [entry.path for entry in entries]

    async def _judge_journal(self) -> None:
        """Nothing comes between the closing of a journal and its reopening."""
        own = await self._open_own(ID)
        closed = False
        async for sealed in own.records():
            for entry in sealed.record.entries:
                for change in entry.changes:
                    if closed and change.type != RepositoryReopened.type:
                        self.told.world.fail(f"LATE: {change.type} came to a repository that is deleted")
                    closed = change.type == RepositoryClosed.type
        await own.close()


async def _journal(told: Told, machine: Machine, store: Store, id: str, schema: Schema) -> Journal:
    settings = Settings(machine.name, patience_s=_SETTINGS_S, checkpoint_every=1_000)
    return await Journal.open(
        id, schema, ObjectSlots(store, id, aged=True), store, machine.clock, machine.ids, settings
    )


async def _pieces(text: str) -> AsyncIterator[bytes]:
    yield text.encode()
