"""What is done to the rows of ranges, whole columns at a time: find paths, compare contents, put changes in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import CONTENT, ENTRY_SCHEMA
from lochan.formats.entry_table import Rows, concat, counts, map_items
from lochan.formats.range import RangeRef
from lochan.tree.bounds import Span

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# For 45 changes in 45,000 rows slices took 3.8 ms where row by row took 6.4; for 450 they took 14.3 against 6.5.
_SLICES_MAX = 64


def locate(paths: pa.StringArray, wanted: pa.StringArray) -> tuple[Indices, Mask]:
    """For each wanted path: the first row whose path is not below it, and whether it is that path. Both ascend."""
    if not len(paths) or not len(wanted):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    import polars as pl  # here, because looking up and listing do not need it, and it takes long to load

    at = pl.Series(paths).search_sorted(pl.Series(wanted)).to_numpy().astype(np.int64)
    there = paths.take(pa.array(np.minimum(at, len(paths) - 1)))
    return at, (at < len(paths)) & _mask(pc.equal(there, wanted))


def by_range(paths: pa.StringArray | pa.ChunkedArray, ranges: Sequence[RangeRef]) -> list[tuple[RangeRef, int, int]]:
    """The ranges that are touched, each with its part of the changes: those above the range before, up to its end."""
    if not len(paths) or not ranges:
        return []
    import polars as pl

    highs = pl.Series([ref.max_path for ref in ranges], dtype=pl.String)
    ends = pl.Series(paths).search_sorted(highs, side="right").to_numpy().tolist()
    parts = zip(ranges, [0, *ends], ends, strict=False)
    return [(ref, low, high) for ref, low, high in parts if low < high]


def inside(batch: pa.RecordBatch, within: Span) -> pa.RecordBatch:
    """The rows whose path lies in the span; any batch with ascending paths will do."""
    rows = Rows(batch)
    low, high = rows.seek(within.low), rows.seek(within.high)
    return batch.slice(low, high - low)


class Compared(NamedTuple):
    """The paths at which two batches differ, in order, and the row of each; -1: it is not there."""

    paths: pa.StringArray
    left: Indices
    right: Indices


def compare(left: pa.RecordBatch, right: pa.RecordBatch) -> Compared:
    at, found = locate(left.column("path"), right.column("path"))
    here, there = at[found], np.flatnonzero(found)
    alone = np.ones(left.num_rows, np.bool_)
    alone[here] = False
    differ = ~same_content(taken(left.select(CONTENT), here), taken(right.select(CONTENT), there))
    removed, added = np.flatnonzero(alone), np.flatnonzero(~found)
    lefts = np.concatenate([removed, np.full(len(added), -1), here[differ]])
    rights = np.concatenate([np.full(len(removed), -1), added, there[differ]])
    paths = pa.concat_arrays(
        [left.column("path").take(pa.array(removed)), right.column("path").take(pa.array(rights[len(removed) :]))]
    )
    order = pc.sort_indices(paths)
    return Compared(paths.take(order), lefts[order], rights[order])


def same_content(left: pa.RecordBatch, right: pa.RecordBatch) -> Mask:
    """Row by row: whether they are the same entry, wherever its bytes lie. REQUIRES: as many rows."""
    same = np.ones(left.num_rows, np.bool_)
    for name in CONTENT:
        one, other = left.column(name), right.column(name)
        same &= _same_maps(one, other) if pa.types.is_map(one.type) else _mask(pc.equal(one, other))
    return same


class Edited(NamedTuple):
    rows: pa.RecordBatch | None  # None: nothing changed
    restated: int  # entries whose content was there already


def with_changes(base: pa.RecordBatch, changes: pa.RecordBatch, *, restate: bool = False) -> Edited:
    """The entries of `base` with `changes` (RUN_SCHEMA) in their places. An entry whose content is there already stays
    as it was, unless told to `restate` it: then it has the address and the time of the change."""
    at, found = locate(base.column("path"), changes.column("path"))
    deleted = _mask(changes.column("deleted"))
    puts = ~deleted
    both = np.flatnonzero(found & puts)
    same = both[same_content(taken(base, at[both]), taken(changes, both))] if len(both) else both
    if not restate:
        puts[same] = False
    gone = found & (deleted | puts)
    if not gone.any() and not puts.any():
        return Edited(None, len(same))
    new = taken(changes.select(ENTRY_SCHEMA.names), np.flatnonzero(puts))
    return Edited(spliced(base, at[gone], new, at[puts]), len(same))


def spliced(base: pa.RecordBatch, gone: Indices, new: pa.RecordBatch, before: Indices) -> pa.RecordBatch:
    """`base` without the rows `gone`, and with each row of `new` in front of the row that `before` names."""
    rows = np.arange(base.num_rows)
    rows[gone] = -1
    order = np.insert(rows, before, base.num_rows + np.arange(new.num_rows))
    order = order[order >= 0]
    breaks = np.flatnonzero((np.diff(order) != 1) | (order[1:] == base.num_rows)) + 1
    if len(order) and len(breaks) < _SLICES_MAX:
        return concat([_from(base, new, part) for part in np.split(order, breaks)])
    return taken(concat([base, new]) if new.num_rows else base, order)


def _from(base: pa.RecordBatch, new: pa.RecordBatch, rows: Indices) -> pa.RecordBatch:
    """Rows that follow each other; those of `new` are numbered behind those of `base`."""
    source, first = (base, rows[0]) if rows[0] < base.num_rows else (new, rows[0] - base.num_rows)
    return source.slice(int(first), len(rows))


def taken(batch: pa.RecordBatch, rows: Indices) -> pa.RecordBatch:
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (len(rows) == 1 or (np.diff(rows) == 1).all()):
        return batch.slice(int(rows[0]), len(rows))
    return batch.take(pa.array(rows))


def _same_maps(left: pa.MapArray, right: pa.MapArray) -> Mask:
    """REQUIRES: the names in each map ascend."""
    sizes = counts(left)
    same: Mask = sizes == counts(right)
    rows = np.flatnonzero(same & (sizes > 0))
    if len(rows):
        one, other = (map_items(side.take(pa.array(rows))) for side in (left, right))
        wrong = ~(_mask(pc.equal(one[0], other[0])) & _mask(pc.equal(one[1], other[1])))
        same[np.repeat(rows, sizes[rows])[wrong]] = False
    return same


def _mask(array: pa.Array) -> Mask:
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask
