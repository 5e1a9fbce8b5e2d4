"""A repository's branches: a part of the repository journal's state."""

from typing import Any, ClassVar, Self

import msgspec

from lochan.errors import AlreadyExists, NotFound
from lochan.formats.events import Event
from lochan.formats.repository_events import RepositoryOpened
from lochan.journal.state import At, Part
from lochan.journal.table import Table


class Branch(msgspec.Struct, frozen=True, array_like=True):
    name: str
    incarnation: int  # number of the event that created it: a branch deleted and made again is another one


class Branches(Part):
    name: ClassVar[str] = "branches"
    events: ClassVar[tuple[type[Event], ...]] = (RepositoryOpened,)

    def __init__(self) -> None:
        self._by_name: Table[str, Branch] = Table()

    def get(self, name: str) -> Branch:
        found = self._by_name.get(name)
        if found is None:
            raise NotFound(f"no branch {name!r}")
        return found

    def apply(self, event: RepositoryOpened, at: At) -> Any:
        if event.default_branch in self._by_name:
            raise AlreadyExists("this repository was opened before")
        self._by_name.put(event.default_branch, Branch(event.default_branch, at.number))
        return event.default_branch

    def fork(self) -> Self:
        fork = type(self)()
        fork._by_name = self._by_name.fork()
        return fork

    def join(self) -> None:
        self._by_name.join()

    def dump(self) -> list[Branch]:
        return sorted((branch for _, branch in self._by_name.items()), key=lambda b: b.name)

    def load(self, dumped: msgspec.Raw) -> None:
        for branch in _decoder.decode(dumped):
            self._by_name.put(branch.name, branch)


_decoder = msgspec.msgpack.Decoder(list[Branch])
