"""Whole tables of changes, newest wins. Nothing here goes row by row."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry_table import Rows, as_batch
from lochan.formats.run import column, empty, one_chunk

_PIECE = 1 << 17  # rows merged at once
_STRIDE = 64  # every so many paths, one is looked at to find where to cut


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """One table, sorted, of tables that are sorted each, the newest first. It may have several chunks."""
    tables = [one_chunk(table) for table in tables if len(table)]
    if len(tables) < 2:
        return tables[0] if tables else empty()
    aside = _side_by_side(tables)
    return pa.concat_tables(map(_newest, _pieces(tables)) if aside is None else aside)


def _pieces(tables: Sequence[pa.Table]) -> Iterator[list[pa.Table]]:
    """The tables cut at the same paths, a piece of each at a time: sorting a million changes as a whole would take
    two more copies of them."""
    every = [Rows(as_batch(table)) for table in tables]
    starts = [0] * len(tables)
    for path in _cuts(tables, sum(map(len, tables)) // _PIECE):
        stops = [rows.seek(path, start) for rows, start in zip(every, starts, strict=True)]
        yield [table.slice(start, stop - start) for table, start, stop in zip(tables, starts, stops, strict=True)]
        starts = stops
    yield [table.slice(start) for table, start in zip(tables, starts, strict=True)]


def _cuts(tables: Sequence[pa.Table], count: int) -> list[bytes]:
    """So many paths, ascending, that lie about evenly among all."""
    if not count:
        return []
    sample = pa.concat_arrays([column(table, "path")[::_STRIDE] for table in tables]).sort()
    return [path.encode() for path in sample[:: len(sample) // (count + 1) + 1][1:].to_pylist()]


def _newest(tables: Sequence[pa.Table]) -> pa.Table:
    tables = [table for table in tables if len(table)]
    if len(tables) < 2:
        return tables[0] if tables else empty()
    paths = pa.concat_arrays([column(table, "path") for table in tables])
    order = pc.sort_indices(paths)  # stable: of equal paths the newest stays first
    ordered = paths.take(order)
    first = np.ones(len(order), np.bool_)
    first[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    return pa.concat_tables(tables).combine_chunks().take(order.filter(pa.array(first)))


def _side_by_side(tables: Sequence[pa.Table]) -> list[pa.Table] | None:
    """In path order, if no two of them overlap."""
    ends = [(table["path"][0].as_py(), table["path"][-1].as_py(), table) for table in tables]
    ends.sort(key=lambda end: end[:2])
    if all(one[1] < other[0] for one, other in pairwise(ends)):
        return [table for _, _, table in ends]
    return None
