"""A commit's entries, to be read: one path, a span of paths, or a page of a listing. Only what is needed is opened."""

from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing

import numpy as np
import pyarrow as pa

from lochan.concurrency import map_ahead
from lochan.formats.entry import Entry
from lochan.formats.entry_table import EntryRows
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.tree import listing
from lochan.tree.listing import ListedTree, TreePage
from lochan.tree.path_span import encoded, span
from lochan.tree.ranges import Ranges
from lochan.tree.rows import Indices, Mask, by_range, locate


class Tree:
    """Made by `Trees`."""

    def __init__(self, ref: TreeRef, ranges: tuple[RangeRef, ...], files: Ranges, width: int) -> None:
        self.ref = ref
        self.ranges = ranges
        self.count = sum(each.count for each in ranges)
        self.bytes = sum(each.bytes for each in ranges)  # of the objects
        self._highs = [each.max_path.encode() for each in ranges]
        self._load = files.load
        self._load_all = files.load_all
        self._width = width

    async def get(self, path: str) -> Entry | None:
        key = encoded(path)
        at = bisect_left(self._highs, key)
        if at == len(self._highs):
            return None
        rows = await self._load(self.ranges[at])
        row = rows.find(key)
        return None if row < 0 else rows.entry(row)

    async def get_many(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Those that are there, in path order. For thousands: it goes path by path."""
        found = {path: await self.get(path) for path in sorted(set(paths))}
        return {path: entry for path, entry in found.items() if entry is not None}

    async def has_many(self, paths: pa.StringArray) -> Mask:
        """For each path whether it is there. REQUIRES: they ascend."""
        there = np.zeros(len(paths), np.bool_)
        for ref, low, high in by_range(paths, self.ranges):
            rows = await self._load_all(ref)
            there[low:high] = locate(rows.batch.column("path"), paths[low:high])[1]
        return there

    async def sizes(self, paths: pa.StringArray) -> Indices:
        """For each path the size of its object; -1: it is not there. REQUIRES: they ascend."""
        sizes = np.full(len(paths), -1, np.int64)
        for ref, low, high in by_range(paths, self.ranges):
            rows = (await self._load_all(ref)).batch
            at, found = locate(rows.column("path"), paths[low:high])
            sizes[low:high][found] = rows.column("size").to_numpy()[at[found]]
        return sizes

    async def seek(self, key: bytes) -> tuple[EntryRows, int] | None:
        """The first path from `key` on: its rows, and which of them. For who walks through several things at once."""
        at = bisect_left(self._highs, key)
        if at == len(self._highs):
            return None
        rows = await self._load(self.ranges[at])
        return rows, rows.seek(key)

    async def scan(self, prefix: str = "", after: str = "") -> AsyncGenerator[pa.RecordBatch, None]:
        """The entries whose path begins with `prefix` and is greater than `after`, in order, range by range."""
        within = span(prefix, after)
        first = bisect_left(self._highs, within.low)
        wanted = [ref for ref in self.ranges[first:] if encoded(ref.min_path) < within.high]
        async with aclosing(map_ahead(self._load_all, wanted, self._width)) as loaded:
            async for rows in loaded:
                low, high = rows.seek(within.low), rows.seek(within.high)
                if low < high:
                    yield rows.batch.slice(low, high - low)

    async def batches(self, numbers: Sequence[int]) -> AsyncGenerator[pa.RecordBatch, None]:
        """All entries of these ranges, range by range."""
        async with aclosing(map_ahead(self._load_all, [self.ranges[each] for each in numbers], self._width)) as loaded:
            async for rows in loaded:
                yield rows.batch

    async def list(self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1000) -> TreePage:
        """A page of what lies under `prefix` and behind `after`. With a delimiter, which may be any text, all paths
        that go on to the same next delimiter behind the prefix are one common prefix."""
        return await listing.page(ListedTree(self.ranges, self._highs, self._load), prefix, after, delimiter, limit)
