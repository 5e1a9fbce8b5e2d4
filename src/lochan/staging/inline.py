"""Inline changes: changes in the journal itself, in memory, newest wins.

    Inline ── pieces, oldest to newest, each more than twice the size of the next ── path -> (position, change)

An Inline never changes: a put makes a new one that shares its large pieces. So a fork of the state costs nothing, a
reader keeps the version it began with, and a put costs a microsecond or two however many changes there are.
"""

from collections.abc import Iterable, Iterator
from operator import itemgetter

import msgspec

from lochan.formats.entry import Change, Tombstone

Placed = dict[str, tuple[int, Change]]
_POSITION = itemgetter(0)
_RATIO = 2  # between neighbouring pieces: 10,000 changes make at most fourteen pieces, each copied about ten times


class InlinePiece(msgspec.Struct, eq=False):
    """Changes by path, none twice; they are sorted when first needed."""

    changes: Placed
    top: int  # the highest position of its changes
    memo: object = None  # a form of it that a reader has made, for the next reader
    looks: int = 0  # how often readers did without `memo`
    _keys: list[bytes] | None = None

    @property
    def is_sorted(self) -> bool:
        return self._keys is not None

    @property
    def keys(self) -> list[bytes]:
        """The paths' UTF-8, in order."""
        if self._keys is None:
            self._keys = sorted(path.encode() for path in self.changes)
        return self._keys

    def __len__(self) -> int:
        return len(self.changes)


class Inline(msgspec.Struct, frozen=True, eq=False):
    """The changes staged at the positions first to last, without those that a later one of them replaced."""

    first: int
    last: int
    pieces: tuple[InlinePiece, ...]
    bytes: int  # the approximate size of its changes in a record or a run, including those that were replaced

    @property
    def count(self) -> int:
        """An upper bound for the number of its paths: one that is in several pieces counts in each."""
        return sum(map(len, self.pieces))

    def get(self, path: str) -> Change | None:
        for piece in reversed(self.pieces):
            found = piece.changes.get(path)
            if found is not None:
                return found[1]
        return None

    def put(self, changes: Iterable[Change]) -> "Inline":
        """Returns the layer with these on top, the last one newest."""
        placed, position, size = {}, self.last, self.bytes
        for change in changes:
            position += 1
            size += weight(change)
            placed[change.path] = (position, change)
        if position == self.last:
            return self
        return Inline(self.first, position, _stack(self.pieces, placed, position), size)

    def beyond(self, last: int) -> "Inline | None":
        """Returns the changes after this position, or None if there are none."""
        if last < self.first:
            return self
        kept: Placed = {}
        for piece in self.pieces:
            if piece.top > last:
                kept |= {path: placed for path, placed in piece.changes.items() if placed[0] > last}
        return _of(last + 1, self.last, kept) if kept else None

    def moved(self, first: int) -> "Inline":
        """Returns the same changes at positions from `first` on."""
        by = first - self.first
        return _of(first, self.last + by, {path: (at + by, change) for path, (at, change) in self.merged().items()})

    def merged(self) -> Placed:
        if len(self.pieces) == 1:
            return self.pieces[0].changes
        merged: Placed = {}
        for piece in self.pieces:
            merged |= piece.changes
        return merged

    def changes(self) -> list[Change]:
        """Returns one change for each path, in no particular order."""
        return [change for _, change in self.merged().values()]

    def by_position(self) -> Iterator[tuple[int, Change]]:
        yield from sorted(self.merged().values(), key=_POSITION)


def empty_inline(first: int) -> Inline:
    """Returns an empty layer, whose first change will have this position."""
    return Inline(first, first - 1, (), 0)


def restore_inline(first: int, last: int, placed: Iterable[tuple[int, Change]]) -> Inline:
    return _of(first, last, {change.path: (position, change) for position, change in placed})


def weight(change: Change) -> int:
    """Returns the approximate size of a change in bytes. Called at every put; few puts have metadata."""
    if isinstance(change, Tombstone):
        return len(change.path) + 8
    size = len(change.path) + 96
    for block in change.blocks:
        size += len(block.address) + 48
    for texts in (change.checksums, change.headers, change.metadata):
        if texts:
            size += sum(map(len, texts)) + sum(map(len, texts.values()))
    return size


def _of(first: int, last: int, placed: Placed) -> Inline:
    return Inline(first, last, (InlinePiece(placed, last),), sum(weight(change) for _, change in placed.values()))


def _stack(pieces: tuple[InlinePiece, ...], placed: Placed, top: int) -> tuple[InlinePiece, ...]:
    keep = len(pieces)
    while keep and len(pieces[keep - 1].changes) <= _RATIO * len(placed):
        keep -= 1
        placed = pieces[keep].changes | placed
    return (*pieces[:keep], InlinePiece(placed, top))
