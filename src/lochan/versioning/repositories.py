"""The repositories of a lake, and those that were deleted: a part of the state of the lake's journal.

created ──▶ live ──▶ deleted ──▶ expired ──▶ erased
              ▲         │
              └─restored┘
"""

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import msgspec

from lochan.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import (
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryDescribed,
    RepositoryErased,
    RepositoryExpired,
    RepositoryFound,
    RepositoryMoved,
    RepositoryRenamed,
    RepositoryRestored,
)
from lochan.formats.pool_settings import PoolSettings
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables
from lochan.versioning.names import check_pool_name, check_ref_name, check_repository_name

FILES, POOL = "files", "pool"
KINDS = (FILES, POOL)


class Repository(msgspec.Struct, frozen=True, array_like=True):
    """A repository of the lake. Stored in checkpoints: fields may only be added at the end."""

    id: str
    name: str
    kind: str
    default_branch: str
    created: int  # microseconds since 1970
    created_by: str
    metadata: dict[str, str]
    pool: PoolSettings | None = None
    storage: str = ""  # the URL of a storage of its own; empty if its files lie in the lake
    credentials: str = ""  # the name of its credentials in the configuration


class DeletedRepository(msgspec.Struct, frozen=True, array_like=True):
    """A deleted repository. Stored in checkpoints: fields may only be added at the end."""

    repository: Repository  # its last state; it has no name if it never had one
    closed: int  # the record of its own journal that closed it; 0 if it is not closed yet
    deleted: int  # microseconds since 1970, by the clock of the process that deleted it
    deleted_by: str
    undo_days: float
    list: str = ""  # the list of its files, once it has expired; from then on it cannot be restored

    @property
    def id(self) -> str:
        return self.repository.id

    def check_kept(self) -> None:
        """Raises Gone if the repository has expired."""
        if self.list:
            raise Gone(
                f"repository {self.repository.name or self.id!r} was deleted too long ago, and has expired",
                hint="its files are being deleted",
            )


class DumpedRepositories(msgspec.Struct, frozen=True):
    """The state in a checkpoint. Stored in checkpoints: fields may only be added."""

    live: list[Repository]
    deleted: list[DeletedRepository] = []
    restored: dict[str, int] = {}
    erased: dict[str, str] = {}


LakeEvent = (
    RepositoryCreated
    | RepositoryDeleted
    | RepositoryRenamed
    | RepositoryDescribed
    | RepositoryRestored
    | RepositoryFound
    | RepositoryExpired
    | RepositoryErased
    | RepositoryMoved
)


class Repositories(FoldTables, StatePart):
    name: ClassVar[str] = "repositories"
    events: ClassVar[tuple[type[Event], ...]] = get_args(LakeEvent)

    def __init__(self) -> None:
        self._by_name: FoldTable[str, Repository] = FoldTable()
        self._name_of: FoldTable[str, str] = FoldTable()
        self._deleted: FoldTable[str, DeletedRepository] = FoldTable()
        self._restored: FoldTable[str, int] = FoldTable()  # by id, the closing of its own journal that was undone
        self._erased: FoldTable[str, str] = FoldTable()  # by id, its name; kept for ever, so that no id is used again

    # --- reading -----------------------------------------------------------------------------------------------------
    def find(self, name: str) -> Repository | None:
        return self._by_name.get(name)

    def get(self, name: str) -> Repository:
        found = self._by_name.get(name)
        if found is None:
            hint = "`lochan repo list` shows those there are"
            raise NotFound(f"no repository {name!r} in this lake", hint=hint).named(name, self._names)
        return found

    def _names(self) -> list[str]:
        return [name for name, _ in self._by_name.items()]

    def all(self) -> list[Repository]:
        return sorted((repository for _, repository in self._by_name.items()), key=lambda r: r.name)

    def deleted(self) -> list[DeletedRepository]:
        """Returns the deleted repositories whose files still exist, the last deleted first."""
        return sorted((each for _, each in self._deleted.items()), key=lambda each: (-each.deleted, each.id))

    def find_deleted(self, name: str) -> DeletedRepository:
        """Returns the last deleted repository of that name that can be restored, otherwise the last one, or the one
        with that id. Raises NotFound."""
        found = self._deleted.get(name)
        named = sorted(
            (each for each in self.deleted() if each.repository.name == name), key=lambda each: bool(each.list)
        )
        if found is None and (found := next(iter(named), None)) is None:
            hint = "`lochan repo list --deleted` shows what can be restored"
            names = [each.repository.name for each in self.deleted() if not each.list]
            raise NotFound(f"no deleted repository {name!r} is kept", hint=hint).named(name, lambda: names)
        return found

    def was_deleted(self, id: str) -> DeletedRepository | None:
        return self._deleted.get(id)

    def restored(self, id: str) -> int:
        """Returns the record of its own journal that closed it, and that was undone, or 0 if it was never restored."""
        return self._restored.get(id) or 0

    def erased_ids(self) -> list[str]:
        """Returns the ids of repositories whose files are gone. No other repository ever gets such an id."""
        return sorted(id for id, _ in self._erased.items())

    def knows(self, id: str) -> bool:
        return id in self._name_of or id in self._deleted or id in self._erased

    def by_id(self, id: str) -> Repository | None:
        """Returns a repository by its id, including a deleted one while its files exist."""
        name, deleted = self._name_of.get(id), self._deleted.get(id)
        if name is not None:
            return self._by_name.get(name)
        return None if deleted is None else deleted.repository

    def with_storage(self) -> list[Repository]:
        """Returns the repositories that have storage outside the lake, including deleted ones."""
        every = [*self.all(), *(each.repository for each in self.deleted())]
        return [each for each in every if each.storage]

    def is_live(self, id: str) -> bool:
        return id in self._name_of

    # --- folding -----------------------------------------------------------------------------------------------------
    def apply(self, event: LakeEvent, at: EventPosition) -> Any:
        match event:
            case RepositoryCreated():
                return self._created(event, at)
            case RepositoryRenamed():
                return self._renamed(event)
            case RepositoryDescribed():
                return self._describe(event)
            case RepositoryDeleted():
                return self._drop(event.id) if at.version == 1 else self._delete(event, at)
            case RepositoryRestored():
                return self._restore(event)
            case RepositoryFound():
                return self._adopt(event, at)
            case RepositoryExpired():
                return self._expire(event)
            case RepositoryMoved():
                return self._move(event)
        return self._erase(event)

    def _created(self, event: RepositoryCreated, at: EventPosition) -> str:
        self.check_free(event.name)
        if event.id in self._name_of:
            raise AlreadyExists(f"there is a repository with id {event.id} already")
        if self.knows(event.id):
            raise Refused(
                f"{event.name!r} was being made for so long that it was given up",
                hint="load it again",
            )
        made = event.id, event.name, event.kind, event.default_branch, at.time, at.user, event.metadata, event.pool
        self._put(Repository(*made, event.storage, event.credentials))
        return event.id

    def _move(self, event: RepositoryMoved) -> str:
        deleted = self._deleted.get(event.id)
        if deleted is not None:
            moved = msgspec.structs.replace(deleted.repository, storage=event.storage, credentials=event.credentials)
            self._deleted.put(event.id, msgspec.structs.replace(deleted, repository=moved))
            return event.id
        found = self.get(self._get_name(event.id))
        self._put(msgspec.structs.replace(found, storage=event.storage, credentials=event.credentials))
        return event.id

    def _put(self, repository: Repository) -> None:
        self._by_name.put(repository.name, repository)
        self._name_of.put(repository.id, repository.name)

    def _renamed(self, event: RepositoryRenamed) -> str:
        name = self._get_name(event.id)
        self.check_free(event.to)
        again = msgspec.structs.replace(self.get(name), name=event.to)
        self._by_name.drop(name)
        self._put(again)
        return event.id

    def _describe(self, event: RepositoryDescribed) -> str:
        found = self.get(self._get_name(event.id))
        kept = {name: value for name, value in found.metadata.items() if name not in event.removed}
        self._put(msgspec.structs.replace(found, metadata=kept | event.set))
        return event.id

    def _drop(self, id: str) -> str:
        name = self._get_name(id)
        self._by_name.drop(name)
        self._name_of.drop(id)
        return id

    def _delete(self, event: RepositoryDeleted, at: EventPosition) -> str:
        before = self._deleted.get(event.id)
        if before is not None and before.closed == event.closed:
            return event.id  # another process has completed the same deletion
        if event.closed and event.closed <= self.restored(event.id):
            raise Conflict("this repository was restored meanwhile", hint="delete it again, if it is to go")
        repository = self.get(self._get_name(event.id))
        self._drop(event.id)
        self._restored.drop(event.id)
        self._deleted.put(event.id, DeletedRepository(repository, event.closed, at.time, at.user, event.undo_days))
        return event.id

    def _restore(self, event: RepositoryRestored) -> str:
        if self._name_of.get(event.id) == event.name:  # it was closed, and its deletion was interrupted here
            self._restored.put(event.id, max(event.closed, self.restored(event.id)))
            return event.id
        found = self._deleted.get(event.id)
        if found is None:
            raise NotFound(f"no deleted repository with id {event.id} is kept")
        found.check_kept()
        if not found.repository.name:
            raise Refused(f"repository {event.id} never had a name", hint="what was to be in it has to be loaded again")
        if found.closed != event.closed:
            raise Conflict("this repository was deleted again meanwhile", hint="try again")
        self.check_free(event.name)
        self._deleted.drop(event.id)
        self._restored.put(event.id, event.closed)
        self._put(msgspec.structs.replace(found.repository, name=event.name))
        return event.id

    def _adopt(self, event: RepositoryFound, at: EventPosition) -> str:
        if self.knows(event.id):
            raise AlreadyExists(f"there is a repository with id {event.id} already")
        about = event.id, event.name, event.kind, event.default_branch, event.created, event.created_by
        repository = Repository(*about, event.metadata, event.pool)
        self._deleted.put(event.id, DeletedRepository(repository, 0, at.time, at.user, event.undo_days))
        return event.id

    def _expire(self, event: RepositoryExpired) -> str:
        found = self._get_deleted(event.id)
        if found.list:
            raise AlreadyExists(f"repository {event.id} has expired already")
        self._deleted.put(event.id, msgspec.structs.replace(found, list=event.list))
        return event.id

    def _erase(self, event: RepositoryErased) -> str:
        found = self._get_deleted(event.id)
        if not found.list:
            raise Refused(f"repository {event.id} can still be restored")
        self._deleted.drop(event.id)
        self._erased.put(event.id, found.repository.name)
        return event.id

    def _get_deleted(self, id: str) -> DeletedRepository:
        found = self._deleted.get(id)
        if found is None:
            raise NotFound(f"no deleted repository with id {id} is kept")
        return found

    def check_free(self, name: str) -> None:
        """Raises AlreadyExists if the name is taken."""
        if name in self._by_name:
            raise AlreadyExists(f"there is a repository {name!r} already", hint="take another name, or delete it")

    def _get_name(self, id: str) -> str:
        name = self._name_of.get(id)
        if name is None:
            raise NotFound(f"no repository with id {id} in this lake")
        return name

    # --- checkpoints -------------------------------------------------------------------------------------------------
    def dump(self) -> DumpedRepositories:
        return DumpedRepositories(
            self.all(), self.deleted(), dict(sorted(self._restored.items())), dict(sorted(self._erased.items()))
        )

    def load(self, dumped: msgspec.Raw) -> None:
        found = _decoder.decode(dumped)
        if isinstance(found, list):  # checkpoints from before deleted repositories were kept
            found = DumpedRepositories(found)
        for repository in found.live:
            self._put(repository)
        for each in found.deleted:
            self._deleted.put(each.id, each)
        for id, closed in found.restored.items():
            self._restored.put(id, closed)
        for id, name in found.erased.items():
            self._erased.put(id, name)


def check_name(name: str, kind: str, *, dotted: bool = False) -> None:
    """Checks the name of a repository. Raises Invalid."""
    if kind == POOL:
        check_pool_name(name)
    else:
        check_repository_name(name, dotted=dotted)


def check_new(name: str, kind: str, default_branch: str, metadata: Mapping[str, str], *, dotted: bool = False) -> None:
    """Checks the properties of a new repository. Raises Invalid, which names the value and says what would be right."""
    check_name(name, kind, dotted=dotted)
    if kind not in KINDS:
        raise Invalid(f"{kind!r} is not a kind of repository", hint=f"take one of {', '.join(KINDS)}")
    check_ref_name(default_branch)
    check_metadata(metadata)


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Checks the metadata. Raises Invalid."""
    if any("\0" in text for pair in metadata.items() for text in pair):
        raise Invalid("metadata cannot hold a NUL character")


_decoder = msgspec.msgpack.Decoder(DumpedRepositories | list[Repository])
