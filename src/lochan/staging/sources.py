"""The sources of a listing: rows sorted by path, from a run, inline changes or the base, behind one protocol.

A row is *live* if it is an entry and not a tombstone. Keys are the paths' UTF-8."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.formats.entry import ENTRY_SCHEMA, Entry, Tombstone
from lochan.formats.entry_table import NO_ENTRIES, EntryRows, as_batch, table_of
from lochan.formats.run import changes_table, entries_of
from lochan.staging.inline import Inline, InlinePiece, Placed
from lochan.tree.rows import PathSpan

RowNumbers = npt.NDArray[np.int64]
_LOOKS_MAX = 3  # look-ups before a piece becomes columns; searching 10,000 changes takes 2 ms, columns 60
_PIECE_MIN = 256  # smaller pieces of an inline layer are merged for a listing, in a few dozen microseconds
_BY_ROW_MAX = 12  # so many rows become entries as quickly one by one as all at once
_NO_ROWS = pa.Table.from_batches([NO_ENTRIES])


class ViewBase(Protocol):
    async def get(self, path: str) -> Entry | None: ...

    def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        """Yields the entries whose path begins with `prefix` and is greater than `after`, in path order, as batches of
        ENTRY_SCHEMA, which are read one by one."""


class EmptyBase:
    """The base of a branch without a commit."""

    async def get(self, path: str) -> Entry | None:
        return None

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        return
        yield  # makes it a generator


class RowSource(Protocol):
    @property
    def count(self) -> int: ...

    def key(self, row: int) -> bytes: ...

    def seek(self, key: bytes, low: int) -> int:
        """Returns the first row from `low` on whose key is not below `key`."""

    def folders(self, row: int, stop: int, skip: int, delimiter: bytes, least: int, most: int) -> tuple[list[str], int]:
        """Returns folders like `EntryRows.folders`. It may find none; then the caller goes row by row."""

    def is_live(self, row: int) -> bool: ...

    def live(self, start: int, stop: int, most: int) -> RowNumbers:
        """Returns the first live rows in the span, without reading each tombstone."""

    def keys(self, start: int, stop: int) -> pa.Array:
        """Returns the keys of all rows in the span, tombstones included."""

    def keys_of(self, rows: RowNumbers) -> pa.Array: ...

    def entries(self, rows: RowNumbers) -> list[Entry]:
        """Returns the entries of these rows. REQUIRES: all of them are live."""

    def batch(self, rows: RowNumbers) -> pa.RecordBatch:
        """Returns the entries as a batch of ENTRY_SCHEMA."""


class ColumnSource:
    """Rows in Arrow, of a run or of a range. `live` are the numbers of those that are no tombstones, or None for
    all."""

    def __init__(self, rows: EntryRows, live: RowNumbers | None = None) -> None:
        self.count = rows.count
        self.key = rows.path
        self.seek = rows.seek
        self._rows = rows
        self._live = live

    def folders(self, row: int, stop: int, skip: int, delimiter: bytes, least: int, most: int) -> tuple[list[str], int]:
        return ([], row) if self._live is not None else self._rows.folders(row, stop, skip, delimiter, least, most)

    def is_live(self, row: int) -> bool:
        if self._live is None:
            return True
        at = int(self._live.searchsorted(row))
        return at < len(self._live) and bool(self._live[at] == row)

    def live(self, start: int, stop: int, most: int) -> RowNumbers:
        if self._live is None:
            return np.arange(start, min(stop, start + most))
        at = int(self._live.searchsorted(start))
        picked = self._live[at : at + most]
        return picked if not len(picked) or picked[-1] < stop else picked[: int(picked.searchsorted(stop))]

    def keys(self, start: int, stop: int) -> pa.Array:
        return self._rows.batch.column("path").slice(start, stop - start)

    def keys_of(self, rows: RowNumbers) -> pa.Array:
        keys = self._rows.batch.column("path")
        return keys.slice(rows[0], len(rows)) if _solid(rows) else keys.take(row_indices(rows))

    def entries(self, rows: RowNumbers) -> list[Entry]:
        if len(rows) <= _BY_ROW_MAX:
            return [self._rows.entry(row) for row in rows.tolist()]
        return entries_of(pa.Table.from_batches([self.batch(rows)]))

    def batch(self, rows: RowNumbers) -> pa.RecordBatch:
        batch = self._rows.batch
        if "deleted" in batch.schema.names:
            batch = batch.select(ENTRY_SCHEMA.names)
        return batch.slice(rows[0], len(rows)) if _solid(rows) else batch.take(row_indices(rows))


class InlineSource:
    """A source of inline changes."""

    def __init__(self, keys: list[bytes], placed: Placed) -> None:
        self.count = len(keys)
        self._keys = keys
        self._placed = placed

    def key(self, row: int) -> bytes:
        return self._keys[row]

    def seek(self, key: bytes, low: int) -> int:
        return bisect_left(self._keys, key, low)

    def folders(self, row: int, stop: int, skip: int, delimiter: bytes, least: int, most: int) -> tuple[list[str], int]:
        return [], row

    def is_live(self, row: int) -> bool:
        return not isinstance(self._placed[self._keys[row].decode()][1], Tombstone)

    def live(self, start: int, stop: int, most: int) -> RowNumbers:
        rows = islice((row for row in range(start, stop) if self.is_live(row)), most)
        return np.fromiter(rows, dtype=np.int64)

    def keys(self, start: int, stop: int) -> pa.Array:
        return _texts(self._keys[start:stop])

    def keys_of(self, rows: RowNumbers) -> pa.Array:
        return _texts([self._keys[row] for row in rows.tolist()])

    def entries(self, rows: RowNumbers) -> list[Entry]:
        return [cast("Entry", self._placed[self._keys[row].decode()][1]) for row in rows.tolist()]

    def batch(self, rows: RowNumbers) -> pa.RecordBatch:
        return as_batch(table_of(self.entries(rows)))


def inline_sources(inline: Inline, within: PathSpan) -> list[RowSource]:
    """Returns the sources of the changes within the span, newest first. Large pieces are made into columns once; the
    small ones on top are merged."""
    large: Sequence[InlinePiece] = [piece for piece in inline.pieces if len(piece) >= _PIECE_MIN]
    merged: Placed = {}
    for piece in inline.pieces[len(large) :]:
        merged |= piece.changes
    small = [InlineSource(sorted(path.encode() for path in merged), merged)] if merged else []
    return [*small, *(_large_source(piece, within) for piece in reversed(large))]


def _large_source(piece: InlinePiece, within: PathSpan) -> RowSource:
    """Returns the source of a piece. A single look-up of a few paths, as by a command, costs less than making the
    columns."""
    if piece.memo is None and within.low and piece.looks < _LOOKS_MAX:
        piece.looks += 1
        if piece.is_sorted:
            low, high = (bisect_left(piece.keys, end) for end in within)
            return InlineSource(piece.keys[low:high], piece.changes)
        keys = [key for path in piece.changes if within.low <= (key := path.encode()) < within.high]
        return InlineSource(sorted(keys), piece.changes)
    return _columns(piece)


def sort_large(inline: Inline) -> None:
    """Sorts large pieces in a process that forks: its children then find paths without touching, and so copying, the
    memory of all others."""
    for piece in inline.pieces:
        if len(piece) >= _PIECE_MIN:
            piece.keys  # noqa: B018


def _columns(piece: InlinePiece) -> ColumnSource:
    """Returns the columns of a piece. They are kept with the piece, which never changes and which every listing of the
    branch needs."""
    if not isinstance(piece.memo, ColumnSource):
        batch = as_batch(changes_table(change for _, change in piece.changes.values()))
        deleted = batch.column("deleted").to_numpy(zero_copy_only=False)
        piece.memo = ColumnSource(EntryRows(batch), np.flatnonzero(~deleted) if deleted.any() else None)
    return piece.memo


def row_indices(rows: RowNumbers) -> pa.Array:
    """Returns the numbers as an Arrow array. Arrow's own conversion imports numpy's masked arrays, to check whether
    this is one: 7 ms of a command."""
    numbers = np.ascontiguousarray(rows, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _solid(rows: RowNumbers) -> bool:
    return len(rows) > 0 and bool(rows[-1] - rows[0] == len(rows) - 1)


def _texts(keys: list[bytes]) -> pa.Array:
    return pa.array(keys, pa.binary()).cast(pa.string())


class SelectedRows(NamedTuple):
    """Live rows in path order."""

    sources: Sequence[RowSource]
    owners: npt.NDArray[np.int64]  # the source of each row; within a source the rows ascend
    rows: RowNumbers

    def first(self, count: int) -> "SelectedRows":
        return SelectedRows(self.sources, self.owners[:count], self.rows[:count])

    @property
    def last_path(self) -> str:
        """The path of the last row. REQUIRES: there is at least one row."""
        return self.sources[int(self.owners[-1])].key(int(self.rows[-1])).decode()

    def entries(self) -> list[Entry]:
        if len(self.sources) == 1:
            return self.sources[0].entries(self.rows)
        each = [iter(source.entries(self.rows[self.owners == owner])) for owner, source in enumerate(self.sources)]
        return [next(each[owner]) for owner in self.owners.tolist()]

    def table(self) -> pa.Table:
        """Returns the rows as a table of ENTRY_SCHEMA."""
        if not len(self.rows):
            return _NO_ROWS
        if len(self.sources) == 1:
            return pa.Table.from_batches([self.sources[0].batch(self.rows)], ENTRY_SCHEMA)
        of = [np.flatnonzero(self.owners == owner) for owner in range(len(self.sources))]
        parts = [source.batch(self.rows[at]) for source, at in zip(self.sources, of, strict=True) if len(at)]
        table = pa.Table.from_batches(parts, ENTRY_SCHEMA)
        places = np.concatenate(of) if of else np.zeros(0, np.int64)
        in_order = len(places) < 2 or bool((np.diff(places) > 0).all())
        return table if in_order else table.combine_chunks().take(pa.array(np.argsort(places)))


NOTHING = SelectedRows((), np.zeros(0, np.int64), np.zeros(0, np.int64))


def join_parts(parts: Sequence[SelectedRows]) -> SelectedRows:
    """Joins parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    sources: list[RowSource] = []
    known: dict[int, int] = {}
    owners = [np.zeros(0, np.int64)]
    for part in parts:
        for source in part.sources:
            if id(source) not in known:
                known[id(source)] = len(sources)
                sources.append(source)
        places = np.array([known[id(source)] for source in part.sources], np.int64)
        owners.append(places[part.owners] if len(part.owners) else part.owners)
    return SelectedRows(sources, np.concatenate(owners), np.concatenate([owners[0], *(part.rows for part in parts)]))
