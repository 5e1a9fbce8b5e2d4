"""A lake with one repository that is deleted, brought back, expired and erased, each by the product's own verbs."""

from contextlib import suppress

from lochan.clock import Clock
from lochan.errors import Corrupt, LochanError, NotFound
from lochan.formats.collection_events import RetentionSet
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.protocol import Store
from lochan.versioning import deletion
from lochan.versioning.collection import deleted
from lochan.versioning.deletion import LakeJournals
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import DeletedRepository, Repositories, Repository
from lochan.versioning.state.refs import Refs
from tests.sim.collection.client import CollectionClient
from tests.sim.files.collector import AT_ONCE, LAKE
from tests.sim.machine import Machine
from tests.sim.versioning.place import ID, Place
from tests.sim.versioning.request import ClientRequest

NAME = "demo-repo"
OWN = "_lake"


class SimLake:
    """An open lake, as one machine has it."""

    id = LAKE

    def __init__(self, place: Place, machine: Machine, own: Journal) -> None:
        self._place, self._machine, self._own = place, machine, own
        self.store: Store = place.store_of(machine)
        self.files = self.store  # every repository lies in the lake
        self.clock: Clock = machine.clock

    @classmethod
    async def open(cls, place: Place, machine: Machine) -> "SimLake":
        return cls(place, machine, await _journal(place, machine, OWN, Schema(Repositories, alarm=place.oracle.alarm)))

    def journals(self) -> LakeJournals:
        return LakeJournals(self._own, self._open, self.store, self.clock)

    async def _open(self, id: str) -> Journal:
        return await _journal(self._place, self._machine, id, Schema(Refs, alarm=self._place.oracle.alarm))

    async def open_known(self, found: Repository) -> OpenRepository:
        return await self._place.open(self._machine)

    async def repositories(self) -> list[Repository]:
        return (await self._own.fresh()).of(Repositories).all()

    async def release_storage(self, repository: Repository) -> None:
        pass

    async def deleted_repositories(self) -> list[DeletedRepository]:
        return (await self._own.fresh()).of(Repositories).deleted()

    async def close(self) -> None:
        await self._own.close()


async def _journal(place: Place, machine: Machine, id: str, schema: Schema) -> Journal:
    store = place.store_of(machine)
    settings = Settings(machine.name, patience_s=place.patience_s, checkpoint_every=place.checkpoint_every)
    slots = ObjectSlots(store, id, aged=place.aged, group=place.group)
    return await Journal.open(id, schema, slots, store, machine.clock, machine.ids, settings)


async def create(client: CollectionClient) -> None:
    """Enters the repository in the lake. What is deleted there may expire at once."""
    await client.repository.submit(client.actor(), RetentionSet((), undo_days=0))
    lake = await SimLake.open(client.place, client.machine)
    event = RepositoryCreated(ID, NAME, "files", "main")
    await lake.journals().lake.submit(AppendRequest(client.actor(), lambda _: [event]))
    await lake.close()


async def delete(client: CollectionClient) -> None:
    lake = await SimLake.open(client.place, client.machine)
    with suppress(LochanError):
        await deletion.delete_repository(lake.journals(), name=NAME, actor=client.actor())
    await lake.close()


async def restore(client: CollectionClient) -> None:
    lake = await SimLake.open(client.place, client.machine)

    async def work(actor: Actor) -> None:
        await deletion.restore_repository(lake.journals(), name=NAME, actor=actor)

    await client.ask(ClientRequest("restore", "main"), work)
    await lake.close()


async def settle(client: CollectionClient) -> None:
    """Opens the repository by its name, as upkeep does: what an interrupted deletion has left is completed."""
    lake = await SimLake.open(client.place, client.machine)
    if (await lake.journals().lake.fresh()).of(Repositories).is_live(ID):
        repository = client.repository
        repository.settle_closed = lambda number, undo_days: deletion.settle_closed(
            lake.journals(), ID, deletion.Closing(number, undo_days)
        )
        with suppress(NotFound):
            await repository.refs()
        repository.settle_closed = None
    await lake.close()


async def erase(client: CollectionClient) -> None:
    """Expires and erases what is deleted, with no grace at all."""
    lake = await SimLake.open(client.place, client.machine)
    try:
        for age in await deleted.ages(lake):
            if not age.about.list:
                await deleted.expire_deleted(lake, age, actor=client.actor())
        expired = [age for age in await deleted.ages(lake) if age.about.list]
        await deleted.erase_deleted(lake, expired, AT_ONCE, actor=client.actor())
        await deleted.erase_late_files(lake)
    except Corrupt:
        raise
    except LochanError:
        pass
    await lake.close()
