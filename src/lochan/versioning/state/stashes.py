"""Stashes: what was staged on a branch, put aside for later (S9)."""

import msgspec

from lochan.errors import NotFound
from lochan.journal.table import FoldTable
from lochan.staging import layers as staging
from lochan.staging.layers import Layers


class Stash(msgspec.Struct, frozen=True):
    id: str
    branch: str
    head: str  # of the branch, when it was pushed
    layers: Layers
    message: str
    user: str
    time: int


class DumpedStash(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    id: str
    branch: str
    head: str
    layers: staging.DumpedLayers
    message: str
    user: str
    time: int


def stash_id(number: int, before: int) -> str:
    """The number of the record; those that the same record pushed before it are counted."""
    return f"{number}.{before}" if before else str(number)


def _place(stash: Stash) -> tuple[int, int]:
    number, _, before = stash.id.partition(".")
    return int(number), int(before or 0)


class Stashes:
    def __init__(self) -> None:
        self._by_id: FoldTable[str, Stash] = FoldTable()

    def get(self, id: str) -> Stash:
        found = self._by_id.get(id)
        if found is None:
            hint = "`lochan stash list REPO` shows those there are"
            raise NotFound(f"no stash {id!r}", hint=hint).named(id, lambda: (name for name, _ in self._by_id.items()))
        return found

    def all(self, branch: str = "") -> list[Stash]:
        """The newest first."""
        found = (stash for _, stash in self._by_id.items() if not branch or stash.branch == branch)
        return sorted(found, key=_place, reverse=True)

    def push(self, stash: Stash) -> None:
        self._by_id.put(stash.id, stash)

    def drop(self, id: str) -> None:
        self._by_id.drop(id)

    def old_id(self, number: int) -> str:
        """As version 1 of the event named it: the id of one that the same record dropped again was given once more."""
        at = 0
        id = str(number)
        while id in self._by_id:
            at += 1
            id = f"{number}.{at}"
        return id

    def fork(self) -> "Stashes":
        fork = Stashes()
        fork._by_id = self._by_id.fork()
        return fork

    def join(self) -> None:
        self._by_id.join()

    def dump(self) -> list[DumpedStash]:
        return [
            DumpedStash(one.id, one.branch, one.head, one.layers.dump(), one.message, one.user, one.time)
            for one in self.all()
        ]

    def load(self, dumped: list[DumpedStash]) -> None:
        for one in dumped:
            layers = staging.load(one.layers)
            self.push(Stash(one.id, one.branch, one.head, layers, one.message, one.user, one.time))
