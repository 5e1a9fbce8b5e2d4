"""Puts a tree together from existing ranges and new rows, and decides where ranges are cut.

    add_range, add_rows, add_range, …, finish    in path order
    written                                      all new files are on the store

**The cut** is the same in every lake and never changes for a format version. A range ends after a path whose hash is
divisible by `modulus`, once it has `least` entries; it ends at `most` entries whatever the hash; and it ends with the
tree. Only the paths decide, so equal trees have equal ranges, however they were made. Only the entries since the last
cut count, so an insert or a delete moves the cuts after it no further than to the next one that both versions share.

A range that begins and ends at a cut is used as it is, unopened. If a cut has moved, the next range is opened, and so
on up to the first cut that stays."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.concurrency import abandon, plain
from lochan.formats import bloom
from lochan.formats.entry_table import EntryRows
from lochan.formats.range import RangeRef
from lochan.runtime import running_loop
from lochan.store.threads import Threads
from lochan.tree.rows import Indices, Stretch, part_of_range

_HASHED_AT_ONCE = 8_192  # smaller batches cost more calls, larger ones hash paths in vain


@dataclass(frozen=True, slots=True)
class RangeCut:
    least: int
    modulus: int
    most: int

    def first(self, paths: pa.StringArray) -> int:
        """Returns the first row whose path's hash is divisible by `modulus`, or -1 if there is none."""
        for low in range(0, len(paths), _HASHED_AT_ONCE):
            hashes = bloom.hash_all(_copy_paths(paths[low : low + _HASHED_AT_ONCE]))
            found = np.flatnonzero(hashes % np.uint64(self.modulus) == 0)
            if len(found):
                return low + int(found[0])
        return -1

    def first_of(self, paths: pa.StringArray, rows: npt.NDArray[np.int64]) -> int:
        """Returns the first such row among these rows, or -1."""
        found = self.first(paths.take(pa.array(rows)))
        return -1 if found < 0 else int(rows[found])

    def untested(self, row: int) -> int:
        """Returns how many rows of a range, from that row on, could not end it because it was too short, whatever their
        hash."""
        return max(0, self.least - 1 - row)

    def closes(self, path: str, count: int) -> bool:
        """Returns whether a range of `count` entries ends after `path` by the rule, and not only because the tree
        does."""
        return count == self.most or (count >= self.least and bloom.hash_one(path) % self.modulus == 0)


def _copy_paths(paths: pa.StringArray) -> pa.StringArray:
    """Returns the same paths, without the texts before the first: the array may be a slice of a very long one."""
    if not len(paths):
        return paths
    _, offsets, data = paths.buffers()
    ends = np.frombuffer(offsets, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    if data is None or not ends[0]:
        return paths
    return pa.StringArray.from_buffers(
        len(paths), pa.py_buffer(ends - ends[0]), data.slice(int(ends[0]), int(ends[-1] - ends[0]))
    )


# 50,000 entries on average: 25,000 and then one path in 25,000; one range in a hundred and fifty is cut at the most. A
# smaller `least` makes sizes vary more, so changes hit larger ranges; a greater one makes cuts move further. See
# docs/formats/tree.md for the measurements.
STANDARD = RangeCut(25_000, 25_000, 150_000)
# For pools: 1,000 on average. Their entries are a kilobyte or two, and each load is a commit that rewrites the last
# range, which gets the new ids. With 20,000 objects there, loading one more took 0.28 s of processor time; now 0.02 s.
POOLS = RangeCut(500, 500, 3_000)


Load = Callable[[RangeRef], Awaitable[EntryRows]]
Name = Callable[[pa.Table], Awaitable[RangeRef]]
Write = Callable[[pa.Table, Awaitable[RangeRef]], Awaitable[None]]

_AT_ONCE = 2_000  # hashing fewer paths is quicker than using a thread


class Assembler:
    """Puts a tree together. `width` ranges are written in parallel."""

    def __init__(self, cut: RangeCut, load: Load, name: Name, write: Write, threads: Threads, width: int) -> None:
        self.cut = cut
        self._load = load
        self._name = name
        self._write = write
        self._threads = threads
        self._width = width
        self._done: list[Any] = []  # ranges, or tasks that return their names
        self._writing: list[Any] = []
        self._unclosed: RangeRef | None = None  # the last range, if it ended only with its tree
        self._tail: list[Stretch] = []  # rows since the last cut
        self._tail_count = 0
        self._searched = 0  # rows of the tail that do not end the range

    async def add_range(self, ref: RangeRef) -> None:
        if self._tail or self._unclosed is not None:
            await self.add_part((await self._load(ref)).batch, 0)
            return
        self._done.append(ref)
        if not self.cut.closes(ref.max_path, ref.count):
            self._unclosed = ref

    @property
    def is_at_cut(self) -> bool:
        """Whether the next range begins at the point where it is added."""
        return not self._tail and self._unclosed is None

    async def add_new(self, ref: RangeRef, write: Callable[[], Awaitable[None]]) -> None:
        """Adds a range that has a name, but no file yet. REQUIRES: `is_at_cut`."""
        self._done.append(ref)
        loop = running_loop() if self._width > 1 else None
        closed = self.cut.closes(ref.max_path, ref.count)
        if loop is None or not closed:  # an unclosed one may be read again at once
            await write()
        else:
            if len(self._writing) == self._width:
                await self._writing.pop(0)
            self._writing.append(loop.create_task(plain(write())))
        if not closed:
            self._unclosed = ref

    async def add_part(self, batch: pa.RecordBatch, start: int) -> None:
        """Adds rows of a range, from its row `start` on."""
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
        """Returns all ranges. Some may still be written to the store: see `written`."""
        if self._tail:
            await self._emit(self._tail_count)
        return tuple([done if isinstance(done, RangeRef) else await done for done in self._done])

    async def written(self) -> None:
        for task in self._writing:
            await task

    def __enter__(self) -> "Assembler":
        return self

    def __exit__(self, *_: object) -> None:
        """Abandons tasks that still run. After an error, files that are already written stay, and nothing names
        them."""
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
        """Returns how many rows of the tail the next range takes, or 0 if that is unknown without more rows."""
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
        """Removes the first rows of the tail and returns them."""
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
            await self._write(rows, _return_ref(ref))
            self._done.append(ref)
            return
        if len(self._writing) == self._width:
            await self._writing.pop(0)
        naming = loop.create_task(plain(self._name(rows)))
        self._done.append(naming)
        self._writing.append(loop.create_task(plain(self._write(rows, naming))))


async def _return_ref(ref: RangeRef) -> RangeRef:
    return ref


class _Window(NamedTuple):
    """Rows of a stretch that may end the next range."""

    at: int  # rows of the tail before the stretch
    paths: pa.StringArray
    low: int
    high: int
    ends: Indices | None  # only these rows may end it

    @property
    def paths_to_hash(self) -> int:
        return self.high - self.low if self.ends is None else len(self.ends)

    def first(self, cut: RangeCut) -> int:
        """Returns the number of the first row of the tail that ends the range, or -1 if none of these does."""
        if self.ends is not None:
            found, start = cut.first_of(self.paths, self.ends), self.at
        else:
            found, start = cut.first(self.paths[self.low : self.high]), self.at + self.low
        return found if found < 0 else start + found
