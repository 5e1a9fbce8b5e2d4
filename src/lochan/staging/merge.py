"""Merges tables of changes, newest wins, a piece at a time. Nothing here works row by row.

newest   ··a·····d|·········g      Each is sorted. All are cut at the same path, and the rows below it are merged:
         ····c····|e···f·····      sorting a million changes at once would take two more copies of them.
oldest   ··a···c··|······f···
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.entry_table import EntryRows, as_batch, concat
from lochan.formats.run import empty
from lochan.tree.rows import PathSpan

_PIECE = 1 << 16  # rows merged at once: 20 MB
_STRIDE = 64  # one of so many paths is sampled to find where to cut


def merge_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Merges several sorted tables into one, the newest first. The result may have several chunks."""
    pile = Pile()
    for age, table in enumerate(tables):
        pile.add(age, EntryRows(as_batch(table)))
    return pa.concat_tables(pile.pieces()) if pile.left else empty()


class Pile:
    """The tables that are being merged. More may be added at any time, but not below rows that were taken."""

    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}

    def add(self, age: int, rows: EntryRows, within: PathSpan | None = None) -> None:
        """Adds a table. For equal paths, the row with the lowest age wins. REQUIRES: no other table of this age is
        left."""
        start, stop = (0, rows.count) if within is None else (rows.seek(within.low), rows.seek(within.high))
        if start < stop:
            self._parts[age] = _Part(rows, start, stop)

    @property
    def left(self) -> int:
        return sum(part.left for part in self._parts.values())

    @property
    def lacks(self) -> int:
        """The number of rows that are missing to make a piece."""
        return max(0, _PIECE - self.left)

    def cut(self) -> bytes | None:
        """Returns a path with about one piece below it, and at least one row, or None if no more than a piece is
        left."""
        if self.left <= _PIECE:
            return None
        sample = pa.concat_arrays([part.sample() for part in self._parts.values()]).sort()
        path: str = sample[_PIECE // _STRIDE].as_py()
        return path.encode() + b"\0"

    def take(self, cut: bytes | None) -> pa.Table:
        """Merges and removes all rows below the cut, or all rows if it is None."""
        batches = [self._parts[age].take(cut) for age in sorted(self._parts)]
        self._parts = {age: part for age, part in self._parts.items() if part.left}
        return _newest([batch for batch in batches if batch.num_rows])

    def pieces(self) -> Iterator[pa.Table]:
        while self.left:
            yield self.take(self.cut())


class _Part:
    """The rest of one table."""

    def __init__(self, rows: EntryRows, start: int, stop: int) -> None:
        self._rows = rows
        self._start = start
        self._stop = stop

    @property
    def left(self) -> int:
        return self._stop - self._start

    def sample(self) -> pa.StringArray:
        return self._rows.batch.column("path")[self._start : self._start + min(self.left, _PIECE + 1) : _STRIDE]

    def take(self, cut: bytes | None) -> pa.RecordBatch:
        start = self._start
        self._start = self._stop if cut is None else max(start, min(self._rows.seek(cut, start), self._stop))
        return self._rows.batch.slice(start, self._start - start)


def _newest(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    aside = _side_by_side(batches)
    if aside is not None:
        return pa.Table.from_batches(aside, RUN_SCHEMA)
    whole = concat(batches)
    order = pc.sort_indices(whole.column("path"))  # stable: of equal paths the newest stays first
    ordered = whole.column("path").take(order)
    first = np.ones(len(order), np.bool_)
    first[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    return pa.Table.from_batches([whole.take(order.filter(pa.array(first)))])


def _side_by_side(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch] | None:
    """Returns the batches in path order if no two of them overlap, else None."""
    ends = [(batch.column("path")[0].as_py(), batch.column("path")[-1].as_py(), batch) for batch in batches]
    ends.sort(key=lambda end: end[:2])
    if all(one[1] < other[0] for one, other in pairwise(ends)):
        return [batch for _, _, batch in ends]
    return None
