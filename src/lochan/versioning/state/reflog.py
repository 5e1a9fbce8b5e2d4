"""The head of each branch over time: a list of head moves for each name, with the times of the journal's records.

The times come from several machines' clocks, so a move counts as no earlier than the move before it. The list continues
if a branch is deleted and another is created under its name. Checkpoints hold the lists as columns, which are used
without decoding."""

import struct
from bisect import bisect_right
from typing import Self

import msgspec

_GONE = bytes(32)


class Moves(msgspec.Struct, frozen=True, array_like=True):
    """The moves of one name, oldest first. Stored in checkpoints."""

    times: memoryview  # microseconds since 1970, 8 bytes each, big-endian
    heads: memoryview  # 32 bytes each; zeros if the branch was deleted

    def __len__(self) -> int:
        return len(self.times) // _TIME.size

    def time(self, at: int) -> int:
        time: int = _TIME.unpack_from(self.times, at * _TIME.size)[0]
        return time

    def head(self, at: int) -> str:
        head = bytes(self.heads[at * len(_GONE) : (at + 1) * len(_GONE)])
        return "" if head == _GONE else head.hex()


class RefLog:
    __slots__ = ("_moves", "_new", "_parent")

    def __init__(self, parent: "RefLog | None" = None) -> None:
        self._parent = parent
        self._moves: dict[str, Moves] = {}  # always empty in a fork
        self._new: dict[str, list[tuple[int, str]]] = {}

    def moved(self, name: str, time: int, head: str) -> None:
        """Records that the branch has this head from now on. An empty head means that it was deleted."""
        last = self.last(name)
        self._new.setdefault(name, []).append((time if last is None else max(time, last[0]), head))

    def at(self, name: str, time: int) -> str | None:
        """Returns the head at that time. It is empty if the branch was deleted before, and None if the log does not go
        back that far."""
        new = self._new.get(name, [])
        index = bisect_right(new, time, key=lambda move: move[0])
        if index:
            return new[index - 1][1]
        if self._parent is not None:
            return self._parent.at(name, time)
        moves = self._moves.get(name, _NONE)
        index = bisect_right(range(len(moves)), time, key=moves.time)
        return moves.head(index - 1) if index else None

    def first(self, name: str) -> int | None:
        """Returns the time when the first branch of that name was created."""
        below = self._parent.first(name) if self._parent else None
        if below is not None:
            return below
        moves, new = self._moves.get(name, _NONE), self._new.get(name)
        return moves.time(0) if len(moves) else new[0][0] if new else None

    def last(self, name: str) -> tuple[int, str] | None:
        new = self._new.get(name)
        if new:
            return new[-1]
        if self._parent is not None:
            return self._parent.last(name)
        moves = self._moves.get(name, _NONE)
        return (moves.time(len(moves) - 1), moves.head(len(moves) - 1)) if len(moves) else None

    def left_since(self, time: int) -> set[str]:
        """Returns the heads that any branch had at that time or later, whether it still has them or not."""
        found = self._parent.left_since(time) if self._parent is not None else set()
        for moves in self._moves.values():
            first = bisect_right(range(len(moves)), time, key=moves.time)
            found.update(moves.head(at) for at in range(max(0, first - 1), len(moves)))
        for name, new in self._new.items():
            first = bisect_right(new, time, key=lambda move: move[0])
            found.update(head for _, head in new[max(0, first - 1) :])
            if not first and self._parent is not None:
                found.add(self._parent.at(name, time) or "")
        return found - {""}

    def fork(self) -> Self:
        return type(self)(self)

    def join(self) -> None:
        assert self._parent is not None, "only a fork can be joined"
        for name, moves in self._new.items():
            self._parent._new.setdefault(name, []).extend(moves)
        self._new = {}

    def dump(self) -> dict[str, Moves]:
        """Moves new entries into the columns."""
        below = self._moves if self._parent is None else self._parent.dump()
        moves = {**below, **{name: _with(below.get(name, _NONE), new) for name, new in self._new.items()}}
        if self._parent is None:
            self._moves, self._new = moves, {}
        return moves

    def load(self, dumped: dict[str, Moves]) -> None:
        self._moves = dumped


def _with(moves: Moves, new: list[tuple[int, str]]) -> Moves:
    times = b"".join((moves.times, *(_TIME.pack(time) for time, _ in new)))
    heads = b"".join((moves.heads, *(bytes.fromhex(head) or _GONE for _, head in new)))
    return Moves(memoryview(times), memoryview(heads))


_TIME = struct.Struct(">q")
_NONE = Moves(memoryview(b""), memoryview(b""))
