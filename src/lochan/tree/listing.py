"""A page of a listing, with or without a delimiter. Its cost goes with the items of the page, not with what they hold:
behind a common prefix the walk goes on by a search, in this range or in another, and what lies between is not opened.
"""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.entry_table import EntryRows
from lochan.formats.range import RangeRef
from lochan.tree.path_span import PathSpan, behind, encoded, span


class TreePage(NamedTuple):
    """Entries and common prefixes, each in path order; together at most the limit."""

    entries: pa.Table  # ENTRY_SCHEMA
    prefixes: list[str]
    next: str | None  # give it as `after` for the next page; None: there is none


class ListedTree(NamedTuple):
    """What a listing asks of a tree."""

    ranges: Sequence[RangeRef]
    highs: Sequence[bytes]  # the ranges' greatest paths
    load: Callable[[RangeRef], Awaitable[EntryRows]]


async def page(tree: ListedTree, prefix: str, after: str, delimiter: str, limit: int) -> TreePage:
    walk = _Walk(start(prefix, after, delimiter), len(encoded(prefix)), encoded(delimiter), limit)
    more = limit > 0 and await _more(tree, walk)
    return TreePage(
        pa.Table.from_batches(walk.found, ENTRY_SCHEMA), walk.prefixes, walk.last.decode() if more else None
    )


def start(prefix: str, after: str, delimiter: str) -> PathSpan:
    """Where the page lies. An `after` that is a common prefix stands for everything under it."""
    within = span(prefix, after)
    key, skip = encoded(after), len(encoded(prefix))
    if delimiter and after and after.startswith(prefix) and common(key, skip, encoded(delimiter)) == key:
        return PathSpan(behind(key), within.high)
    return within


def common(path: bytes, skip: int, delimiter: bytes) -> bytes:
    """The path up to and with its first delimiter behind the prefix, `skip` bytes long; empty if it has none."""
    end = path.find(delimiter, skip)
    return path[: end + len(delimiter)] if end >= 0 else b""


async def _more(tree: ListedTree, walk: "_Walk") -> bool:
    """Walks to the end of the page. True: there is more behind it."""
    while (index := bisect_left(tree.highs, walk.at)) < len(tree.ranges):
        ref = tree.ranges[index]
        least = encoded(ref.min_path)
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
        """Takes rows as long as there is room; returns the first that was not taken."""
        count = min(self.left, stop - row)
        if count:
            self.found.append(rows.batch.slice(row, count))
            self.left -= count
            self.last = rows.path(row + count - 1)
        return row + count

    def take_items(self, rows: EntryRows, row: int, stop: int) -> int:
        """As `take_entries`, with rows that have a common prefix skipped for it."""
        taken = []
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
                taken.append(row - 1)
        if taken:
            contiguous = taken[-1] - taken[0] == len(taken) - 1
            batch = rows.batch
            self.found.append(batch.slice(taken[0], len(taken)) if contiguous else batch.take(pa.array(taken)))
        return row
