"""A list of files outside the lake, in path order, however many there are. Tables of it come in any order; each is
sorted, and what does not fit into memory lies in one mapped file on this machine.

    table 1   ··a··d··|·····g··      for a span of paths, it yields the rows of all tables there, a piece at a
    table 2   ···c····|e··f····      time: of each table these lie side by side, so nothing else is read
"""

import os
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from itertools import accumulate, pairwise
from tempfile import mkstemp
from typing import NamedTuple, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_ahead
from lochan.errors import Invalid
from lochan.formats.run import ascends
from lochan.store.scratch import place
from lochan.store.threads import Threads
from lochan.versioning.bodies.listed_files import LIST_SCHEMA, LOCATED_SCHEMA, FileAddresses, as_entries

_AHEAD = 2  # pieces that are prepared ahead
PIECE = 1 << 16  # rows in one piece: 20 MB as entries

IN_MEMORY_BYTES_MAX = 128 << 20  # a list of a million files, or a little more


class FileList(Protocol):
    """A list of files in path order."""

    @property
    def count(self) -> int: ...

    def between(self, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
        """Yields the entries (ENTRY_SCHEMA) whose path is greater than `after` and not greater than `upto` (None means
        all), in pieces of at most `PIECE` rows, none of them empty. Raises Invalid for two files at one path."""


class MappedTables:
    """Tables that are written once and read at will. A few stay in memory; more of them go into a mapped file, which
    needs no name. Their maker closes this; tables that were taken from it stay valid."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._path = ""
        self.count = 0
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._path:
            os.unlink(self._path)  # noqa: PTH108

    def add(self, batch: pa.RecordBatch) -> None:
        self.count += batch.num_rows
        self._bytes += batch.nbytes
        if self._writer is None and self._bytes > IN_MEMORY_BYTES_MAX:
            self._spill()
        if self._writer is None:
            self._batches.append(batch)
        else:
            self._writer.write_batch(batch)

    def batches(self) -> list[pa.RecordBatch]:
        """Returns all tables, in the order in which they were added. Nothing can be added afterwards."""
        if self._writer is None:
            return self._batches
        self._writer.close()
        self._writer = None
        file = pa.ipc.open_file(pa.memory_map(self._path))
        return [file.get_batch(number) for number in range(file.num_record_batches)]

    def _spill(self) -> None:
        handle, self._path = mkstemp(prefix="lochan-import-", dir=place())
        os.close(handle)
        self._writer = pa.ipc.new_file(self._path, self.schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []


class ListedBatch(NamedTuple):
    files: pa.RecordBatch  # LIST_SCHEMA
    addresses: FileAddresses


class FileSpool(MappedTables):
    """Gathers tables of LIST_SCHEMA of one folder, in any order."""

    def __init__(self, addresses: FileAddresses) -> None:
        super().__init__(LIST_SCHEMA)
        self._addresses = addresses

    def add_files(self, files: pa.Table) -> None:
        """Adds files. Raises Invalid for two files at one path."""
        for start in range(0, len(files), PIECE):
            self.add(_in_order(files.slice(start, PIECE)))

    def listed(self) -> list[ListedBatch]:
        """Returns the batches, each in path order. Nothing can be added afterwards."""
        return [ListedBatch(batch, self._addresses) for batch in self.batches()]


class SortedFiles:
    """A `FileList` of batches that are each in path order."""

    def __init__(self, batches: Sequence[ListedBatch]) -> None:
        filled = [_Sorted(*batch) for batch in batches if batch.files.num_rows]
        self._batches = sorted(filled, key=lambda each: each.first)
        self._reach = list(accumulate((each.last for each in self._batches), max))
        self.count = sum(each.count for each in filled)
        self._threads = Threads()

    async def between(self, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
        async def entries(files: pa.Table) -> pa.Table:
            return await self._threads.run(as_entries, files)

        async with aclosing(map_ahead(entries, self.files_between(after, upto), _AHEAD)) as tables:
            async for table in tables:
                yield table

    def listed(self) -> Iterator[pa.Table]:
        """Yields all files, with the columns of LIST_SCHEMA, in no particular order."""
        return (pa.Table.from_batches([each.batch], LIST_SCHEMA) for each in self._batches)

    def files_between(self, after: str = "", upto: str | None = None) -> Iterator[pa.Table]:
        """Yields the same files as `between`, with the columns of LOCATED_SCHEMA alone."""
        low, high = after.encode(), None if upto is None else upto.encode()
        first = bisect_right(self._reach, low)  # no batch before it has a greater path
        found = []
        for batch in self._batches[first:]:
            if high is not None and batch.first > high:
                break
            slice = _Slice(batch, batch.behind(low), batch.count if high is None else batch.behind(high))
            if slice.rows:
                found.append(slice)
        return _pieces(found)


class _Sorted:
    """One batch in path order."""

    def __init__(self, batch: pa.RecordBatch, addresses: FileAddresses) -> None:
        self.batch = batch
        self.addresses = addresses
        self.count = batch.num_rows
        self.first, self.last = self.path(0), self.path(self.count - 1)

    def path(self, row: int) -> bytes:
        found: str = self.batch.column("path")[row].as_py()
        return found.encode()

    def located(self, start: int, stop: int) -> pa.Table:
        return self.addresses.located(pa.Table.from_batches([self.batch.slice(start, stop - start)], LIST_SCHEMA))

    def behind(self, path: bytes) -> int:
        """Returns how many rows have a path that is not greater than `path`."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.path(middle) <= path:
                low = middle + 1
            else:
                high = middle
        return low


class _Slice(NamedTuple):
    of: _Sorted
    start: int
    stop: int

    @property
    def rows(self) -> int:
        return self.stop - self.start

    def split(self, path: bytes) -> tuple["_Slice", "_Slice"]:
        at = min(max(self.of.behind(path), self.start), self.stop)
        return self._replace(stop=at), self._replace(start=at)


def _pieces(slices: list[_Slice]) -> Iterator[pa.Table]:
    """Yields the rows in path order. Slices that hold too much are split at a path in the middle of the longest one."""
    waiting = [slices] if slices else []
    while waiting:
        slices = sorted(waiting.pop(), key=lambda each: each.of.path(each.start))
        if all(one.of.path(one.stop - 1) < other.of.path(other.start) for one, other in pairwise(slices)):
            for each in slices:  # the slices do not overlap, as in most listings
                for start in range(each.start, each.stop, PIECE):
                    yield each.of.located(start, min(start + PIECE, each.stop))
            continue
        if sum(each.rows for each in slices) <= PIECE:
            yield _merge(slices)
            continue
        longest = max(slices, key=lambda each: each.rows)
        middle = longest.of.path((longest.start + longest.stop - 1) // 2)
        parts = [each.split(middle) for each in slices]
        waiting.append([right for _, right in parts if right.rows])
        waiting.append([left for left, _ in parts if left.rows])


def _merge(slices: list[_Slice]) -> pa.Table:
    table = pa.concat_tables([each.of.located(each.start, each.stop) for each in slices])
    return pa.Table.from_batches([_in_order(table)], LOCATED_SCHEMA)


def _in_order(files: pa.Table) -> pa.RecordBatch:
    """Returns the files in path order. Raises Invalid for two files at one path."""
    batch = files.combine_chunks().to_batches()[0]
    paths = batch.column("path")
    if ascends(paths):
        return batch
    batch = batch.take(pc.sort_indices(paths))
    paths = batch.column("path")
    if not ascends(paths):
        twice = paths[1:].filter(pc.equal(paths[:-1], paths[1:]))[0].as_py()
        raise Invalid(
            f"two files would become the object {twice!r}",
            hint="give the sources different prefixes; an inventory lists each file once",
        )
    return batch
