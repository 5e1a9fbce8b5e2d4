"""The Lake: the one public surface. It opens journals, hands requests on and gives answers back; it holds no logic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.access.state import Access
from lochan.clock import Clock, SystemClock
from lochan.errors import AlreadyExists, NotFound
from lochan.formats import lake_file
from lochan.formats.lake_file import LakeFile
from lochan.formats.record import Actor, Sealed
from lochan.ids import Ids
from lochan.journal.journal import Journal, Settings
from lochan.journal.open import Journals
from lochan.journal.state import Alarm
from lochan.store.create import settle
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories, Repository

if TYPE_CHECKING:
    from lochan.access.open_access import OpenAccess
    from lochan.tree.cache import ArrowCache
    from lochan.versioning.bodies.outside import Outside
    from lochan.versioning.bodies.settings import BodySettings
    from lochan.versioning.open_repository import OpenRepository

LAKE_JOURNAL = "_lake"
_PATIENCE_S = 30.0  # how long the lake's file is tried to be made


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder on a local disk that may be deleted at any time."""

    folder: str
    bytes_max: int


@dataclass(frozen=True, slots=True)
class World:
    """What lies around the lake, as its opener knows it: nothing in here reads an environment."""

    open_store: Callable[[str], Store] | None = None  # of a bucket's URL or `file:///`; None: nothing outside is read
    may_name: Callable[[str], bool] | None = None  # which URLs may be imported or linked; None: all of them
    bodies: BodySettings | None = None  # None: the standard
    secret: Callable[[], bytes] | None = None  # what the secrets of access keys are encrypted with; None: in the lake
    cache: Cache | None = None  # of trees; None: what is not in memory is read from the store each time


ALONE = World()


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event of the feed, with everything that is known of it."""

    number: int  # the logical time: of two events of one journal, the later has the larger
    index: int  # its place in the record
    time: int  # wall, microseconds since 1970
    user: str
    client: str
    source: str
    repository: str  # id, or _lake
    type: str
    payload: dict[str, Any]


class Lake:
    def __init__(
        self,
        store: Store,
        file: LakeFile,
        journals: Journals,
        own: Journal,
        clock: Clock,
        ids: Ids,
        world: World = ALONE,
    ) -> None:
        self.store = store
        self.url = store.url
        self.id = file.lake
        self.file = file
        self._journals = journals
        self._own = own
        self._clock = clock
        self._ids = ids
        self._world = world
        self._outside: Outside | None = None
        self._access: OpenAccess | None = None

    @classmethod
    async def create(
        cls,
        store: Store,
        *,
        journal: str = "store",
        journal_url: str = "",
        clock: Clock | None = None,
        ids: Ids | None = None,
        world: World = ALONE,
    ) -> Lake:
        """Raises AlreadyExists if there is a lake already, Invalid, or whatever keeps its journals from being used."""
        clock, ids = clock or SystemClock(), ids or Ids()
        file = LakeFile(lake_file.FORMAT, ids.ksuid(clock.wall()), journal, clock.wall())
        journals = Journals(store, file, journal_url, clock, ids, Settings())
        try:
            await journals.prepare()
        finally:
            await journals.close()
        deadline = clock.boot() + _PATIENCE_S
        there = await settle(store, lake_file.PATH, lake_file.encode(file), clock, ids, deadline)
        if lake_file.decode(there, store.url).lake != file.lake:
            raise AlreadyExists(f"there is a lake at {store.url} already", hint="nothing was changed")
        return await cls.open(store, journal_url=journal_url, clock=clock, ids=ids, world=world)

    @classmethod
    async def open(
        cls,
        store: Store,
        *,
        journal_url: str = "",
        hold_ms: float = 0,
        clock: Clock | None = None,
        ids: Ids | None = None,
        alarm: Alarm = lambda _: None,
        world: World = ALONE,
    ) -> Lake:
        """Raises NotFound when there is no lake, FutureFormat, Corrupt."""
        clock, ids = clock or SystemClock(), ids or Ids()
        try:
            data = await store.get(lake_file.PATH)
        except NotFound as error:
            raise NotFound(f"there is no lake at {store.url}", hint="make one with `lochan init`") from error
        file = lake_file.decode(data, store.url)
        settings = Settings(writer=ids.ksuid(clock.wall()), hold_s=hold_ms / 1_000)
        journals = Journals(store, file, journal_url, clock, ids, settings, alarm)
        try:
            own = await journals.open(LAKE_JOURNAL, (Repositories, Access))
        except BaseException:
            await journals.close()
            raise
        return cls(store, file, journals, own, clock, ids, world)

    async def repositories(self) -> list[Repository]:
        return (await self._own.fresh()).of(Repositories).all()

    async def repository(self, name: str) -> Repository:
        return (await self._own.fresh()).of(Repositories).get(name)

    def known_repository(self, name: str) -> Repository | None:
        """As this process last saw the lake: for who has just made sure of that."""
        return self._own.tail.state.of(Repositories).find(name)

    async def create_repository(
        self,
        name: str,
        *,
        kind: str = "files",
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        actor: Actor,
        key: str = "",
    ) -> Repository:
        from lochan.versioning.catalog import create_repository

        return await create_repository(
            self._own,
            self.journal,
            self._clock,
            self._ids,
            name=name,
            kind=kind,
            default_branch=default_branch,
            metadata=metadata or {},
            actor=actor,
            key=key,
        )

    async def delete_repository(self, name: str, *, actor: Actor, key: str = "") -> None:
        from lochan.versioning.catalog import delete_repository

        await delete_repository(self._own, name=name, actor=actor, key=key)

    async def journal(self, repository_id: str = LAKE_JOURNAL) -> Journal:
        """The journal itself, for upkeep and tests."""
        if repository_id == LAKE_JOURNAL:
            return self._own
        from lochan.versioning.refs import Refs  # with Arrow behind it: a list of repositories needs neither

        return await self._journals.open(repository_id, (Refs,))

    async def open_repository(self, name: str) -> OpenRepository:
        """Its objects and history; see the functions of `lochan.versioning`. Raises NotFound."""
        from lochan.versioning.bodies.settings import STANDARD
        from lochan.versioning.open_repository import OpenRepository
        from lochan.versioning.upkeep import attach

        found = await self.repository(name)
        opened = OpenRepository(
            found,
            await self.journal(found.id),
            self.store,
            self._clock,
            self._ids,
            writer=self._ids.ksuid(self._clock.wall()),
            outside=self.outside(),
            settings=self._world.bodies or STANDARD,
            cache=self._cache(found.id),
        )
        return attach(opened)

    def _cache(self, repository_id: str) -> ArrowCache | None:
        """A folder of its own for each repository: the same file name may be another tree's elsewhere."""
        cache = self._world.cache
        if cache is None:
            return None
        from lochan.tree.cache import ArrowCache

        return ArrowCache(f"{cache.folder}/trees/{self.id}/{repository_id}", cache.bytes_max, self._clock)

    def open_access(self) -> OpenAccess:
        """Its users, keys and policies; see the functions of `lochan.access`."""
        if self._access is None:
            from lochan.access.encryption_key import EncryptionKey
            from lochan.access.open_access import OpenAccess

            secrets = EncryptionKey(self.store, self._clock, self._ids, lake=self.id, given=self._world.secret)
            self._access = OpenAccess(self._own, self._clock, self._ids, secrets)
        return self._access

    def outside(self) -> Outside | None:
        """Files outside the lake, if its opener told how to reach any; each store is opened once."""
        from lochan.versioning.bodies.outside import Outside, anything

        if self._outside is None and self._world.open_store is not None:
            self._outside = Outside(self._world.open_store, self._world.may_name or anything)
        return self._outside

    async def events(
        self, repository: str | None = None, *, after: int = 0, follow: bool = False
    ) -> AsyncIterator[EventLine]:
        """The lake's own events, or a repository's: who, when, what, from where."""
        journal = await self.journal((await self.repository(repository)).id if repository else LAKE_JOURNAL)
        async for sealed in journal.records(after, follow=follow):
            for line in lines(sealed):
                yield line

    async def close(self) -> None:
        await self._journals.close()


def lines(sealed: Sealed) -> list[EventLine]:
    record = sealed.record
    changes = ((entry, change) for entry in record.entries for change in entry.changes)
    return [
        EventLine(
            record.number,
            index,
            record.time,
            entry.actor.user,
            entry.actor.client,
            entry.actor.source,
            record.journal,
            change.type,
            _readable(msgspec.msgpack.decode(change.payload)),
        )
        for index, (entry, change) in enumerate(changes)
    ]


def _readable(value: Any) -> Any:
    """Hashes and ids as hex digits, for people and for JSON."""
    match value:
        case bytes():
            return value.hex()
        case dict():
            return {key: _readable(each) for key, each in value.items()}
        case list():
            return [_readable(each) for each in value]
    return value
