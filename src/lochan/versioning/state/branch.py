"""A branch: a name for a head that moves, the changes staged over it, and the requests that wait to move it. Also
stashes: staged changes that were set aside for later (S9)."""

from typing import Final

import msgspec

from lochan.errors import ConcurrentCommit, Dirty, NotFound
from lochan.journal.table import FoldTable, FoldTables
from lochan.staging import layers as staging
from lochan.staging.layers import EMPTY, DumpedLayers, Layers, load

AGAIN: Final = 1 << 48
"""In a number that has to be unique: the record's number, plus this for each earlier one of the same record. The first
one of a record is its plain number. Stored on disk."""

HIDDEN: Final = "hidden-branches"  # in checkpoints: some branches are hidden

_NUMBER = ""  # the number of the record that the counts belong to is under this name


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """A request in the queue of a branch. Stored in checkpoints."""

    request: str
    patience: int
    writer: str = ""  # the process that sent it; it is empty in old journals, whose entries named none
    renewed: int = 0  # the number of the record that last renewed it
    user: str = ""


class BranchState(msgspec.Struct, frozen=True):
    name: str
    incarnation: int  # the number of its record, plus AGAIN for each earlier branch of that name in the record
    head: str
    layers: Layers = EMPTY
    turns: tuple[Turn, ...] = ()
    hidden: bool = False  # lists of branches leave it out

    def without_turn(self, request: str) -> "BranchState":
        left = tuple(turn for turn in self.turns if turn.request != request)
        return msgspec.structs.replace(self, turns=left)

    def without_writer(self, writer: str) -> "BranchState":
        return msgspec.structs.replace(self, turns=tuple(turn for turn in self.turns if turn.writer != writer))

    def is_front(self, request: str) -> bool:
        return bool(self.turns) and self.turns[0].request == request

    def dump(self) -> "DumpedBranch":
        return DumpedBranch(self.name, self.incarnation, self.head, self.layers.dump(), self.turns, self.hidden)


class DumpedBranch(msgspec.Struct, frozen=True, array_like=True):
    """A branch in a checkpoint. Stored on disk: fields may only be added at the end."""

    name: str
    incarnation: int
    head: str
    layers: DumpedLayers
    turns: tuple[Turn, ...] = ()
    hidden: bool = False


def load_branch(branch: DumpedBranch) -> BranchState:
    layers = load(branch.layers)
    return BranchState(branch.name, branch.incarnation, branch.head, layers, branch.turns, branch.hidden)


def moved_underneath(branch: str) -> ConcurrentCommit:
    return ConcurrentCommit(
        f"branch {branch!r} was moved by somebody else meanwhile", hint="look at it, then try again"
    )


def dirty(branch: str) -> Dirty:
    return Dirty(f"branch {branch!r} has uncommitted changes", hint="commit them or reset them first")


class RecordNames(FoldTables):
    """Counts what one record has made so far, by name. All events of a record share its number, so the number alone
    does not identify things that a record can make twice, such as a branch that is made, deleted and made again."""

    def __init__(self) -> None:
        self._made: FoldTable[str, int] = FoldTable()  # only for one record: the next one starts over

    def count(self, name: str, number: int) -> int:
        """Returns how many of that name record `number` has made before, and counts this one from now on."""
        if self._made.get(_NUMBER) != number:
            for old in [old for old, _ in self._made.items()]:
                self._made.drop(old)
            self._made.put(_NUMBER, number)
        before = self._made.get(name) or 0
        self._made.put(name, before + 1)
        return before


def record_of(unique: int) -> int:
    """Returns the number of the record."""
    return unique % AGAIN


class Stash(msgspec.Struct, frozen=True):
    id: str
    branch: str
    head: str  # the head of the branch when it was pushed
    layers: Layers
    message: str
    user: str
    time: int


class DumpedStash(msgspec.Struct, frozen=True, array_like=True):
    """A stash in a checkpoint. Stored on disk: fields may only be added at the end."""

    id: str
    branch: str
    head: str
    layers: staging.DumpedLayers
    message: str
    user: str
    time: int


def stash_id(number: int, before: int) -> str:
    """Returns the number of the record, with a count if the same record has pushed other stashes before."""
    return f"{number}.{before}" if before else str(number)


def _place(stash: Stash) -> tuple[int, int]:
    number, _, before = stash.id.partition(".")
    return int(number), int(before or 0)


class Stashes(FoldTables):
    def __init__(self) -> None:
        self._by_id: FoldTable[str, Stash] = FoldTable()

    def get(self, id: str) -> Stash:
        found = self._by_id.get(id)
        if found is None:
            hint = "`lochan stash list REPO` shows those there are"
            raise NotFound(f"no stash {id!r}", hint=hint).named(id, lambda: (name for name, _ in self._by_id.items()))
        return found

    def all(self, branch: str = "") -> list[Stash]:
        """Returns the stashes, the newest first."""
        found = (stash for _, stash in self._by_id.items() if not branch or stash.branch == branch)
        return sorted(found, key=_place, reverse=True)

    def push(self, stash: Stash) -> None:
        self._by_id.put(stash.id, stash)

    def drop(self, id: str) -> None:
        self._by_id.drop(id)

    def old_id(self, number: int) -> str:
        """Returns the id as version 1 of the event assigned it: it could reuse the id of a stash that the same record
        had dropped."""
        at = 0
        id = str(number)
        while id in self._by_id:
            at += 1
            id = f"{number}.{at}"
        return id

    def dump(self) -> list[DumpedStash]:
        return [
            DumpedStash(one.id, one.branch, one.head, one.layers.dump(), one.message, one.user, one.time)
            for one in self.all()
        ]

    def load(self, dumped: list[DumpedStash]) -> None:
        for one in dumped:
            layers = staging.load(one.layers)
            self.push(Stash(one.id, one.branch, one.head, layers, one.message, one.user, one.time))
