"""An open lake: its journals, repositories, access and what queries need, opened when they are first used. The verbs of
a lake are in `lochan.api`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from lochan.access.state import AccessState
from lochan.clock import Clock, SystemClock
from lochan.errors import AlreadyExists, NotFound, Refused
from lochan.formats import lake_file
from lochan.formats.lake_file import LakeFile
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.journal import Journal, Settings
from lochan.journal.open import Journals
from lochan.journal.state import Alarm, StatePart
from lochan.store.capabilities import PrivateRoot, capability
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.store.retry import settle
from lochan.store.routed import StorageName
from lochan.versioning.repositories import POOL, DeletedRepository, Repositories, Repository, check_new
from lochan.versioning.state.damage import Damage
from lochan.versioning.state.default_rules import DefaultRetention
from lochan.versioning.state.saved_queries import SavedQueries
from lochan.versioning.state.subscriptions import Subscriptions
from lochan.versioning.storages import Storages
from lochan.versioning.upkeep_turns import UpkeepTurns

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.access.open_access import OpenAccess
    from lochan.engines.duckdb.files import Files
    from lochan.engines.query_context import QueryContext
    from lochan.formats.entry import Entry
    from lochan.formats.pool_settings import PoolSettings
    from lochan.hooks.gate import HookGate
    from lochan.hooks.run_hook import HookOptions
    from lochan.jobs.record import JobReporter
    from lochan.journal.trim import JournalTrim, TrimResult
    from lochan.pools.merge import RowMerge
    from lochan.store.open import StoreLocation
    from lochan.store.verified_files import VerifiedFiles
    from lochan.tree.cache import ArrowCache
    from lochan.versioning.bodies.address import BodySettings
    from lochan.versioning.bodies.outside_files import OutsideFiles
    from lochan.versioning.deletion import LakeJournals
    from lochan.versioning.open_repository import OpenRepository
    from lochan.warm import WarmLake, WarmLakes

LAKE_JOURNAL = "_lake"
# The parts of the state of the lake's own journal.
LAKE_PARTS: tuple[type[StatePart], ...] = (
    Repositories,
    AccessState,
    UpkeepTurns,
    DefaultRetention,
    Damage,
    SavedQueries,
    Subscriptions,
)
_PATIENCE_S = 30.0  # how long it is tried to make the lake's file


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A folder on a local disk that may be deleted at any time."""

    folder: str
    bytes_max: int


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """The surroundings of the lake, as its opener knows them: no module of the lake reads an environment."""

    open_store: Callable[[str], Store] | None = None  # opens a bucket's URL or `file:///`; None: nothing is read
    may_name: Callable[[str], bool] | None = None  # whether a URL may be imported or linked; None: all may
    bodies: BodySettings | None = None  # None for the standard
    secret: Callable[[], bytes] | None = None  # encrypts the secrets of access keys; None: a key in the lake
    cache: CacheFolder | None = None  # of trees; None: what is not in memory is read from the store each time
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # the options of the lake's store
    verified: str = ""  # a folder that lists the files that were checked; empty: each process checks them itself
    locate: Callable[[str], StoreLocation] | None = None  # finds a store that `open_store` opens, for other processes
    storage: Callable[[StorageName], StoreLocation] | None = None  # finds a repository's storage; None: folders alone
    hooks: HookOptions | None = None  # what hooks may do here; None: queries, and webhooks of public hosts
    warm: WarmLakes | None = None  # what this process has read of lakes before


ALONE = LakeOptions()


class Lake:
    def __init__(
        self,
        store: Store,
        file: LakeFile,
        journals: Journals,
        own: Journal,
        clock: Clock,
        ids: Ids,
        world: LakeOptions = ALONE,
    ) -> None:
        self.store = store
        self.url = store.url
        self.id = file.lake
        self.file = file
        self._journals = journals
        self._own = own
        self.clock = clock
        self.ids = ids
        self._world = world
        self._outside: OutsideFiles | None = None
        self._access: OpenAccess | None = None
        self._queries: QueryContext | None = None

    @classmethod
    async def create(
        cls,
        store: Store,
        *,
        journal: str = "store",
        journal_url: str = "",
        clock: Clock | None = None,
        ids: Ids | None = None,
        world: LakeOptions = ALONE,
    ) -> Lake:
        """Creates a lake. Raises AlreadyExists if there is a lake already, Invalid, or the error that keeps its
        journals from being used."""
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
        world: LakeOptions = ALONE,
    ) -> Lake:
        """Opens a lake. Raises NotFound if there is no lake, FutureFormat, Corrupt."""
        clock, ids = clock or SystemClock(), ids or Ids()
        try:
            file = await get_decoded(store, lake_file.PATH, lambda data: lake_file.decode(data, store.url))
        except NotFound as error:
            raise NotFound(
                f"there is no lake at {store.url}", hint=f"make one with `lochan init {quote(store.url)}`"
            ) from error
        folder = capability(store, PrivateRoot)
        if folder is not None:  # it is on a disk, where earlier versions let every user of the machine read it
            folder.keep_private()
        settings = Settings(writer=ids.ksuid(clock.wall()), hold_s=hold_ms / 1_000)
        warm = None if world.warm is None else world.warm.at(store.url, file.lake)
        journals = Journals(
            store, file, journal_url, clock, ids, settings, alarm, known=None if warm is None else warm.states
        )
        try:
            own = await journals.open(LAKE_JOURNAL, LAKE_PARTS)
        except BaseException:
            await journals.close()
            raise
        return cls(store, file, journals, own, clock, ids, world)

    @property
    def warm(self) -> WarmLake | None:
        return None if self._world.warm is None else self._world.warm.at(self.url, self.id)

    @property
    def place(self) -> StoreLocation:
        """The place from which another process opens its store, and the stores of repositories that do not lie in
        it."""
        from lochan.store.open import StoreLocation

        return StoreLocation(self.url, self._world.options, routes=self.storages.locations())

    @cached_property
    def storages(self) -> Storages:
        """The places of its repositories: in the lake, or in storages of their own."""
        return Storages(self.store, self.id, self._own, self.clock, self.ids, self._world.storage)

    @property
    def files(self) -> Store:
        """All files of the lake, wherever its repositories lie."""
        return self.storages.files

    @property
    def body_settings(self) -> BodySettings:
        """How files of bodies are named and tagged from now on."""
        from lochan.versioning.bodies.address import STANDARD

        return self._world.bodies or STANDARD

    def place_of(self, url: str) -> StoreLocation:
        """Returns the place of a store outside the lake: a bucket's URL or `file:///`."""
        return self.place.at(url) if self._world.locate is None else self._world.locate(url)

    @property
    def folder(self) -> str | None:
        """The folder of the lake on this machine's disks, or None if it is elsewhere."""
        from urllib.parse import unquote

        return unquote(self.url.removeprefix("file://")) if self.url.startswith("file://") else None

    @cached_property
    def verified(self) -> VerifiedFiles:
        """The files of the lake that were read as a whole, and were right."""
        from lochan.store.verified_files import VerifiedFiles

        folder = self._world.verified
        return VerifiedFiles(self.url, self.clock, f"{folder}/{self.id}" if folder else "")

    async def repositories(self) -> list[Repository]:
        return (await self._own.fresh()).of(Repositories).all()

    async def repository(self, name: str) -> Repository:
        return (await self._own.fresh()).of(Repositories).get(name)

    def known_repository(self, name: str) -> Repository | None:
        """Returns the repository as this process last saw the lake, for a caller that has just checked that this is
        current."""
        return self._own.tail.state.of(Repositories).find(name)

    async def create_repository(
        self,
        name: str,
        *,
        kind: str = "files",
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        dotted: bool = False,
        pool: PoolSettings | None = None,
        storage: StorageName | None = None,
        bare: bool = False,
        actor: Actor,
        key: str = "",
    ) -> Repository:
        """Creates a repository. With `dotted`, its name may have dots, as the name of a bucket may. With a `storage`,
        its files do not lie in the lake. With `bare`, it has no branch and no commit yet."""
        from lochan.versioning.catalog import create_repository

        create = partial(
            create_repository,
            self._own,
            clock=self.clock,
            ids=self.ids,
            name=name,
            kind=kind,
            default_branch=default_branch,
            metadata=metadata or {},
            dotted=dotted,
            pool=pool,
            bare=bare,
            actor=actor,
            key=key,
        )
        if storage is None:
            return await create(self.journal)
        check_new(name, kind, default_branch, metadata or {}, dotted=dotted)
        if (await self._own.fresh()).of(Repositories).find(name) is not None:
            # This raises the right error, or finds that it is the same request.
            return await create(self.journal, storage=storage)
        if self.file.journal != "store":
            raise Refused(
                "the journals of this lake are in PostgreSQL, so a repository cannot have a storage of its own",
                hint="leave out the storage; nothing was made",
            )
        return await self.storages.create(create, self._journal_in, storage)

    async def create_pool(
        self,
        name: str,
        settings: PoolSettings | None = None,
        *,
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        storage: StorageName | None = None,
        actor: Actor,
        key: str = "",
    ) -> Repository:
        """Creates a pool. Without settings, its key is the whole record."""
        return await self.create_repository(
            name,
            kind=POOL,
            default_branch=default_branch,
            metadata=metadata,
            pool=settings,
            storage=storage,
            actor=actor,
            key=key,
        )

    async def release_storage(self, repository: Repository) -> None:
        await self.storages.release(repository)

    async def prepare_pool(
        self, name: str, settings: PoolSettings, *, default_branch: str = "main", actor: Actor
    ) -> OpenRepository:
        """Prepares a pool that only its maker has. When its first rows have landed, `name_pool` shows it to all, so
        that a load that fails leaves no pool behind. Raises AlreadyExists, Invalid."""
        from lochan.versioning.catalog import prepare_pool

        prepared = await prepare_pool(
            self._own,
            self.journal,
            self.clock,
            self.ids,
            name=name,
            default_branch=default_branch,
            pool=settings,
            actor=actor,
        )
        return await self.open_known(prepared)

    async def name_pool(self, prepared: OpenRepository, *, actor: Actor) -> None:
        """Names a prepared pool. Raises AlreadyExists if somebody took the name meanwhile."""
        from lochan.versioning.catalog import name_repository

        await name_repository(self._own, prepared.repository, actor=actor)

    async def rename_repository(self, name: str, to: str, *, actor: Actor, key: str = "") -> None:
        """Renames a repository. When it returns, nobody finds it by its old name any more, nor writes into it in place
        of the next (A1)."""
        from lochan.versioning.catalog import rename_repository

        await self._taken_away(rename_repository(self._own, name=name, to=to, actor=actor, key=key))

    async def describe_repository(
        self, name: str, values: Mapping[str, str], removed: Sequence[str], *, actor: Actor, key: str = ""
    ) -> dict[str, str]:
        from lochan.versioning.catalog import describe_repository

        return await describe_repository(self._own, name=name, values=values, removed=removed, actor=actor, key=key)

    async def delete_repository(self, name: str, *, force: bool = False, actor: Actor, key: str = "") -> None:
        """Deletes a repository. When it returns, nobody writes to it any more, nor into it in place of one that gets
        its name next (A1). With `force`, it is deleted even if it is read-only."""
        from lochan.versioning.deletion import delete_repository

        await self._taken_away(delete_repository(self.journals(), name=name, force=force, actor=actor, key=key))

    async def restore_repository(self, name: str, to: str = "", *, actor: Actor, key: str = "") -> str:
        """Restores the repository that was deleted last, or the one with that id, under its name or another. Returns
        that name. Raises NotFound, AlreadyExists, Gone."""
        from lochan.versioning.deletion import restore_repository

        return await restore_repository(self.journals(), name=name, to=to, actor=actor, key=key)

    def journals(self) -> LakeJournals:
        from lochan.versioning.deletion import LakeJournals

        return LakeJournals(self._own, self.journal, self.files, self.clock)

    async def deleted_repositories(self) -> list[DeletedRepository]:
        """Returns the deleted repositories whose files still exist, the last deleted first."""
        return (await self._own.fresh()).of(Repositories).deleted()

    async def _taken_away(self, work: Awaitable[None]) -> None:
        answerable = self.open_access().freshness.before_answer
        try:
            await work
        except NotFound:  # it is gone already, perhaps just now; a caller that repeats the request treats this as done
            await answerable()
            raise
        await answerable()

    async def journal(self, repository_id: str = LAKE_JOURNAL) -> Journal:
        """Returns a journal itself, for upkeep and tests."""
        if repository_id == LAKE_JOURNAL:
            return self._own
        from lochan.versioning.state.refs import Refs  # it imports Arrow, which a list of repositories does not need

        return await self._journals.open(repository_id, (Refs,), self.storages.own(repository_id))

    async def _journal_in(self, repository_id: str, store: Store) -> Journal:
        from lochan.versioning.state.refs import Refs

        return await self._journals.open(repository_id, (Refs,), store)

    async def open_repository(self, name: str) -> OpenRepository:
        """Opens a repository: its objects and history. See the functions of `lochan.versioning`. Raises NotFound."""
        return await self.open_known(await self.repository(name))

    async def open_known(self, found: Repository) -> OpenRepository:
        """Opens a repository that the caller has just found by its name."""
        from lochan.versioning.bodies.address import STANDARD
        from lochan.versioning.lazy_gate import LazyGate
        from lochan.versioning.open_repository import OpenRepository
        from lochan.versioning.upkeep import attach

        store = self.storages.of(found)
        if found.storage:
            from lochan.versioning.own_storage import check_claim

            await check_claim(store, self.id, found)
        opened = OpenRepository(
            found,
            await self.journal(found.id),
            store,
            self.clock,
            self.ids,
            writer=self.ids.ksuid(self.clock.wall()),
            outside=self.outside(),
            settings=self._world.bodies or STANDARD,
            cache=self._cache(found.id),
            verified=self.verified,
            warm=self.warm,
        )
        opened.settle_closed = partial(self._settle_closed, found.id)
        opened.gate = LazyGate(opened, lambda: self.hooks_of(opened))
        if found.kind == POOL:
            from lochan.pools.merge import PoolJoins

            opened.joins = PoolJoins(opened, self._compute_rows)
        return attach(opened)

    def hooks_of(self, repository: OpenRepository) -> HookGate:
        """Returns the gate of hooks that judge changes of the repository."""
        from lochan.hooks.gate import HookGate
        from lochan.hooks.run_hook import HookLake, HookOptions

        key = self.webhook_key
        return HookGate(
            repository, HookLake(self.queries, self.open_repository, key, self._world.hooks or HookOptions())
        )

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """Hosts at private addresses to which requests may be sent."""
        return self._world.hooks.allowed_hosts if self._world.hooks is not None else ()

    async def webhook_key(self) -> bytes:
        """Returns the key from which the signing secrets of webhooks are derived."""
        from lochan.access.encryption import EncryptionKey

        return await EncryptionKey(self.store, self.clock, self.ids, lake=self.id, given=self._world.secret).get()

    async def _settle_closed(self, id: str, number: int, undo_days: float) -> None:
        """Settles a deletion or a restoration that was interrupted, or is under way."""
        from lochan.versioning.deletion import Closing, settle_closed

        await settle_closed(self.journals(), id, Closing(number, undo_days))

    async def _compute_rows(self, pool: OpenRepository, merge: RowMerge, mint: int) -> Sequence[Entry]:
        """Computes the rows of a merge. The engine is imported here, because few merges need one."""
        from lochan.engines.duckdb.merge_rows import merge_rows

        return await merge_rows(pool, merge, mint, self.queries().files)

    def _cache(self, repository_id: str) -> ArrowCache | None:
        """Returns a cache with a folder of its own for each repository, because the same file name may belong to
        another tree elsewhere."""
        cache = self._world.cache
        if cache is None:
            return None
        from lochan.tree.cache import ArrowCache

        return ArrowCache(f"{cache.folder}/trees/{self.id}/{repository_id}", cache.bytes_max, self.clock)

    def open_access(self) -> OpenAccess:
        """Returns its users, keys and policies. See the functions of `lochan.access`."""
        if self._access is None:
            from lochan.access.encryption import EncryptionKey
            from lochan.access.open_access import OpenAccess

            secrets = EncryptionKey(self.store, self.clock, self.ids, lake=self.id, given=self._world.secret)
            self._access = OpenAccess(self._own, self.clock, self.ids, secrets)
        return self._access

    def outside(self) -> OutsideFiles | None:
        """Returns the files outside the lake, if its opener gave a way to reach them. Each store is opened once."""
        from lochan.versioning.bodies.outside_files import OutsideFiles, anything

        if self._outside is None and self._world.open_store is not None:
            self._outside = OutsideFiles(self._world.open_store, self._world.may_name or anything)
        return self._outside

    def other_store(self, url: str) -> Store:
        """Opens a store outside the lake with the same credentials. Raises Refused if the opener of the lake gave no
        way to reach others."""
        if self._world.open_store is None:
            raise Refused("other stores cannot be reached from here", hint="open the lake from a configuration")
        return self._world.open_store(url)

    async def trim(self, *repositories: str) -> AsyncIterator[JournalTrim]:
        """Trims all journals of the lake, or those of these repositories, as writers of a journal do: full groups of
        records are packed, and what they replace is deleted with old checkpoints. A failure does not stop the rest. It
        is safe beside everybody else. Raises NotFound."""
        from lochan.journal.trim import JournalTrim

        names = repositories or [each.name for each in await self.repositories()]
        if not repositories:
            yield await JournalTrim.of(LAKE_JOURNAL, self._own.trim())
        for name in names:
            yield await JournalTrim.of(name, self._trim_repository(await self.repository(name)))

    async def _trim_repository(self, repository: Repository) -> TrimResult:
        from lochan.versioning.state.refs import Refs

        return await self._journals.trim(repository.id, (Refs,), self.storages.own(repository.id))

    def queries(self) -> QueryContext:
        if self._queries is None:
            from lochan.engines.duckdb.files import files_of
            from lochan.engines.duckdb.instances import Instances
            from lochan.engines.duckdb.routed_files import RoutedFiles
            from lochan.engines.query_context import QueryContext
            from lochan.pools.snapshot import Snapshots

            cache = self._world.cache
            kept = (f"{cache.folder}/objects/{self.id}", cache.bytes_max) if cache else (None, 0)
            inside = files_of(self.store, *kept, verified=self.verified)
            files = RoutedFiles(inside, self._own_files, self.storages.routed)
            self._queries = QueryContext(
                self, files, Snapshots(), self.clock, self.files, self.place, self.verified, Instances(), self._new_job
            )
        return self._queries

    def _own_files(self, id: str) -> Files | None:
        """Returns the files for queries of a repository that does not lie in the lake, or None."""
        from lochan.engines.duckdb.files import files_of

        store = self.storages.own(id)
        if store is None:
            return None
        cache = self._world.cache
        kept = (f"{cache.folder}/objects/{self.id}", cache.bytes_max) if cache else (None, 0)
        return files_of(store, *kept, verified=self.verified)

    def _new_job(self, kind: str, about: str, actor: Actor, where: str) -> JobReporter:
        from lochan.jobs.record import JobReporter

        return JobReporter(self, kind, about, actor, where)

    @property
    def parts(self) -> tuple[type[StatePart], ...]:
        """The parts of the state of the lake's own journal."""
        return LAKE_PARTS

    async def user_rows(self, time: int | None) -> list[dict[str, Any]]:
        """Returns the users that exist, or existed at that moment, for queries."""
        from lochan.access.query_rights import user_rows

        return await user_rows(self._own, self.parts, time)

    async def job_rows(self) -> list[dict[str, Any]]:
        """Returns the records of jobs, for queries."""
        from lochan.jobs.record import job_rows

        return await job_rows(self.store, self.clock.wall())

    async def usage_rows(self) -> pa.Table:
        """Returns the usage log, for queries."""
        from lochan.usage.read import read_rows

        return await read_rows(self.store)

    async def close(self) -> None:
        if self._queries is not None:
            self._queries.instances.close()
        await self._journals.close()
