"""Operations on the rows of ranges, whole columns at a time: find paths, compare contents, apply changes.

Paths are compared by their UTF-8 bytes. A span of paths is `low <= path < high`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import CONTENT, ENTRY_SCHEMA
from lochan.formats.entry_table import EntryRows, concat, counts, map_items
from lochan.formats.range import RangeRef

NO_END = b"\xff"  # greater than every path: the byte does not occur in UTF-8


class PathSpan(NamedTuple):
    low: bytes
    high: bytes


def encode_path(text: str) -> bytes:
    """Encodes a text. Invalid Unicode is no prefix of any path, and no error."""
    return text.encode(errors="surrogatepass")


def behind(prefix: bytes) -> bytes:
    """Returns the lowest bytes greater than everything that begins with `prefix`."""
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else NO_END


def span(prefix: str, after: str = "") -> PathSpan:
    """Returns the span of the paths that begin with `prefix` and are greater than `after`. It ends nowhere before it
    begins, also if `after` is behind all of them."""
    low, high = encode_path(prefix), behind(encode_path(prefix))
    return PathSpan(min(high, max(low, encode_path(after) + b"\0")) if after else low, high)


Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# For 45 changes in 45,000 rows, slices took 3.8 ms and single rows 6.4; for 450 changes, 14.3 and 6.5.
_SLICES_MAX = 64
_STRIDE = 64  # one of this many paths is searched, and the others are expected directly after it
_LONG = 4_096  # this many consecutive rows are compared faster as a slice than copied
_FEW = 1_024  # if there are only so few paths, all of them are searched
# Pieces of 3 MB get memory that was just used. For pieces of 15 MB, a range at once, every page is new to the
# process: a third of the processor time of a splice was the kernel's.
_COPIED_AT_ONCE = 8_192
_HAS_SEARCH = hasattr(pc, "search_sorted")  # newer releases of Arrow have it; it takes half as long as halving
_HALVED_MAX = 10_000  # for fewer paths, halving takes about as long as Polars, which takes 0.17 s to load


class Stretch(NamedTuple):
    """Rows in path order. Most rows of an existing range are known not to end one."""

    batch: pa.RecordBatch
    ends: Indices | None = None  # the rows after which a range may end; None for any row


def locate(paths: pa.StringArray, wanted: pa.StringArray) -> tuple[Indices, Mask]:
    """Returns, for each wanted path, the first row whose path is not below it, and whether the paths are equal. Both
    ascend."""
    if not len(paths) or not len(wanted):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    if len(wanted) == len(paths) and wanted.equals(paths):  # two versions of a range have the same objects
        return np.arange(len(paths)), np.ones(len(paths), np.bool_)
    if len(wanted) < max(_FEW, len(paths) // 4):
        return _search(paths, wanted)
    at, found = _side_by_side(paths, wanted)
    rest = np.flatnonzero(~found)
    at[rest], found[rest] = _search(paths, wanted.take(pa.array(rest)))
    return at, found


def _search(paths: pa.StringArray, wanted: pa.StringArray) -> tuple[Indices, Mask]:
    if _HAS_SEARCH or len(wanted) <= _HALVED_MAX:
        at = first_rows(paths, wanted)
    else:
        import polars as pl  # imported here, because it takes longer to load than a command needs for a few paths

        at = pl.Series(paths).search_sorted(pl.Series(wanted)).to_numpy().astype(np.int64)
    there = paths.take(pa.array(np.minimum(at, len(paths) - 1)))
    return at, (at < len(paths)) & _mask(pc.equal(there, wanted))


def first_rows(paths: pa.StringArray | pa.ChunkedArray, wanted: pa.StringArray, *, behind: bool = False) -> Indices:
    """Returns, for each wanted path, the first row whose path is not below it, or with `behind`, whose path is above
    it. REQUIRES: at least one row."""
    if not _HAS_SEARCH:
        return halve(paths, wanted, behind=behind)
    found = pc.search_sorted(paths, wanted, side="right" if behind else "left")
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def halve(paths: pa.StringArray | pa.ChunkedArray, wanted: pa.StringArray, *, behind: bool = False) -> Indices:
    """Does what `first_rows` does with an older Arrow, which has no search. It halves the rows in question for all
    paths at once."""
    compare = pc.less_equal if behind else pc.less
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(paths), np.int64)
    for _ in range(len(paths).bit_length()):
        middle = np.minimum((low + high) >> 1, len(paths) - 1)
        below = _mask(compare(paths.take(pa.array(middle)), wanted)) & (low < high)
        low, high = np.where(below, middle + 1, low), np.where(below | (low >= high), high, middle)
    return low


def _side_by_side(paths: pa.StringArray, wanted: pa.StringArray) -> tuple[Indices, Mask]:
    """Locates most paths quickly: searches one path in so many and continues from there, because in two versions of a
    range most paths are in the same order. Paths that are not found this way may still exist."""
    marks = np.arange(0, len(wanted), _STRIDE)
    shifts = _search(paths, wanted.take(pa.array(marks)))[0] - marks
    guessed = np.arange(len(wanted)) + np.repeat(shifts, _STRIDE)[: len(wanted)]
    at = np.minimum(guessed, len(paths) - 1)
    return at, _mask(pc.equal(paths.take(pa.array(at)), wanted))


def by_range(paths: pa.StringArray | pa.ChunkedArray, ranges: Sequence[RangeRef]) -> list[tuple[RangeRef, int, int]]:
    """Returns the ranges that are touched, each with its part of the changes: from the end of the range before up to
    its own end."""
    if not len(paths) or not ranges:
        return []
    highs = pa.array([ref.max_path for ref in ranges], pa.string())
    ends = first_rows(paths, highs, behind=True).tolist()
    parts = zip(ranges, [0, *ends], ends, strict=False)
    return [(ref, low, high) for ref, low, high in parts if low < high]


def inside(batch: pa.RecordBatch, within: PathSpan) -> pa.RecordBatch:
    """Returns the rows whose path is in the span, for any batch with ascending paths."""
    rows = EntryRows(batch)
    if not rows.count or (within.low <= rows.path(0) and rows.path(rows.count - 1) < within.high):
        return batch
    low, high = rows.seek(within.low), rows.seek(within.high)
    return batch.slice(low, high - low)


class Compared(NamedTuple):
    """The paths at which two batches differ, in order, and the row of each, or -1 if it is absent."""

    paths: pa.StringArray
    left: Indices
    right: Indices


def compare_rows(
    paths: pa.StringArray, left: pa.RecordBatch, lefts: Indices, right: pa.RecordBatch, rights: Indices
) -> Compared:
    """Returns the paths that differ, and their rows. `lefts` and `rights` are the rows of each path, -1 if it is
    absent."""
    differ = (lefts < 0) != (rights < 0)
    both = np.flatnonzero((lefts >= 0) & (rights >= 0))
    differ[both] = ~same_pairs(left, lefts[both], right, rights[both])
    rows = np.flatnonzero(differ)
    return Compared(paths if len(rows) == len(paths) else paths.take(pa.array(rows)), lefts[rows], rights[rows])


def compare(left: pa.RecordBatch, right: pa.RecordBatch) -> Compared:
    at, found = locate(left.column("path"), right.column("path"))
    here, there = at[found], np.flatnonzero(found)
    alone = np.ones(left.num_rows, np.bool_)
    alone[here] = False
    differ = ~same_pairs(left, here, right, there)
    removed, added, here, there = np.flatnonzero(alone), np.flatnonzero(~found), here[differ], there[differ]
    lefts = np.concatenate([removed, np.full(len(added), -1), here])
    rights = np.concatenate([np.full(len(removed), -1), added, there])
    # An added row comes before the left row at which it was searched.
    order = np.argsort(np.concatenate([2 * removed + 1, 2 * at[added], 2 * here + 1]), kind="stable")
    lefts, rights = lefts[order], rights[order]
    return Compared(_paths(left, lefts, right, rights), lefts, rights)


def same_pairs(left: pa.RecordBatch, here: Indices, right: pa.RecordBatch, there: Indices) -> Mask:
    """Compares pairs of rows like `same_content`. Long runs of consecutive rows on both sides are not copied."""
    names = [name for name in CONTENT if not (_is_bare(left.column(name)) and _is_bare(right.column(name)))]
    left, right = left.select(names), right.select(names)
    ends = np.flatnonzero((np.diff(here) != 1) | (np.diff(there) != 1)) + 1
    starts, ends = np.append(0, ends), np.append(ends, len(here))
    long = np.flatnonzero(ends - starts >= _LONG)
    same, short = np.ones(len(here), np.bool_), np.ones(len(here), np.bool_)
    for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        one, other = left.slice(here[start], end - start), right.slice(there[start], end - start)
        same[start:end], short[start:end] = same_content(one, other), False
    rows = np.flatnonzero(short)
    # The first name is the size, which differs in most rows that differ. Only equal rows are compared further.
    for name in names:
        if not len(rows):
            break
        sides = (left.select([name]), here[rows]), (right.select([name]), there[rows])
        equal = _same_values(*(take_rows(side, at).column(0) for side, at in sides))
        same[rows[~equal]] = False
        rows = rows[equal]
    return same


def _paths(left: pa.RecordBatch, lefts: Indices, right: pa.RecordBatch, rights: Indices) -> pa.StringArray:
    """Returns the paths of the rows of the right, or of the left if there is none."""
    missing = np.flatnonzero(rights < 0)
    found = right.column("path").take(pa.array(rights[rights >= 0]))
    if not len(missing):
        return found
    both = pa.concat_arrays([found, left.column("path").take(pa.array(lefts[missing]))])
    at = np.cumsum(rights >= 0) - 1
    at[missing] = len(found) + np.arange(len(missing))
    return both.take(pa.array(at))


def same_content(left: pa.RecordBatch, right: pa.RecordBatch) -> Mask:
    """Returns, for each row, whether both are the same entry, wherever its bytes are. REQUIRES: equal numbers of
    rows."""
    same = np.ones(left.num_rows, np.bool_)
    for name in left.schema.names:
        if name not in CONTENT:
            continue
        same &= _same_values(left.column(name), right.column(name))
    return same


def _same_values(left: pa.Array, right: pa.Array) -> Mask:
    return _same_maps(left, right) if pa.types.is_map(left.type) else _mask(pc.equal(left, right))


class Edited(NamedTuple):
    rows: list[Stretch] | None  # None if nothing changed
    restated: int  # entries whose content was there already


def with_changes(
    base: pa.RecordBatch, changes: pa.RecordBatch, *, restate: bool = False, untested: int | None = None
) -> Edited:
    """Returns the entries of `base` with `changes` (RUN_SCHEMA) applied. An entry whose content is there already stays
    as it was. With `restate` it gets the address and the time of the change instead."""
    at, found = locate(base.column("path"), changes.column("path"))
    deleted = _mask(changes.column("deleted"))
    puts = ~deleted
    both = np.flatnonzero(found & puts)
    same = both[same_pairs(base, at[both], changes, both)]
    if not restate:
        puts[same] = False
    gone = found & (deleted | puts)
    if not gone.any() and not puts.any():
        return Edited(None, len(same))
    new = take_rows(changes.select(ENTRY_SCHEMA.names), np.flatnonzero(puts))
    return Edited(splice_rows(base, at[gone], new, at[puts], untested), len(same))


def splice_rows(
    base: pa.RecordBatch, gone: Indices, new: pa.RecordBatch, before: Indices, untested: int | None = None
) -> list[Stretch]:
    """Returns `base` without the rows `gone`, and with each row of `new` in front of the row that `before` names.
    `untested` is as for `part_of_range`, or None if `base` is not part of a range. REQUIRES: something changes. If
    changes are close together, only the rows between them are copied, and none if they are few."""
    places = np.concatenate([gone, gone + 1, before])
    low, high = int(places.min()), int(places.max())
    if 4 * (high - low) > 3 * base.num_rows:
        low, high = 0, base.num_rows  # one piece, which need not be joined again
    rows = np.arange(low, high)
    rows[gone - low] = -1
    order = np.insert(rows, before - low, base.num_rows + np.arange(new.num_rows))
    order = order[order >= 0]
    breaks = np.flatnonzero((np.diff(order) != 1) | (order[1:] == base.num_rows)) + 1
    if len(breaks) < _SLICES_MAX:
        middle = [_from(base, new, part, untested) for part in np.split(order, breaks) if len(part)]
    else:
        middle = [
            _mix(base, new, order[start : start + _COPIED_AT_ONCE], untested)
            for start in range(0, len(order), _COPIED_AT_ONCE)
        ]
    if untested is None:
        return [Stretch(base.slice(0, low)), *middle, Stretch(base.slice(high))]
    return [
        part_of_range(base.slice(0, low), untested),
        *middle,
        part_of_range(base.slice(high), max(0, untested - high)),
    ]


def part_of_range(batch: pa.RecordBatch, untested: int) -> Stretch:
    """Returns consecutive rows of a range. The maker of the range has found that none of them ends one, except the
    first `untested` rows, which were not tested, and the last row, for which this is unknown."""
    ends = np.arange(min(untested, batch.num_rows))
    return Stretch(batch, ends if untested >= batch.num_rows else np.append(ends, batch.num_rows - 1))


def _from(base: pa.RecordBatch, new: pa.RecordBatch, rows: Indices, untested: int | None) -> Stretch:
    """Returns consecutive rows. Those of `new` are numbered after those of `base`."""
    first = int(rows[0])
    if first >= base.num_rows:
        return Stretch(new.slice(first - base.num_rows, len(rows)))
    batch = base.slice(first, len(rows))
    return Stretch(batch) if untested is None else part_of_range(batch, max(0, untested - first))


def _mix(base: pa.RecordBatch, new: pa.RecordBatch, order: Indices, untested: int | None) -> Stretch:
    """Returns rows of both. Only those between the first and the last are joined before they are taken."""
    old = order < base.num_rows
    kept, come = order[old], order[~old] - base.num_rows
    parts = [each.slice(*_extent(rows)) for each, rows in ((base, kept), (new, come)) if len(rows)]
    places = np.empty(len(order), np.int64)
    places[old] = kept - _extent(kept)[0]
    places[~old] = come - _extent(come)[0] + _extent(kept)[1]
    ends = None if untested is None else np.flatnonzero((order < untested) | (order >= base.num_rows - 1))
    return Stretch(take_rows(concat(parts), places), ends)


def _extent(rows: Indices) -> tuple[int, int]:
    """Returns the first of these rows, and how many there are from it to the last."""
    return (int(rows[0]), int(rows[-1] - rows[0]) + 1) if len(rows) else (0, 0)


def take_rows(batch: pa.RecordBatch, rows: Indices) -> pa.RecordBatch:
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (len(rows) == 1 or (np.diff(rows) == 1).all()):
        return batch.slice(int(rows[0]), len(rows))
    at = pa.array(rows)
    few = len(rows) <= batch.num_rows
    columns = [each.slice(0, len(rows)) if few and _is_bare(each) else each.take(at) for each in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _same_maps(left: pa.MapArray, right: pa.MapArray) -> Mask:
    """Returns whether the maps of each row are equal. REQUIRES: the names in each map ascend."""
    sizes = counts(left)
    same: Mask = sizes == counts(right)
    rows = np.flatnonzero(same & (sizes > 0))
    if len(rows):
        one, other = (map_items(side.take(pa.array(rows))) for side in (left, right))
        wrong = ~(_mask(pc.equal(one[0], other[0])) & _mask(pc.equal(one[1], other[1])))
        same[np.repeat(rows, sizes[rows])[wrong]] = False
    return same


def _is_bare(array: pa.Array) -> bool:
    """Returns whether these are maps or lists without any item, as in some columns of most trees: then all rows are
    equal."""
    if not pa.types.is_map(array.type) and not pa.types.is_list(array.type):
        return False
    return not len(array) or bool(array.offsets[0] == array.offsets[-1])


def _mask(array: pa.Array) -> Mask:
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask
