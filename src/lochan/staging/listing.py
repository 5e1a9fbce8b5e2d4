"""One page of a listing over cursors, newest first.

Without a delimiter it sweeps. With one it steps from item to item, jumps past each common prefix, and switches to
sweeping where items are close together: a folder of files, or many consecutive tombstones.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from lochan.formats.entry import Entry
from lochan.staging.cursors import BLOCK_MAX, BLOCK_MIN, Cost, RowCursor, sweep
from lochan.staging.sources import NOTHING, RowSource, SelectedRows, join_parts
from lochan.tree.rows import behind, encode_path

_CLOSE_ROWS = 4  # a step that passed no more rows than this...
_CLOSE_STEPS = 8  # ...so many times in succession: a sweep will be cheaper


class ViewPage(NamedTuple):
    """Entries and common prefixes, each in path order; together at most the limit."""

    entries: list[Entry]
    prefixes: list[str]
    next: str | None  # pass it as `after` to get the next page; None if there is none


class ColumnPage(NamedTuple):
    """A page with the entries as a table of ENTRY_SCHEMA: making a thousand values takes longer than finding them, and
    the answer to a request needs four of eleven columns."""

    entries: pa.Table
    prefixes: list[str]
    next: str | None


class ListingResult(NamedTuple):
    picked: SelectedRows
    prefixes: list[str]
    next: str | None

    def page(self) -> ViewPage:
        return ViewPage(self.picked.entries(), self.prefixes, self.next)

    def columns(self) -> ColumnPage:
        return ColumnPage(self.picked.table(), self.prefixes, self.next)


async def flat(cursors: Sequence[RowCursor], limit: int, cost: Cost) -> ListingResult:
    """Lists without a delimiter. The cost is bounded by the page: each source shows its share, and more only while too
    much is hidden."""
    shares = sum(cursor.more or cursor.key is not None for cursor in cursors)
    block = max(BLOCK_MIN, limit * 5 // 4 // max(1, shares))
    found: list[SelectedRows] = []
    count = 0
    while count <= limit:
        for cursor in cursors:
            await cursor.settle()
        active = [cursor for cursor in cursors if cursor.key is not None]
        if len(active) == 1:  # nothing hides its rows, and it hides nothing
            picked = active[0].take(limit + 1 - count, cost)
        elif (swept := await sweep(cursors, block, cost)) is not None:
            picked = swept.picked
            block = min(block * 2, BLOCK_MAX)
        else:
            break
        found.append(picked)
        count += len(picked.rows)
    picked = join_parts(found).first(limit)
    return ListingResult(picked, [], picked.last_path if count > limit else None)


class FolderListing:
    """A page with a delimiter."""

    def __init__(self, cursors: Sequence[RowCursor], prefix: str, delimiter: str, limit: int, cost: Cost) -> None:
        self._cursors = cursors
        self._delimiter = delimiter
        self._skip = len(prefix)
        self._mark = encode_path(delimiter)
        self._skip_bytes = len(encode_path(prefix))
        self._limit = limit
        self._cost = cost
        self._items: list[tuple[RowSource, int] | str] = []  # rows and common prefixes
        self._close = 0  # consecutive steps that passed few rows
        self._block = BLOCK_MIN

    async def found(self) -> ListingResult:
        more = True
        while more and len(self._items) <= self._limit:
            more = await (self._sweep() if self._close >= _CLOSE_STEPS else self._step())
        return self._made()

    async def _step(self) -> bool:
        """Takes one path or common prefix. Returns False if nothing is left."""
        for cursor in self._cursors:
            if cursor.more:
                await cursor.settle()
        active = [cursor for cursor in self._cursors if cursor.key is not None]
        if len(active) < 2:
            return bool(active) and await self._walk(active[0])
        key = min(cursor.key for cursor in active if cursor.key is not None)
        at = [cursor for cursor in active if cursor.key == key]
        live = at[0].source.is_live(at[0].row)  # the newest source that holds a path decides
        self._cost.rows += len(at)
        if not live:  # deleted paths are skipped in blocks; a live path further on shows its folder
            return await self._sweep()
        folder = self._folder(key.decode())
        if folder is None:
            self._items.append((at[0].source, at[0].row))
            for cursor in at:
                cursor.move(cursor.row + 1)
            self._close += 1
        else:
            self._items.append(folder)
            self._close = self._close + 1 if await self._jump(folder) <= _CLOSE_ROWS else 0
        return True

    async def _walk(self, cursor: RowCursor) -> bool:
        """Steps repeatedly, if only one cursor is left: nothing hides its rows, and it hides nothing."""
        source, row = cursor.source, cursor.row
        while row < cursor.stop and len(self._items) <= self._limit and self._close < _CLOSE_STEPS:
            room = self._limit + 1 - len(self._items)
            folders, row = source.folders(row, cursor.stop, self._skip_bytes, self._mark, _CLOSE_ROWS + 1, room)
            if folders:
                self._items += folders
                self._cost.rows += len(folders)
                self._close = 0
                if row == cursor.stop and cursor.more:
                    cursor.move(row)
                    await cursor.rescan(folders[-1], behind(folders[-1].encode()))
                continue
            if not source.is_live(row):
                cursor.move(row)
                return await self._sweep()
            self._cost.rows += 1
            key, begun = source.key(row), row
            end = key.find(self._mark, self._skip_bytes)
            row += 1
            if end < 0:
                self._items.append((source, begun))
                self._close += 1
                continue
            folder = key[: end + len(self._mark)]
            self._items.append(folder.decode())
            above = behind(folder)
            if row < cursor.stop and source.key(row) < above:
                row = min(source.seek(above, row), cursor.stop)
            self._close = self._close + 1 if row - begun <= _CLOSE_ROWS else 0
            if row == cursor.stop and cursor.more:
                cursor.move(row)
                await cursor.rescan(folder.decode(), above)
        cursor.move(row)
        return True

    async def _sweep(self) -> bool:
        swept = await sweep(self._cursors, self._block, self._cost)
        if swept is None:
            return False
        items, row, keys = self._items, 0, swept.keys.to_pylist()
        before, count = len(items), len(keys)
        delimiter, skip, width = self._delimiter, self._skip, len(self._delimiter)
        sources, rows, owners = swept.picked.sources, swept.picked.rows.tolist(), swept.picked.owners.tolist()
        self._block = min(self._block * 4, BLOCK_MAX)
        while row < count and len(items) <= self._limit:
            path = keys[row]
            end = path.find(delimiter, skip)
            if end < 0:
                items.append((sources[owners[row]], rows[row]))
                row += 1
                continue
            folder = path[: end + width]
            items.append(folder)
            row += 1
            if row < count and keys[row].startswith(folder):
                row = bisect_left(keys, True, row, key=lambda path: not path.startswith(folder))
            if row == count:
                await self._jump(folder)
        if (len(items) - before) * _CLOSE_ROWS < count:  # for large folders, stepping is cheaper
            self._close, self._block = 0, BLOCK_MIN
        return True

    async def _jump(self, folder: str) -> int:
        """Jumps past all paths that begin with the folder. Returns how many rows in memory that were."""
        end, passed = behind(folder.encode()), 0
        for cursor in self._cursors:
            if cursor.key is not None and cursor.key < end:
                row = cursor.rows_to(end)
                passed += row - cursor.row
                cursor.move(row)
            if cursor.more:
                await cursor.rescan(folder, end)
        return passed

    def _folder(self, path: str) -> str | None:
        at = path.find(self._delimiter, self._skip)
        return None if at < 0 else path[: at + len(self._delimiter)]

    def _made(self) -> ListingResult:
        items, rest = self._items[: self._limit], self._items[self._limit :]
        last = items[-1] if rest and items else None
        if set(map(type, items)) == {str}:  # many pages have only folders
            return ListingResult(NOTHING, cast("list[str]", items), cast("str | None", last))
        prefixes = [item for item in items if isinstance(item, str)]
        picked = _pick([item for item in items if not isinstance(item, str)])
        return ListingResult(picked, prefixes, last if last is None or isinstance(last, str) else picked.last_path)


def _pick(found: Sequence[tuple[RowSource, int]]) -> SelectedRows:
    sources: list[RowSource] = []
    known: dict[int, int] = {}
    owners = []
    for source, _ in found:
        owner = known.setdefault(id(source), len(sources))
        if owner == len(sources):
            sources.append(source)
        owners.append(owner)
    return SelectedRows(sources, np.array(owners, np.int64), np.array([row for _, row in found], np.int64))
