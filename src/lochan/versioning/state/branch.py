"""A branch: a name for a head that moves, what is staged over it, and who waits to move it."""

import msgspec

from lochan.errors import ConcurrentCommit, Dirty
from lochan.staging.layers import EMPTY, Dumped, Layers, load


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """A request in the queue of a branch. On somebody's disk, in checkpoints."""

    request: str
    patience: int
    writer: str = ""  # the process that it is a request of; empty in journals from before entries named it
    renewed: int = 0  # number of the record in which it last showed itself
    user: str = ""


class Branch(msgspec.Struct, frozen=True):
    name: str
    incarnation: int  # number of the record that made it, plus AGAIN for each of that name that it made before this one
    head: str
    layers: Layers = EMPTY
    turns: tuple[Turn, ...] = ()

    def without_turn(self, request: str) -> "Branch":
        left = tuple(turn for turn in self.turns if turn.request != request)
        return msgspec.structs.replace(self, turns=left)

    def without_writer(self, writer: str) -> "Branch":
        return msgspec.structs.replace(self, turns=tuple(turn for turn in self.turns if turn.writer != writer))

    def is_front(self, request: str) -> bool:
        return bool(self.turns) and self.turns[0].request == request

    def dump(self) -> "DumpedBranch":
        return DumpedBranch(self.name, self.incarnation, self.head, self.layers.dump(), self.turns)


class DumpedBranch(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    name: str
    incarnation: int
    head: str
    layers: Dumped
    turns: tuple[Turn, ...] = ()


def loaded(branch: DumpedBranch) -> Branch:
    return Branch(branch.name, branch.incarnation, branch.head, load(branch.layers), branch.turns)


def moved_underneath(branch: str) -> ConcurrentCommit:
    return ConcurrentCommit(
        f"branch {branch!r} was moved by somebody else meanwhile", hint="look at it, then try again"
    )


def dirty(branch: str) -> Dirty:
    return Dirty(f"branch {branch!r} has uncommitted changes", hint="commit them or reset them first")
