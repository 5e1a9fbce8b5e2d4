"""Whole tables of changes, newest wins. Nothing here goes row by row."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.run import column, empty, one_chunk


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """One table, sorted, of tables that are sorted each, the newest first."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return empty()
    if len(tables) == 1:
        return one_chunk(tables[0])
    aside = _side_by_side(tables)
    if aside is not None:
        return pa.concat_tables(aside).combine_chunks()
    paths = pa.concat_arrays([column(one_chunk(table), "path") for table in tables])
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
