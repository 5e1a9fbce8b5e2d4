"""One page of a listing over cursors, newest first.

Without a delimiter it sweeps. With one it steps from item to item, jumping past each common prefix, and changes over
to sweeping where the items lie close together: a folder of files, or a stretch of tombstones.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lochan.formats.entry import Entry
from lochan.staging.cursors import BLOCK_MAX, BLOCK_MIN, Cost, Cursor, Swept, sweep
from lochan.staging.sources import Source
from lochan.tree.bounds import behind

_CLOSE_ROWS = 4  # a step that passed no more rows than this...
_CLOSE_STEPS = 8  # ...so many times in succession: a sweep will be cheaper


class Page(NamedTuple):
    """Entries and common prefixes, each in path order; together at most the limit."""

    entries: list[Entry]
    prefixes: list[str]
    next: str | None  # give it as `after` for the next page; None: there is none


async def flat(cursors: Sequence[Cursor], limit: int, cost: Cost) -> Page:
    """The cost is bounded by the page: each source shows its share of it, and more only while too much is hidden."""
    shares = sum(cursor.more or cursor.key is not None for cursor in cursors)
    block = max(BLOCK_MIN, limit * 5 // 4 // max(1, shares))
    found: list[Swept] = []
    count = 0
    while count <= limit and (swept := await sweep(cursors, block, cost)) is not None:
        found.append(swept)
        count += len(swept.rows)
        block = min(block * 2, BLOCK_MAX)
    entries: list[Entry] = []
    for swept in found:
        entries += swept.entries(limit - len(entries))
    return Page(entries, [], entries[-1].path if count > limit and entries else None)


class Folded:
    """A page with a delimiter; `skip` is the length of the prefix, in characters."""

    def __init__(self, cursors: Sequence[Cursor], delimiter: str, skip: int, limit: int, cost: Cost) -> None:
        self._cursors = cursors
        self._delimiter = delimiter
        self._skip = skip
        self._limit = limit
        self._cost = cost
        self._items: list[tuple[Source, int] | str] = []  # rows, and common prefixes
        self._close = 0  # steps in succession that passed few rows
        self._block = BLOCK_MIN

    async def page(self) -> Page:
        more = True
        while more and len(self._items) <= self._limit:
            more = await (self._sweep() if self._close >= _CLOSE_STEPS else self._step())
        return self._made()

    async def _step(self) -> bool:
        """One path or common prefix; False: nothing is left."""
        for cursor in self._cursors:
            if cursor.more:
                await cursor.settle()
        key = min((cursor.key for cursor in self._cursors if cursor.key is not None), default=None)
        if key is None:
            return False
        at = [cursor for cursor in self._cursors if cursor.key == key]
        live = at[0].source.is_live(at[0].row)  # the newest that holds a path decides
        self._cost.rows += len(at)
        if not live:  # what is deleted is passed by the block; a live path further on tells of its folder
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

    async def _sweep(self) -> bool:
        swept = await sweep(self._cursors, self._block, self._cost)
        if swept is None:
            return False
        before, row, keys = len(self._items), 0, swept.keys.to_pylist()
        rows, owners = swept.rows.tolist(), swept.owners.tolist()
        self._block = min(self._block * 4, BLOCK_MAX)
        while row < len(keys) and len(self._items) <= self._limit:
            folder = self._folder(keys[row])
            if folder is None:
                self._items.append((swept.sources[owners[row]], rows[row]))
                row += 1
                continue
            self._items.append(folder)
            row = bisect_left(keys, True, row, key=lambda path: not path.startswith(folder))
            if row == len(keys):
                await self._jump(folder)
        if (len(self._items) - before) * _CLOSE_ROWS < len(keys):  # large folders: stepping is cheaper
            self._close, self._block = 0, BLOCK_MIN
        return True

    async def _jump(self, folder: str) -> int:
        """Past all paths that begin so; returns how many rows that were, of those at hand."""
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

    def _made(self) -> Page:
        items, rest = self._items[: self._limit], self._items[self._limit :]
        rows: dict[int, tuple[Source, list[int]]] = {}
        order: list[int] = []
        for item in items:
            if not isinstance(item, str):
                rows.setdefault(id(item[0]), (item[0], []))[1].append(item[1])
                order.append(id(item[0]))
        made = {which: iter(source.entries(np.asarray(picked))) for which, (source, picked) in rows.items()}
        entries = [next(made[which]) for which in order]
        prefixes = [item for item in items if isinstance(item, str)]
        last = items[-1] if rest and items else None
        return Page(entries, prefixes, last if last is None or isinstance(last, str) else entries[-1].path)
