"""The entries of a commit: one path, a span of paths, or a page of a listing. Only the ranges that are needed are
opened.

The cost of a page depends on its items, not on their content: after a common prefix the walk continues with a search,
in this range or in another one, and the ranges in between are not opened."""

from bisect import bisect_left
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lochan.concurrency import map_ahead
from lochan.formats.entry import ENTRY_SCHEMA, Entry
from lochan.formats.entry_table import EntryRows
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.tree import tree as listing
from lochan.tree.ranges import Ranges
from lochan.tree.rows import Indices, Mask, PathSpan, behind, by_range, encode_path, locate, span

FoundRow = tuple[EntryRows, int]


class NotOpen(Exception):
    """A file has to be opened first, which takes a while."""


class TreePage(NamedTuple):
    """Entries and common prefixes, each in path order; together at most the limit."""

    entries: pa.Table  # ENTRY_SCHEMA
    prefixes: list[str]
    next: str | None  # the `after` of the next page; None if there is none


class Tree:
    """The entries of one commit. `Trees` makes it."""

    def __init__(self, ref: TreeRef, ranges: tuple[RangeRef, ...], files: Ranges, width: int) -> None:
        self.ref = ref
        self.ranges = ranges
        self.count = sum(each.count for each in ranges)
        self.bytes = sum(each.bytes for each in ranges)  # the size of the objects
        self._highs = [each.max_path.encode() for each in ranges]
        self._load = files.load
        self._at_hand = files.at_hand
        self._load_all = files.load_all
        self._width = width

    async def get(self, path: str) -> Entry | None:
        key = encode_path(path)
        at = bisect_left(self._highs, key)
        if at == len(self._highs):
            return None
        rows = await self._load(self.ranges[at])
        row = rows.find(key)
        return None if row < 0 else rows.entry(row)

    def find(self, path: str) -> FoundRow | None:
        """Returns the rows with the path, and its row among them, without waiting, or None if the path is absent.
        Raises NotOpen if the range has to be opened first; then use `get`."""
        key = encode_path(path)
        at = bisect_left(self._highs, key)
        if at == len(self._highs):
            return None
        rows = self._at_hand(self.ranges[at])
        if rows is None:
            raise NotOpen
        row = rows.find(key)
        return None if row < 0 else (rows, row)

    async def has_many(self, paths: pa.StringArray) -> Mask:
        """Returns whether each path exists. REQUIRES: they ascend."""
        there = np.zeros(len(paths), np.bool_)
        for ref, low, high in by_range(paths, self.ranges):
            rows = await self._load_all(ref)
            there[low:high] = locate(rows.batch.column("path"), paths[low:high])[1]
        return there

    async def sizes(self, paths: pa.StringArray) -> Indices:
        """Returns the size of the object of each path, -1 if it is absent. REQUIRES: they ascend."""
        sizes = np.full(len(paths), -1, np.int64)
        for ref, low, high in by_range(paths, self.ranges):
            rows = (await self._load_all(ref)).batch
            at, found = locate(rows.column("path"), paths[low:high])
            sizes[low:high][found] = rows.column("size").to_numpy()[at[found]]
        return sizes

    async def seek(self, key: bytes) -> tuple[EntryRows, int] | None:
        """Returns the rows with the first path from `key` on, and its row among them. It is for walking through several
        sources at once."""
        at = bisect_left(self._highs, key)
        if at == len(self._highs):
            return None
        rows = await self._load(self.ranges[at])
        return rows, rows.seek(key)

    async def scan(self, prefix: str = "", after: str = "") -> AsyncGenerator[pa.RecordBatch, None]:
        """Yields the entries whose path begins with `prefix` and is greater than `after`, in order, range by range."""
        within = span(prefix, after)
        first = bisect_left(self._highs, within.low)
        wanted = [ref for ref in self.ranges[first:] if encode_path(ref.min_path) < within.high]
        async with aclosing(map_ahead(self._load_all, wanted, self._width)) as loaded:
            async for rows in loaded:
                low, high = rows.seek(within.low), rows.seek(within.high)
                if low < high:
                    yield rows.batch.slice(low, high - low)

    async def batches(self, numbers: Sequence[int]) -> AsyncGenerator[pa.RecordBatch, None]:
        """Yields all entries of these ranges, range by range."""
        async with aclosing(map_ahead(self._load_all, [self.ranges[each] for each in numbers], self._width)) as loaded:
            async for rows in loaded:
                yield rows.batch

    async def list(self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1000) -> TreePage:
        """Returns a page of the entries under `prefix` and after `after`. With a delimiter, which may be any text, all
        paths that are equal up to the next delimiter after the prefix become one common prefix."""
        return await listing.page(ListedTree(self.ranges, self._highs, self._load), prefix, after, delimiter, limit)


class ListedTree(NamedTuple):
    """The parts of a tree that a listing needs."""

    ranges: Sequence[RangeRef]
    highs: Sequence[bytes]  # the greatest paths of the ranges
    load: Callable[[RangeRef], Awaitable[EntryRows]]


async def page(tree: ListedTree, prefix: str, after: str, delimiter: str, limit: int) -> TreePage:
    walk = _Walk(start(prefix, after, delimiter), len(encode_path(prefix)), encode_path(delimiter), limit)
    more = limit > 0 and await _walk_page(tree, walk)
    return TreePage(
        pa.Table.from_batches(walk.found, ENTRY_SCHEMA), walk.prefixes, walk.last.decode() if more else None
    )


def start(prefix: str, after: str, delimiter: str) -> PathSpan:
    """Returns the span of the page. An `after` that is a common prefix includes everything under it."""
    within = span(prefix, after)
    key, skip = encode_path(after), len(encode_path(prefix))
    if delimiter and after and after.startswith(prefix) and common(key, skip, encode_path(delimiter)) == key:
        return PathSpan(behind(key), within.high)
    return within


def common(path: bytes, skip: int, delimiter: bytes) -> bytes:
    """Returns the path up to and including its first delimiter after the prefix, which is `skip` bytes long, or nothing
    if there is no delimiter."""
    end = path.find(delimiter, skip)
    return path[: end + len(delimiter)] if end >= 0 else b""


async def _walk_page(tree: ListedTree, walk: "_Walk") -> bool:
    """Walks to the end of the page. Returns whether there is more after it."""
    while (index := bisect_left(tree.highs, walk.at)) < len(tree.ranges):
        ref = tree.ranges[index]
        least = encode_path(ref.min_path)
        if least >= walk.high:
            return False
        if not walk.left and least >= walk.at:
            return True
        rows = await tree.load(ref)
        first, stop = rows.seek(walk.at), rows.seek(walk.high)
        row = walk.take_items(rows, first, stop) if walk.delimiter else walk.take_entries(rows, first, stop)
        if row < stop or stop < rows.count:
            return row < stop
        walk.at = max(walk.at, tree.highs[index] + b"\0")
    return False


class _Walk:
    def __init__(self, within: PathSpan, skip: int, delimiter: bytes, limit: int) -> None:
        self.at, self.high = within
        self.skip = skip
        self.delimiter = delimiter
        self.left = limit
        self.found: list[pa.RecordBatch] = []
        self.prefixes: list[str] = []
        self.last = b""

    def take_entries(self, rows: EntryRows, row: int, stop: int) -> int:
        """Takes rows while there is room. Returns the first that was not taken."""
        count = min(self.left, stop - row)
        if count:
            self.found.append(rows.batch.slice(row, count))
            self.left -= count
            self.last = rows.path(row + count - 1)
        return row + count

    def take_items(self, rows: EntryRows, row: int, stop: int) -> int:
        """Takes rows like `take_entries`, but rows with a common prefix become that prefix."""
        chosen = []
        while row < stop and self.left:
            self.left -= 1
            self.last = path = rows.path(row)
            row += 1
            if folded := common(path, self.skip, self.delimiter):
                self.last = folded
                self.prefixes.append(folded.decode())
                self.at = behind(folded)
                if row < stop and rows.path(row) < self.at:
                    row = rows.seek(self.at, row)
            else:
                chosen.append(row - 1)
        if chosen:
            contiguous = chosen[-1] - chosen[0] == len(chosen) - 1
            batch = rows.batch
            self.found.append(batch.slice(chosen[0], len(chosen)) if contiguous else batch.take(pa.array(chosen)))
        return row
