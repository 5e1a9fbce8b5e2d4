"""Several trees side by side: first by whole ranges, then, if ranges do not decide, by rows of the same span.

    left    [  A  ][ B ]   [ C    ]
    right   [  A  ][ B1 ][ B2 ][ C1 ]
    segment |  1  |         2       |        no range reaches across the end of a segment

A range that two trees share is a segment by itself, wherever the cuts before it are."""

from bisect import bisect_left
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from lochan.concurrency import map_ahead
from lochan.formats.entry_table import NO_ENTRIES, EntryRows
from lochan.formats.range import RangeRef
from lochan.tree.rows import PathSpan, encode_path

Segment = tuple[tuple[RangeRef, ...], ...]  # the ranges of each tree; a tree may have none
Load = Callable[[RangeRef], Awaitable[EntryRows]]


def segments(*trees: Sequence[RangeRef]) -> Iterator[Segment]:
    """Yields all ranges of the trees, in path order, in the smallest groups that do not overlap."""
    at = [0] * len(trees)
    while True:
        starts = [tree[index].min_path for tree, index in zip(trees, at, strict=True) if index < len(tree)]
        if not starts:
            return
        begun, high, grown = list(at), min(starts), True
        while grown:
            grown = False
            for which, tree in enumerate(trees):
                while at[which] < len(tree) and tree[at[which]].min_path <= high:
                    high = max(high, tree[at[which]].max_path)
                    at[which] += 1
                    grown = True
        yield tuple(tuple(tree[low:stop]) for tree, low, stop in zip(trees, begun, at, strict=True))


def common_base(segment: Segment) -> bool:
    """Returns whether each tree has one range here, and all of these are patches of one range, or that range itself."""
    return all(len(side) == 1 for side in segment) and len({(side[0].base or side[0]).file for side in segment}) == 1


def ids(ranges: Iterable[RangeRef]) -> list[str]:
    return [ref.id for ref in ranges]


def overlapping(ranges: Sequence[RangeRef], within: PathSpan) -> list[RangeRef]:
    return [
        ref for ref in ranges if encode_path(ref.max_path) >= within.low and encode_path(ref.min_path) < within.high
    ]


class AlignedPart(NamedTuple):
    """Rows of a range."""

    rows: pa.RecordBatch
    start: int  # the number of the first row in the range

    def cut(self, path: bytes) -> "tuple[AlignedPart, AlignedPart]":
        """Returns the rows below the path, and the others."""
        paths = self.rows.column("path")
        row = bisect_left(range(len(paths)), path, key=lambda row: paths[row].as_py().encode())
        return AlignedPart(self.rows.slice(0, row), self.start), AlignedPart(self.rows.slice(row), self.start + row)


async def windows(
    load: Load, sides: Sequence[Sequence[RangeRef]], width: int
) -> AsyncGenerator[tuple[bytes, tuple[AlignedPart, ...]], None]:
    """Yields the rows of all sides, in path order, cut at the same paths, with the path up to which they go. A window
    ends wherever a range of any side does. At most about one range of each side is held, besides those that are
    prefetched."""
    streams = [_Side(load, side, width) for side in sides]
    try:
        while any(stream.left for stream in streams):
            high = min(stream.high for stream in streams if stream.left)
            yield high, tuple([await stream.take(high) for stream in streams])
    finally:
        for stream in streams:
            await stream.close()


class _Side:
    def __init__(self, load: Load, refs: Sequence[RangeRef], width: int) -> None:
        self._refs = refs
        self._at = 0
        self._loaded = map_ahead(load, refs, width)
        self._rows: EntryRows | None = None
        self._row = 0

    @property
    def left(self) -> bool:
        return self._at < len(self._refs)

    @property
    def high(self) -> bytes:
        return encode_path(self._refs[self._at].max_path)

    async def close(self) -> None:
        await self._loaded.aclose()

    async def take(self, high: bytes) -> AlignedPart:
        """Returns the rows up to `high`, which is not beyond the end of this range."""
        if not self.left or (self._rows is None and encode_path(self._refs[self._at].min_path) > high):
            return AlignedPart(NO_ENTRIES, 0)
        if self._rows is None:
            self._rows, self._row = await anext(self._loaded), 0
        start, stop = self._row, self._rows.count
        if high < self.high:  # usually both sides end at the same path, and the first search in a range is slow
            stop = self._rows.seek(high + b"\0", start)
        part = AlignedPart(self._rows.batch.slice(start, stop - start), start)
        self._row = stop
        if stop == self._rows.count:
            self._rows, self._at = None, self._at + 1
        return part
