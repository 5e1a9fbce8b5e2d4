"""Puts a tree together from ranges that exist and rows that are new, cut by the rule.

    add_range, add_rows, add_range, …, finish    in path order
    written                                      all new files are there

A range that begins at a cut and ends at one is taken as it is, unopened. Only where a cut has moved is the next range
opened, and so on to the first cut that stays.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.concurrency import abandon, plain
from lochan.formats.entry_table import EntryRows
from lochan.formats.range import RangeRef
from lochan.runtime import running_loop
from lochan.store.threads import Threads
from lochan.tree.cut import RangeCut
from lochan.tree.rows import Indices, Stretch, part_of_range

Load = Callable[[RangeRef], Awaitable[EntryRows]]
Name = Callable[[pa.Table], Awaitable[RangeRef]]
Write = Callable[[pa.Table, Awaitable[RangeRef]], Awaitable[None]]

_AT_ONCE = 2_000  # so many paths are hashed sooner than a thread is asked to do it


class Assembler:
    """`width` ranges are written at once."""

    def __init__(self, cut: RangeCut, load: Load, name: Name, write: Write, threads: Threads, width: int) -> None:
        self.cut = cut
        self._load = load
        self._name = name
        self._write = write
        self._threads = threads
        self._width = width
        self._done: list[Any] = []  # ranges, or tasks that name them
        self._writing: list[Any] = []
        self._unclosed: RangeRef | None = None  # the last range, if it ended only because its tree did
        self._tail: list[Stretch] = []  # rows since the last cut
        self._tail_count = 0
        self._searched = 0  # rows of the tail after which the range does not end

    async def add_range(self, ref: RangeRef) -> None:
        if self._tail or self._unclosed is not None:
            await self.add_part((await self._load(ref)).batch, 0)
            return
        self._done.append(ref)
        if not self.cut.closes(ref.max_path, ref.count):
            self._unclosed = ref

    async def add_part(self, batch: pa.RecordBatch, start: int) -> None:
        """Rows of a range, from its row `start` on."""
        await self.add_rows(part_of_range(batch, self.cut.untested(start)))

    async def add_rows(self, rows: Stretch) -> None:
        if not rows.batch.num_rows:
            return
        if self._unclosed is not None:
            ref, self._unclosed = self._done.pop(), None
            self._push(part_of_range((await self._load(ref)).batch, self.cut.untested(0)))
        self._push(rows)
        while end := await self._next_end():
            await self._emit(end)

    async def finish(self) -> tuple[RangeRef, ...]:
        """All ranges. Some may still be on their way to the store: see `written`."""
        if self._tail:
            await self._emit(self._tail_count)
        return tuple([done if isinstance(done, RangeRef) else await done for done in self._done])

    async def written(self) -> None:
        for task in self._writing:
            await task

    def __enter__(self) -> "Assembler":
        return self

    def __exit__(self, *_: object) -> None:
        """After an error what is written already stays behind, and nothing names it."""
        abandon(self._writing)
        abandon(done for done in self._done if not isinstance(done, RangeRef))

    def _push(self, rows: Stretch) -> None:
        self._tail.append(rows)
        self._tail_count += rows.batch.num_rows

    async def _next_end(self) -> int:
        if sum(window.paths_to_hash for window in self._unsearched()) > _AT_ONCE:
            return await self._threads.run(self._end)
        return self._end()

    def _end(self) -> int:
        """How many rows of the tail the next range takes; 0: more must come to tell."""
        for window in self._unsearched():
            found = window.first(self.cut)
            if found >= 0:
                return found + 1
        self._searched = self._tail_count
        return self.cut.most if self._tail_count >= self.cut.most else 0

    def _unsearched(self) -> Iterator["_Window"]:
        begin, at = max(self._searched, self.cut.least - 1), 0
        for batch, ends in self._tail:
            low, high = max(begin - at, 0), min(self.cut.most - at, batch.num_rows)
            if low < high:
                within = None if ends is None else ends[slice(*ends.searchsorted([low, high]))]
                yield _Window(at, batch.column("path"), low, high, within)
            at += batch.num_rows

    def _take(self, count: int) -> pa.Table:
        """The first rows of the tail, which loses them."""
        pieces = []
        while count:
            batch, ends = self._tail.pop(0)
            pieces.append(batch.slice(0, count))
            if batch.num_rows > count:
                left = None if ends is None else ends[ends.searchsorted(count) :] - count
                self._tail.insert(0, Stretch(batch.slice(count), left))
            count -= pieces[-1].num_rows
        return pa.Table.from_batches(pieces)

    async def _emit(self, count: int) -> None:
        rows = self._take(count)
        self._tail_count -= count
        self._searched = 0
        loop = running_loop() if self._width > 1 else None
        if loop is None:
            ref = await self._name(rows)
            await self._write(rows, _ready(ref))
            self._done.append(ref)
            return
        if len(self._writing) == self._width:
            await self._writing.pop(0)
        naming = loop.create_task(plain(self._name(rows)))
        self._done.append(naming)
        self._writing.append(loop.create_task(plain(self._write(rows, naming))))


async def _ready(ref: RangeRef) -> RangeRef:
    return ref


class _Window(NamedTuple):
    """Rows of a stretch after which the next range may end."""

    at: int  # rows of the tail in front of the stretch
    paths: pa.StringArray
    low: int
    high: int
    ends: Indices | None  # only after these

    @property
    def paths_to_hash(self) -> int:
        return self.high - self.low if self.ends is None else len(self.ends)

    def first(self, cut: RangeCut) -> int:
        """The first row of the tail after which it does; -1: after none of these."""
        if self.ends is not None:
            found, start = cut.first_of(self.paths, self.ends), self.at
        else:
            found, start = cut.first(self.paths[self.low : self.high]), self.at + self.low
        return found if found < 0 else start + found
