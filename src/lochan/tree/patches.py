"""Ranges that are stored as patches of others: made by few changes, read, and compared without reading the rest.

    base     ├──────────────────────┤   a range with its own file
    patch        ·   ·· ·      ·        the rows that differ from it; several patches of one base are compared by these

A patch is always one of a whole range, never of another patch: changes to a patched range make a larger patch, until it
is an eighth of its base. Then the range is written as a whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Tombstone
from lochan.formats.entry_table import EntryRows, as_batch, concat
from lochan.formats.patch import Splice, check_whole, refer_patched
from lochan.formats.range import RangeRef
from lochan.formats.run import changes_table
from lochan.tree.assemble import RangeCut
from lochan.tree.rows import Indices, Mask, Stretch, locate, same_pairs, splice_rows, take_rows


class PatchLimits(NamedTuple):
    """Limits that decide which ranges become patches. Readers do not depend on them."""

    rows_min: int  # a smaller base has no patches
    share: int  # a patch has at most one row for this many rows of its base

    def fit(self, rows: int, base: int) -> bool:
        return base >= self.rows_min and rows * self.share <= base


STANDARD = PatchLimits(1_000, 8)
NEVER = PatchLimits(1 << 62, 1)


class RangeParts(NamedTuple):
    """A range as it is stored."""

    base: RangeRef  # the range with its own file
    rows: EntryRows
    patch: pa.RecordBatch | None  # RUN_SCHEMA; None if the range is the base itself


class PatchedRange(NamedTuple):
    """A range after changes."""

    ref: RangeRef  # the base itself, if no change is left
    changes: pa.RecordBatch  # the patch
    splice: Splice
    restated: int = 0

    def stretches(self, cut: RangeCut) -> list[Stretch]:
        """Returns its rows, for a tree that is cut elsewhere."""
        return splice_rows(*self.splice, untested=cut.untested(0))


class EffectiveChanges(NamedTuple):
    changes: pa.RecordBatch
    restated: int  # entries whose content was there already


def full(ref: RangeRef) -> RangeRef:
    return ref.base or ref


def fits(ref: RangeRef, changes: int, limits: PatchLimits) -> bool:
    """Returns whether so many changes may become a patch. Nothing is opened for the answer."""
    base = full(ref)
    return limits.fit(changes, base.count) and ref.keys is None and base.keys is None


def patch_range(
    parts: RangeParts, changes: pa.RecordBatch, cut: RangeCut, mint: int, limits: PatchLimits, *, restate: bool
) -> PatchedRange | int | None:
    """Returns the range with all of its changes (RUN_SCHEMA). Returns a number if nothing changes: that of entries that
    were there already. Returns None if the range has to be written as a whole, because too much has changed, or because
    it may end elsewhere."""
    effective, restated = _drop_ineffective(parts, changes, restate=restate)
    if not effective.num_rows:
        return restated
    base = parts.rows.batch
    patch, at, found = _minimize(base, effective if parts.patch is None else _merge_changes(parts.patch, effective))
    if not limits.fit(patch.num_rows, base.num_rows):
        return None
    if not _ends_alike(base, patch, at, found, cut):
        return None
    splice = _splice(base, patch, at, found)
    ref = refer_patched(splice, patch, parts.base, mint) if patch.num_rows else parts.base
    return PatchedRange(ref, patch, splice, restated)


def whole(parts: RangeParts, ref: RangeRef, what: str) -> pa.RecordBatch:
    """Returns all rows of the range, checked against its name. Raises Corrupt."""
    if parts.patch is None:
        return parts.rows.batch
    at, found = locate(parts.rows.batch.column("path"), parts.patch.column("path"))
    splice = _splice(parts.rows.batch, parts.patch, at, found)
    rows = as_batch(pa.Table.from_batches([each.batch for each in splice_rows(*splice)], ENTRY_SCHEMA))
    check_whole(rows, ref, what)
    return rows


def changed_paths(*sides: RangeParts) -> pa.StringArray:
    """Returns the paths at which ranges of the same base may differ, in order."""
    paths = [side.patch.column("path") for side in sides if side.patch is not None]
    if len(paths) == 1:
        return paths[0]
    return pa.concat_arrays(paths).unique().sort() if paths else pa.array([], pa.string())


class RowsAt(NamedTuple):
    """The entries that a range has at some paths, in any order, perhaps among others."""

    batch: pa.RecordBatch
    rows: Indices  # the row of each path; -1 if the range has no such entry


def rows_at(parts: RangeParts, paths: pa.StringArray) -> pa.RecordBatch:
    """Returns the entries that the range has at these paths, in their order. REQUIRES: they ascend."""
    [found] = rows_of_sides([parts], paths, ENTRY_SCHEMA.names)
    return take_rows(found.batch, found.rows[found.rows >= 0])


def rows_of_sides(sides: Sequence[RangeParts], paths: pa.StringArray, names: Sequence[str]) -> list[RowsAt]:
    """Returns these columns of the entries that each of the ranges has at these paths. The base, which they have in
    common, is searched once. REQUIRES: the paths ascend."""
    at, found = locate(sides[0].rows.batch.column("path"), paths)
    return [_rows_of_side(side, paths, at, found, names) for side in sides]


def _rows_of_side(side: RangeParts, paths: pa.StringArray, at: Indices, found: Mask, names: Sequence[str]) -> RowsAt:
    base, patch = side.rows.batch.select(names), side.patch
    rows = np.full(len(paths), -1, np.int64)
    if patch is None:
        rows[found] = at[found]
        return RowsAt(base, rows)  # the whole base, because the caller may need only a few columns of few rows
    over, patched = locate(patch.column("path"), paths)
    there = patched.copy()
    there[patched] = ~_mask(patch.column("deleted"))[over[patched]]
    found = found & ~patched
    count = int(found.sum())
    rows[found] = np.arange(count)
    rows[there] = count + np.arange(int(there.sum()))
    new = take_rows(patch.select(names), over[there])
    return RowsAt(concat([take_rows(base, at[found]), new]) if count else new, rows)


def as_changes(gone: pa.StringArray, new: pa.RecordBatch) -> pa.RecordBatch:
    """Returns changes that delete these paths, unless there is a new entry, and put the new ones."""
    puts = new.append_column(RUN_SCHEMA.field("deleted"), pa.array(np.zeros(new.num_rows, np.bool_)))
    left = gone.filter(pc.invert(pc.is_in(gone, value_set=new.column("path"))))
    tombstones = as_batch(changes_table(Tombstone(path) for path in left.to_pylist()))
    both = concat([puts, tombstones])
    return both.take(pc.sort_indices(both.column("path")))


def _drop_ineffective(parts: RangeParts, changes: pa.RecordBatch, *, restate: bool) -> EffectiveChanges:
    """Returns the changes without those that change nothing."""
    paths = changes.column("path")
    now = rows_at(parts, paths)
    at, found = locate(now.column("path"), paths)
    deleted = _mask(changes.column("deleted"))
    kept = found | ~deleted
    both = np.flatnonzero(found & ~deleted)
    same = both[same_pairs(now, at[both], changes, both)]
    if not restate:
        kept[same] = False
    return EffectiveChanges(take_rows(changes, np.flatnonzero(kept)), len(same))


def _merge_changes(patch: pa.RecordBatch, changes: pa.RecordBatch) -> pa.RecordBatch:
    """Merges a patch and changes; where both have a path, the change wins."""
    _, over = locate(changes.column("path"), patch.column("path"))
    both = concat([take_rows(patch, np.flatnonzero(~over)), changes])
    return both.take(pc.sort_indices(both.column("path")))


def _minimize(base: pa.RecordBatch, patch: pa.RecordBatch) -> tuple[pa.RecordBatch, Indices, Mask]:
    """Returns the patch without tombstones of paths that the base does not have, and where each path is in the base."""
    at, found = locate(base.column("path"), patch.column("path"))
    kept = np.flatnonzero(found | ~_mask(patch.column("deleted")))
    return take_rows(patch, kept), at[kept], found[kept]


def _splice(base: pa.RecordBatch, patch: pa.RecordBatch, at: Indices, found: Mask) -> Splice:
    puts = ~_mask(patch.column("deleted"))
    return Splice(base, at[found], take_rows(patch.select(ENTRY_SCHEMA.names), np.flatnonzero(puts)), at[puts])


def _ends_alike(base: pa.RecordBatch, patch: pa.RecordBatch, at: Indices, found: Mask, cut: RangeCut) -> bool:
    """Returns whether the range, if it begins where its base begins, ends where that ends, and nowhere before. The
    maker of the base has tested all paths but those too near to its beginning: new ones and those that move are tested
    here."""
    deleted = _mask(patch.column("deleted"))
    removed, rows = at[deleted], np.flatnonzero(~found)
    inserted = at[rows]
    last = base.num_rows - 1
    if base.num_rows - len(removed) + len(rows) > cut.most or (len(removed) and removed[-1] == last):
        return False
    tested = inserted - np.searchsorted(removed, inserted) + np.arange(len(rows)) >= cut.least - 1
    if tested.any() and cut.first(patch.column("path").take(pa.array(rows[tested]))) >= 0:
        return False
    near = np.arange(max(0, cut.least - 1 - len(rows)), min(cut.least - 1, last))
    near = near[~np.isin(near, removed)]
    near = near[near - np.searchsorted(removed, near) + np.searchsorted(inserted, near, "right") >= cut.least - 1]
    return not len(near) or cut.first(base.column("path").take(pa.array(near))) < 0


def _mask(array: pa.Array) -> Mask:
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask
