"""Plans which objects of a pool to merge, by their key spans and sizes alone, without opening them.

    overlapping   objects whose spans overlap: a scan in the order of the key has to read them side by side
    small         neighbours that together are no larger than one object should be

The result of a compaction neither overlaps nor is small beside its neighbours, so a second one finds nothing to do. Two
spans that only touch do not overlap: read one after the other, their rows are in order."""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.pool_settings import PoolSettings
from lochan.pools.keys import Span, null_key
from lochan.pools.upkeep import ALWAYS, Policy

OVERLAPPING, SMALL = "overlapping", "small"
_SMALL_SHARE = 0.5  # a share of the target size

Numbers = npt.NDArray[np.int64]


class Group(NamedTuple):
    """Objects to be merged into `pieces` of about the same size, in the order of their least keys."""

    paths: tuple[str, ...]
    rows: int
    bytes: int
    why: str
    pieces: int


class Partition(NamedTuple):
    """All objects whose spans overlap in one place; usually one."""

    paths: tuple[str, ...]
    low: bytes  # the least key of the rows that have one; empty if there are none
    high: bytes
    rows: int
    keyless: int
    bytes: int


def plan(
    spans: pa.Table,
    settings: PoolSettings,
    *,
    policy: Policy = ALWAYS,
    only: Collection[str] | None = None,
    within: Span | None = None,
) -> list[Group]:
    """Plans for the objects in `spans` (`facts.spans`), restricted to the paths `only` and to spans that meet `within`.
    If one of a group of overlapping objects is chosen, all of them are."""
    laid = _lay_out(spans, settings)
    starts = _starts(laid)
    if len(starts) == 1:
        return []
    counts = np.diff(starts)
    chosen = np.logical_or.reduceat(_choose(laid, only, within), starts[:-1])
    sizes = np.add.reduceat(laid.sizes, starts[:-1])
    overlapping = chosen & (counts > policy.overlapping_max)
    small = (
        chosen & ~overlapping & (sizes < settings.size_bytes * _SMALL_SHARE)
    )  # a few overlapping objects may be small together
    lots = [slice(starts[at], starts[at + 1]) for at in np.flatnonzero(overlapping).tolist()]
    rows = _runs(np.column_stack((starts[:-1], starts[1:], sizes))[small], settings.size_bytes)
    long = [row for row in rows if row.stop - row.start > max(1, policy.small_max)]
    parts = [(lot, OVERLAPPING) for lot in lots] + [(row, SMALL) for row in long]
    return [_group(laid, part, why, settings) for part, why in parts]


def partitions(spans: pa.Table, settings: PoolSettings) -> list[Partition]:
    """Returns all partitions, in the order of the key."""
    laid = _lay_out(spans, settings)
    found = []
    for start, stop in pairwise(_starts(laid).tolist()):
        part = slice(start, stop)
        rows, keyless, size = (int(each[part].sum()) for each in (laid.rows, laid.keyless, laid.sizes))
        keyed = laid.keyed.slice(start, stop - start)
        keyed = keyed.filter(pc.not_equal(keyed["min"], ""))
        low, high = (bytes.fromhex(end.as_py() or "") for end in (pc.min(keyed["min"]), pc.max(keyed["max"])))
        found.append(Partition(_paths(laid, part), low, high, rows, keyless, size))
    return found


class _LaidOut(NamedTuple):
    """The objects in the order of their spans, including the place of rows without the key. The ends of the spans are
    numbers that compare as the keys do."""

    paths: pa.ChunkedArray
    lows: Numbers
    highs: Numbers
    bounds: pa.StringArray  # the key of each number
    keyed: pa.Table  # the min and max of the rows with the key, as `facts.spans` has them
    rows: Numbers
    keyless: Numbers
    sizes: Numbers


def _lay_out(spans: pa.Table, settings: PoolSettings) -> _LaidOut:
    null = null_key(settings)
    keyed = pc.not_equal(spans["min"], "")
    alone = pc.if_else(keyed, spans["min"], null), pc.if_else(keyed, spans["max"], null)
    lacking = pc.greater(spans["keyless"], 0)
    low = pc.if_else(pc.and_(lacking, pc.less(null, alone[0])), null, alone[0])
    high = pc.if_else(pc.and_(lacking, pc.greater(null, alone[1])), null, alone[1])
    ends = pc.unique(pa.chunked_array([*low.chunks, *high.chunks], pa.string()))
    bounds = ends.take(pc.array_sort_indices(ends))
    lows, highs = (pc.index_in(side, bounds).to_numpy().astype(np.int64) for side in (low, high))
    order = np.lexsort((highs, lows))
    return _LaidOut(
        spans["path"].take(pa.array(order)),
        lows[order],
        highs[order],
        bounds,
        spans.select(["min", "max"]).take(pa.array(order)),
        spans["rows"].to_numpy()[order],
        spans["keyless"].to_numpy()[order],
        spans["size"].to_numpy()[order],
    )


def _starts(laid: _LaidOut) -> Numbers:
    """Returns the first object of each group of overlapping objects, and the number of objects."""
    reach = np.maximum.accumulate(laid.highs)
    inner = np.flatnonzero(laid.lows[1:] >= reach[:-1]) + 1
    return np.unique(np.concatenate(([0], inner, [len(laid.lows)])))


def _runs(small: Numbers, size_max: int) -> Iterator[slice]:
    """Yields runs of neighbours among the small groups that together fit into one object. `small` has the start, the
    end and the size of each group."""
    start = stop = size = 0
    for begin, end, own in small.tolist():
        if begin == stop and stop > start and size + own <= size_max:
            stop, size = end, size + own
            continue
        if stop > start:
            yield slice(start, stop)
        start, stop, size = begin, end, own
    if stop > start:
        yield slice(start, stop)


def _choose(laid: _LaidOut, only: Collection[str] | None, within: Span | None) -> npt.NDArray[np.bool_]:
    chosen = np.ones(len(laid.lows), np.bool_)
    if only is not None:
        named = pc.is_in(laid.paths, pa.array(sorted(only), pa.string()))
        chosen &= named.to_numpy()
    if within is not None:
        first = pc.sum(pc.less(laid.bounds, within.low.hex())).as_py() or 0
        last = pc.sum(pc.less_equal(laid.bounds, within.high.hex())).as_py() or 0
        chosen &= (laid.highs >= first) & (laid.lows < last)
    return chosen


def _group(laid: _LaidOut, part: slice, why: str, settings: PoolSettings) -> Group:
    size = int(laid.sizes[part].sum())
    pieces = max(1, -(-size // settings.size_bytes))
    return Group(_paths(laid, part), int(laid.rows[part].sum()), size, why, pieces)


def _paths(laid: _LaidOut, part: slice) -> tuple[str, ...]:
    return tuple(laid.paths.slice(part.start, part.stop - part.start).to_pylist())
