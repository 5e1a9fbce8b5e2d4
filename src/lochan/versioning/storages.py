"""Opens the storages of a lake's repositories: most of them lie in the lake, some in a storage of their own, which the
lake's journal names. Each storage is opened once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Invalid, LochanError, Refused
from lochan.formats.lake_events import RepositoryMoved
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.store.protocol import Store
from lochan.store.routed import RoutedStore, StorageName
from lochan.versioning.repositories import Repositories, Repository

if TYPE_CHECKING:
    from lochan.store.open import StoreLocation

Locate = Callable[[StorageName], "StoreLocation"]
OpenJournal = Callable[[str, Store], Awaitable[Journal]]  # opens the journal of a repository in that store
Create = Callable[..., Awaitable[Repository]]  # `catalog.create_repository`, without its journal, storage and id


class Storages:
    def __init__(
        self, lake: Store, lake_id: str, journal: Journal, clock: Clock, ids: Ids, locate: Locate | None = None
    ) -> None:
        """Remembers what opens storages. `journal` is the lake's own. Without `locate`, only folders of this machine
        can be reached."""
        self._lake = lake
        self._lake_id = lake_id
        self._journal = journal
        self._clock = clock
        self._ids = ids
        self._locate = locate
        self._opened: dict[StorageName, Store] = {}

    @cached_property
    def files(self) -> Store:
        """All files of the lake, wherever its repositories lie, as this process last saw the lake."""
        return RoutedStore(self._lake, self.own, self.routed)

    async def current_files(self) -> Store:
        """Returns `files` as the lake is now: a lake that was just opened may not have seen all of its journal."""
        await self._journal.fresh()
        return self.files

    def of(self, repository: Repository) -> Store:
        """Returns the store of the repository's files. Raises Refused, and NotFound for credentials that are not
        configured here."""
        return self._open(_name(repository)) or self._lake

    def own(self, id: str) -> Store | None:
        """Returns the storage of the repository with that id, or None if it lies in the lake."""
        found = self._journal.tail.state.of(Repositories).by_id(id)
        return None if found is None else self._open(_name(found))

    def routed(self) -> list[str]:
        """Returns the ids of repositories that do not lie in the lake."""
        return [each.id for each in self._repositories_outside()]

    def locations(self) -> dict[str, StoreLocation]:
        """Returns how another process opens each storage, by id. One that cannot be reached is left out: a reader of it
        here gets the reason."""
        found = {}
        for each in self._repositories_outside():
            with suppress(LochanError):
                found[each.id] = self.locate(_name(each))
        return found

    def locate(self, name: StorageName) -> StoreLocation:
        """Opens a storage, in any process. Raises NotFound, Invalid, Refused."""
        from lochan.store.open import StoreLocation

        if self._locate is not None:
            return self._locate(name)
        if name.credentials or not name.url.startswith("file://"):
            raise Refused(f"{name.url} cannot be reached from here", hint="open the lake from a configuration")
        return StoreLocation(name.url)

    async def create(self, create: Create, open_journal: OpenJournal, storage: StorageName) -> Repository:
        """Creates a repository in a storage of its own. The storage is checked and claimed first, and released if the
        repository was certainly not made. Raises Refused, Invalid, AlreadyExists."""
        from lochan.versioning import own_storage

        own_storage.check_place(storage.url, self._lake.url, self._repositories_outside())
        store = own_storage.open_new(lambda: self.locate(storage), self._clock, self._ids)
        await own_storage.check_free(store, self._clock, self._ids)
        id = self._ids.ksuid(self._clock.wall())
        await own_storage.claim(store, self._lake_id, id, self._clock, self._ids)
        try:
            made = await create(lambda id: open_journal(id, store), storage=storage, id=id)
        except (AlreadyExists, Invalid, Refused):  # these errors mean for certain that it was not made
            await own_storage.release(store, self._lake_id, id)
            raise
        if made.id != id:  # the same request was sent twice at once
            await own_storage.release(store, self._lake_id, id)
        return made

    async def take_in(self, *, actor: Actor) -> None:
        """Records after a restore, which has put all files into the lake, that repositories lie there from now on."""
        for each in (await self._journal.fresh()).of(Repositories).with_storage():
            await self._journal.submit(AppendRequest(actor, partial(_move_events, each.id)))

    async def release(self, repository: Repository) -> None:
        """Releases the storage of a repository whose files are gone, so that another one may use it."""
        from lochan.versioning.own_storage import release

        if repository.storage:
            await release(self.of(repository), self._lake_id, repository.id)

    def _repositories_outside(self) -> list[Repository]:
        return self._journal.tail.state.of(Repositories).with_storage()

    def _open(self, name: StorageName) -> Store | None:
        if not name.url:
            return None
        if name not in self._opened:
            self._opened[name] = self.locate(name).open(clock=self._clock, ids=self._ids)
        return self._opened[name]


def _name(repository: Repository) -> StorageName:
    return StorageName(repository.storage, repository.credentials)


def _move_events(id: str, state: object) -> list[RepositoryMoved]:
    return [RepositoryMoved(id)]
