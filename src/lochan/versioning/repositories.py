"""The repositories of a lake: a part of the state of the lake's journal."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from lochan.errors import AlreadyExists, Invalid, NotFound
from lochan.formats.events import Event
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted, RepositoryRenamed
from lochan.formats.pool_settings import PoolSettings
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables
from lochan.versioning.names import check_pool_name, check_ref_name, check_repository_name

FILES, POOL = "files", "pool"
KINDS = (FILES, POOL)


class Repository(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    id: str
    name: str
    kind: str
    default_branch: str
    created: int  # microseconds since 1970
    created_by: str
    metadata: dict[str, str]
    pool: PoolSettings | None = None


class Repositories(FoldTables, StatePart):
    name: ClassVar[str] = "repositories"
    events: ClassVar[tuple[type[Event], ...]] = (RepositoryCreated, RepositoryDeleted, RepositoryRenamed)

    def __init__(self) -> None:
        self._by_name: FoldTable[str, Repository] = FoldTable()
        self._name_of: FoldTable[str, str] = FoldTable()

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

    def apply(self, event: RepositoryCreated | RepositoryDeleted | RepositoryRenamed, at: EventPosition) -> Any:
        match event:
            case RepositoryCreated():
                return self._created(event, at)
            case RepositoryRenamed():
                return self._renamed(event)
        return self._deleted(event)

    def _created(self, event: RepositoryCreated, at: EventPosition) -> str:
        self.check_free(event.name)
        if event.id in self._name_of:
            raise AlreadyExists(f"there is a repository with id {event.id} already")
        made = event.id, event.name, event.kind, event.default_branch, at.time, at.user, event.metadata, event.pool
        self._by_name.put(event.name, Repository(*made))
        self._name_of.put(event.id, event.name)
        return event.id

    def _renamed(self, event: RepositoryRenamed) -> str:
        name = self._known(event.id)
        self.check_free(event.to)
        again = msgspec.structs.replace(self.get(name), name=event.to)
        self._by_name.drop(name)
        self._by_name.put(event.to, again)
        self._name_of.put(event.id, event.to)
        return event.id

    def _deleted(self, event: RepositoryDeleted) -> str:
        name = self._known(event.id)
        self._by_name.drop(name)
        self._name_of.drop(event.id)
        return event.id

    def check_free(self, name: str) -> None:
        """Raises AlreadyExists."""
        if name in self._by_name:
            raise AlreadyExists(f"there is a repository {name!r} already", hint="take another name, or delete it")

    def _known(self, id: str) -> str:
        name = self._name_of.get(id)
        if name is None:
            raise NotFound(f"no repository with id {id} in this lake")
        return name

    def dump(self) -> list[Repository]:
        return self.all()

    def load(self, dumped: msgspec.Raw) -> None:
        for repository in _decoder.decode(dumped):
            self._by_name.put(repository.name, repository)
            self._name_of.put(repository.id, repository.name)


def check_name(name: str, kind: str, *, dotted: bool = False) -> None:
    """Raises Invalid."""
    if kind == POOL:
        check_pool_name(name)
    else:
        check_repository_name(name, dotted=dotted)


def check_new(name: str, kind: str, default_branch: str, metadata: Mapping[str, str], *, dotted: bool = False) -> None:
    """Raises Invalid, which names the value and says what would be right."""
    check_name(name, kind, dotted=dotted)
    if kind not in KINDS:
        raise Invalid(f"{kind!r} is not a kind of repository", hint=f"take one of {', '.join(KINDS)}")
    check_ref_name(default_branch)
    if any("\0" in text for pair in metadata.items() for text in pair):
        raise Invalid("metadata cannot hold a NUL character")


_decoder = msgspec.msgpack.Decoder(list[Repository])
