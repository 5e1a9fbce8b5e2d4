"""The commits that have expired: one bit for each commit of the last checkpoint, and the ids of those since.

The fold checks for each commit that an event names whether it has expired, without reading anything. So this stays in
the state, where the commits are already: a million expiries are 125 kB in a checkpoint, beside 44 MB of the commits'
own index. A table on the store would be larger, and would have to be read before the first event."""

from collections.abc import Iterable, Iterator
from typing import Self

from lochan.versioning.state.commits import NO_COMMITS, CommitColumns, row_type


class ExpiredCommits:
    """A set like `FoldTable`, with forks. Nothing is ever dropped."""

    __slots__ = ("_bits", "_columns", "_new", "_parent")

    def __init__(self, parent: "ExpiredCommits | None" = None) -> None:
        self._parent = parent
        self._columns = NO_COMMITS  # always empty in a fork
        self._bits = b""  # a bit for each row of the columns, the first one highest; stored on disk, in checkpoints
        self._new: set[str] = set()

    def __contains__(self, id: str) -> bool:
        table: ExpiredCommits | None = self
        while table is not None:
            if id in table._new or (table._bits and table._has(id)):
                return True
            table = table._parent
        return False

    def __bool__(self) -> bool:
        return bool(self._new) or any(self._bits) or bool(self._parent)

    def __iter__(self) -> Iterator[str]:
        """Yields the ids, in no particular order."""
        yield from self._new
        if self._parent is not None:
            yield from (id for id in self._parent if id not in self._new)
        elif self._bits:
            rows = (at for at in range(len(self._columns)) if self._bits[at >> 3] & (128 >> (at & 7)))
            yield from (id for id in (self._columns.id(at).hex() for at in rows) if id not in self._new)

    def add(self, id: str) -> None:
        self._new.add(id)

    def fork(self) -> Self:
        return type(self)(self)

    def join(self) -> None:
        assert self._parent is not None, "only a fork can be joined"
        self._parent._new |= self._new
        self._new = set()

    def dump(self, columns: CommitColumns) -> bytes:
        """Returns the bits for these columns, which hold every commit, and uses both from then on."""
        if self._parent is not None:
            return _bits(columns, NO_COMMITS, b"", list(self))
        if self._new or columns is not self._columns:
            self._bits = _bits(columns, self._columns, self._bits, self._new)
        self._columns, self._new = columns, set()
        return self._bits

    def load(self, columns: CommitColumns, bits: bytes) -> None:
        self._columns, self._bits = columns, bits

    def _has(self, id: str) -> bool:
        try:
            wanted = bytes.fromhex(id)
        except ValueError:
            return False
        at = self._columns.seek(wanted)
        found = at < len(self._columns) and self._columns.id(at) == wanted
        return found and bool(self._bits[at >> 3] & (128 >> (at & 7)))


def _bits(columns: CommitColumns, before: CommitColumns, bits: bytes, new: Iterable[str]) -> bytes:
    """Returns the bits that were set for the columns before, plus those of the new ids."""
    added = [bytes.fromhex(id) for id in new]
    if not added and not bits:
        return b""
    import numpy as np  # only for writing checkpoints; a reader does without it

    rows, old = (np.frombuffer(each.rows, row_type())["id"] for each in (columns, before))
    was = (
        np.unpackbits(np.frombuffer(bits, np.uint8), count=len(old)).astype(bool) if bits else np.zeros(len(old), bool)
    )
    is_set = np.zeros(len(rows), bool)
    for ids in (old[: len(was)][was], np.array(added, rows.dtype)):
        is_set[np.searchsorted(rows, ids)] = True
    return np.packbits(is_set).tobytes()
