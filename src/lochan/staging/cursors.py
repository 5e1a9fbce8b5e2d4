"""Positions in sources, and a sweep: many rows of all of them at once, newest wins.

A sweep takes a block of live rows from every source, up to a path that all of them have reached (the horizon), and
drops rows whose path a newer source has too. Tombstones are never walked: in their own source the list of live rows
skips them, and older rows that they hide are found by comparing whole columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry_table import EntryRows
from lochan.staging.sources import NOTHING, ColumnSource, RowNumbers, RowSource, SelectedRows, ViewBase
from lochan.tree.rows import PathSpan
from lochan.tree.tree import Tree

Mask = npt.NDArray[np.bool_]

BLOCK_MIN = 64
BLOCK_MAX = 65_536
_PROBE_RATIO = 40  # one search in a source costs about as much as hashing so many rows
ABOVE = "\U0010ffff" * 256  # appended to a prefix: above every path that continues for up to 1,024 bytes


class RowCursor:
    """A position in a source: rows from `row` to `stop` are left, and the next one has the key `key`."""

    more = False  # whether there may be rows after `stop`

    def __init__(self, source: RowSource, within: PathSpan) -> None:
        self.source = source
        row = source.seek(within.low, 0)
        self.stop = source.seek(within.high, row)
        self.move(row)

    def move(self, row: int) -> None:
        self.row = row
        self.key = self.source.key(row) if row < self.stop else None

    def rows_to(self, key: bytes) -> int:
        return min(self.source.seek(key, self.row), self.stop)

    def take(self, most: int, cost: "Cost") -> SelectedRows:
        """Returns the next live rows in memory, and moves past them."""
        rows = self.source.live(self.row, self.stop, most)
        cost.rows += len(rows)
        self.move(int(rows[-1]) + 1 if len(rows) == most else self.stop)
        return SelectedRows([self.source], np.zeros(len(rows), np.int64), rows)

    async def settle(self) -> None:
        """Fetches more rows, if none are left here and there are more."""

    async def rescan(self, folder: str, end: bytes) -> None:
        """Continues at `end`, the lowest key above all that begin with `folder`, if no rows are left here."""


def cursor_over(base: ViewBase, prefix: str, within: PathSpan, after: str) -> "TreeCursor | BaseCursor":
    return TreeCursor(base, within) if isinstance(base, Tree) else BaseCursor(base, prefix, within, after)


class TreeCursor(RowCursor):
    """A cursor over a tree: range after range, and by a search if a jump leads out of the range."""

    def __init__(self, tree: Tree, within: PathSpan) -> None:
        self._tree = tree
        self._high = within.high
        self._next = within.low  # where to continue after the rows in memory
        self.more = tree.count > 0
        self.stop = 0
        self.row = 0
        self.key = None

    async def settle(self) -> None:
        while self.more and self.row >= self.stop:
            found = await self._tree.seek(self._next)
            if found is None:
                self.more = False
                return
            rows, row = found
            self.source = ColumnSource(rows)
            last = rows.path(rows.count - 1)
            self.more = last < self._high
            self.stop = rows.count if self.more else rows.seek(self._high, row)
            self._next = last + b"\0"
            self.move(row)

    async def rescan(self, folder: str, end: bytes) -> None:
        if self.row >= self.stop:  # otherwise the jump led to a row in memory
            self._next = max(self._next, end)

    async def close(self) -> None:
        """Does nothing, because it holds nothing."""


class BaseCursor(RowCursor):
    """A cursor over another base: batch after batch, and by a new scan if a jump leads out of the batch."""

    def __init__(self, base: ViewBase, prefix: str, within: PathSpan, after: str) -> None:
        self._base = base
        self._prefix = prefix
        self._within = within
        self._scan = base.scan(prefix, after)
        self.more = True
        self.stop = 0
        self.row = 0
        self.key = None
        self._last = b""  # the last key of the batch

    async def settle(self) -> None:
        while self.more and self.row >= self.stop:
            batch = await anext(self._scan, None)
            if batch is None:
                self.more = False
                return
            source = ColumnSource(EntryRows(batch))
            self._last = source.key(source.count - 1)
            super().__init__(source, self._within)

    async def rescan(self, folder: str, end: bytes) -> None:
        # A batch that reaches further was swept completely; reading it again would bring back hidden rows.
        if self.row >= self.stop and self._last < end:
            await self.close()
            self._within = PathSpan(end, self._within.high)
            self._scan = self._base.scan(self._prefix, folder + ABOVE)

    async def close(self) -> None:
        """Ends the scan."""
        aclose = getattr(self._scan, "aclose", None)  # a generator has it, other iterators may not
        if aclose is not None:
            await aclose()


class Swept(NamedTuple):
    """Live rows in path order that no newer row hides."""

    keys: pa.StringArray
    picked: SelectedRows


class Cost:
    """Counts how much a listing has read, for tests."""

    def __init__(self) -> None:
        self.rows = 0  # rows compared, in blocks or one by one


async def sweep(cursors: Sequence[RowCursor], block: int, cost: Cost) -> Swept | None:
    """Moves all cursors, newest first, past the horizon. Returns the live rows up to it, which may be none, or None if
    nothing is left."""
    for cursor in cursors:
        await cursor.settle()
    active = [cursor for cursor in cursors if cursor.key is not None]
    if not active:
        return None
    picked = [cursor.source.live(cursor.row, cursor.stop, block) for cursor in active]
    horizon = _horizon(active, picked, block)
    ends = [cursor.stop if horizon is None else cursor.rows_to(horizon + b"\0") for cursor in active]
    kept: list[RowNumbers] = []
    for at, (cursor, rows, end) in enumerate(zip(active, picked, ends, strict=True)):
        rows = rows[: int(rows.searchsorted(end))]
        spans = [(newer.source, newer.row, stop) for newer, stop in zip(active[:at], ends[:at], strict=True)]
        kept.append(_unhidden(cursor.source, rows, spans, cost))
    found = _in_order([cursor.source for cursor in active], kept)
    for cursor, end in zip(active, ends, strict=True):
        cursor.move(end)
    return found


def _horizon(cursors: list[RowCursor], picked: list[RowNumbers], block: int) -> bytes | None:
    """Returns the lowest of the paths up to which each source has shown its live rows, or None if all have shown
    everything."""
    reached = []
    for cursor, rows in zip(cursors, picked, strict=True):
        if len(rows) == block:
            reached.append(cursor.source.key(int(rows[-1])))
        elif cursor.more:
            reached.append(cursor.source.key(cursor.stop - 1))
    return min(reached, default=None)


def _unhidden(source: RowSource, rows: RowNumbers, newer: list[tuple[RowSource, int, int]], cost: Cost) -> RowNumbers:
    cost.rows += len(rows)
    if not len(rows) or not newer:
        return rows
    low, high = source.key(int(rows[0])), source.key(int(rows[-1])) + b"\0"
    spans = []
    for other, start, stop in newer:
        first = min(other.seek(low, start), stop)
        last = min(other.seek(high, first), stop)
        if first < last:
            spans.append((other, first, last))
    return rows[~hidden_keys(source.keys_of(rows), spans, cost)] if spans else rows


def hidden_keys(keys: pa.StringArray, spans: list[tuple[RowSource, int, int]], cost: Cost) -> Mask:
    """Returns which of the keys are in one of these spans of rows. Its cost depends on the smaller side, not on the
    larger."""
    mask: Mask = np.zeros(len(keys), np.bool_)
    pooled = []
    for source, start, stop in spans:
        if stop - start > len(keys) * _PROBE_RATIO:
            mask |= _probe(keys, source, start, stop, cost)
            continue
        cost.rows += stop - start
        others = source.keys(start, stop)
        if len(others) == len(keys) and others.equals(
            keys
        ):  # a whole block was deleted: ten times cheaper to notice this way
            return np.ones(len(keys), np.bool_)
        pooled.append(others)
    if pooled:
        mask |= pc.is_in(keys, value_set=pa.concat_arrays(pooled)).to_numpy(zero_copy_only=False)
    return mask


def _probe(keys: pa.StringArray, source: RowSource, start: int, stop: int, cost: Cost) -> Mask:
    found = np.zeros(len(keys), np.bool_)
    for at, key in enumerate(keys.cast(pa.binary()).to_pylist()):
        cost.rows += 1
        start = source.seek(key, start)
        found[at] = start < stop and source.key(start) == key
    return found


def _in_order(sources: list[RowSource], picked: list[RowNumbers]) -> Swept:
    pairs = [(source, rows) for source, rows in zip(sources, picked, strict=True) if len(rows)]
    if not pairs:
        return Swept(pa.nulls(0, pa.string()), NOTHING)
    sources, picked = [source for source, _ in pairs], [rows for _, rows in pairs]
    keys = pa.concat_arrays([source.keys_of(rows) for source, rows in pairs])
    owners, rows = np.repeat(np.arange(len(pairs)), [len(rows) for rows in picked]), np.concatenate(picked)
    if len(pairs) > 1:
        order = pc.sort_indices(keys)
        keys, owners, rows = keys.take(order), owners[order.to_numpy()], rows[order.to_numpy()]
    return Swept(keys, SelectedRows(sources, owners, rows))
