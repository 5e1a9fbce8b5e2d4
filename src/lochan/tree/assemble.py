"""Puts a tree together from ranges that exist and rows that are new, cut by the rule.

    add_range, add_rows, add_range, …, finish    in path order

A range that begins at a cut and ends at one is taken as it is, unopened. Only where a cut has moved is the next range
opened, and so on to the first cut that stays.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa

from lochan.formats.entry_table import Rows, concat
from lochan.formats.range import RangeRef
from lochan.store.threads import Threads
from lochan.tree.ahead import abandon, plain, running_loop
from lochan.tree.cut import Cut

Load = Callable[[RangeRef], Awaitable[Rows]]
Write = Callable[[pa.RecordBatch], Awaitable[RangeRef]]


class Assembler:
    """`width` ranges are written at once."""

    def __init__(self, cut: Cut, load: Load, write: Write, threads: Threads, width: int) -> None:
        self._cut = cut
        self._load = load
        self._write = write
        self._threads = threads
        self._width = width
        self._done: list[Any] = []  # ranges, or tasks that write them
        self._writing: list[Any] = []
        self._unclosed: RangeRef | None = None  # the last range, if it ended only because its tree did
        self._tail: list[pa.RecordBatch] = []  # rows since the last cut
        self._tail_count = 0
        self._searched = 0  # rows of the tail after which the range does not end

    async def add_range(self, ref: RangeRef) -> None:
        if self._tail or self._unclosed is not None:
            await self.add_rows((await self._load(ref)).batch)
            return
        self._done.append(ref)
        if not self._cut.closes(ref.max_path, ref.count):
            self._unclosed = ref

    async def add_rows(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if self._unclosed is not None:
            ref, self._unclosed = self._done.pop(), None
            self._push((await self._load(ref)).batch)
        self._push(batch)
        while end := await self._threads.run(self._end):
            await self._emit(end)

    async def finish(self) -> tuple[RangeRef, ...]:
        if self._tail:
            await self._emit(self._tail_count)
        return tuple([done if isinstance(done, RangeRef) else await done for done in self._done])

    def __enter__(self) -> "Assembler":
        return self

    def __exit__(self, *_: object) -> None:
        """After an error what is written already stays behind, and nothing names it."""
        abandon(self._writing)

    def _push(self, batch: pa.RecordBatch) -> None:
        self._tail.append(batch)
        self._tail_count += batch.num_rows

    def _end(self) -> int:
        """How many rows of the tail the next range takes; 0: more must come to tell."""
        begin, at = max(self._searched, self._cut.least - 1), 0
        for batch in self._tail:
            low, high = max(begin - at, 0), min(self._cut.most - at, batch.num_rows)
            found = self._cut.first(batch.column("path")[low:high]) if low < high else -1
            if found >= 0:
                return at + low + found + 1
            at += batch.num_rows
        self._searched = self._tail_count
        return self._cut.most if self._tail_count >= self._cut.most else 0

    def _take(self, count: int) -> pa.RecordBatch:
        """The first rows of the tail, which loses them."""
        pieces = []
        while count:
            batch = self._tail.pop(0)
            pieces.append(batch.slice(0, count))
            if batch.num_rows > count:
                self._tail.insert(0, batch.slice(count))
            count -= pieces[-1].num_rows
        return concat(pieces)

    async def _emit(self, count: int) -> None:
        batch = self._take(count)
        self._tail_count -= count
        self._searched = 0
        loop = running_loop() if self._width > 1 else None
        if loop is None:
            self._done.append(await self._write(batch))
            return
        if len(self._writing) == self._width:
            await self._writing.pop(0)
        task = loop.create_task(plain(self._write(batch)))
        self._writing.append(task)
        self._done.append(task)
