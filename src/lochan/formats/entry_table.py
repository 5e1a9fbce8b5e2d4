"""Tables of entries, and how to read them: single rows in microseconds, or many at once by column.

A table of entries has ENTRY_SCHEMA. `EntryRows` reads Arrow's buffers through memoryviews, so looking up a path in a
memory-mapped file touches only the pages it needs and creates no Arrow scalar."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.formats.entry import ENTRY_SCHEMA, Block, Entry
from lochan.formats.entry_columns import EntryBrief, EntryColumns, buffer_of, offsets_of
from lochan.formats.run import changes_table
from lochan.formats.run import entries_of as entries_of  # the way back

# This is not made from a list: to convert one, Arrow imports pandas if it is installed, which takes as long as
# everything else.
NO_ENTRIES = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in ENTRY_SCHEMA], schema=ENTRY_SCHEMA)
_STRIDE = 16  # every sixteenth path is kept as bytes: 0.3 MB for a range, and four steps of a search remain
_WIDE_STRIDE = 64  # paths that `find` looks through at once: fewer marks stay in the processor's cache
_STRETCHES_MAX = 4  # ranges of folders whose names are cached
_MAPS = ("checksums", "headers", "metadata")
NAMES_MAX = 2_048  # the limit for the names in one range of folders, 0.3 MB; beyond it the older half is dropped


def table_of(entries: Iterable[Entry]) -> pa.Table:
    """Returns a table with one row for each entry, in path order. REQUIRES: no path occurs twice. It goes row by row,
    so it is meant for thousands of entries."""
    return changes_table(entries).select(ENTRY_SCHEMA.names)


def as_table(rows: pa.Table | pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """Returns the rows in one batch."""
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_arrays(
        [part.combine_chunks() if part.num_chunks != 1 else part.chunk(0) for part in table.combine_chunks().columns],
        schema=table.schema,
    )


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Joins the batches into one. REQUIRES: there is at least one."""
    return batches[0] if len(batches) == 1 else as_batch(pa.Table.from_batches(batches))


def canonical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the same entries with the names in each map sorted, as their identity requires. Raises Invalid if a name
    occurs twice."""
    for name in _MAPS:
        before = batch.column(name)
        after = _sorted_map(before, name)
        if after is not before:
            batch = batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), after)
    return batch


def map_items(maps: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """Returns all names and all values of a column, row after row."""
    if not len(maps):
        return maps.keys.slice(0, 0), maps.items.slice(0, 0)
    first, last = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return maps.keys.slice(first, last - first), maps.items.slice(first, last - first)


def map_values(maps: pa.MapArray, name: str) -> pa.Array:
    """Returns the value under this name in each row, or null where a row has none. If every row has one, this takes a
    tenth of the time of Arrow's own look-up."""
    names, values = map_items(maps)
    found = values.filter(pc.equal(names, name))
    return found if len(found) == len(maps) else pc.map_lookup(maps, name, "first")


def counts(lists: pa.ListArray | pa.MapArray) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Returns the number of items in each row."""
    return np.diff(lists.offsets.to_numpy()) if len(lists) else np.zeros(0, np.int32)


def _sorted_map(maps: pa.MapArray, name: str) -> pa.MapArray:
    keys, values = map_items(maps)
    if len(keys) < 2:
        return maps
    rows = np.repeat(np.arange(len(maps)), counts(maps))
    same_row = pa.array(rows[1:] == rows[:-1])
    if pc.any(pc.and_(same_row, pc.greater_equal(keys[:-1], keys[1:]))).as_py():
        order = pc.sort_indices(
            pa.table({"row": rows, "key": keys}), sort_keys=[("row", "ascending"), ("key", "ascending")]
        )
        keys, values = keys.take(order), values.take(order)
        if pc.any(pc.and_(same_row, pc.equal(keys[:-1], keys[1:]))).as_py():
            raise Invalid(f"an entry has a name twice in its {name}")
        offsets = pa.array(maps.offsets.to_numpy() - maps.offsets[0].as_py(), pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, values)
    return maps


class FolderNames:
    """A cache of the common prefixes (folders) of consecutive rows.

        rows    0            5           9     12
                a/1 … a/5    b/1 … b/4   c/…   ▏ the next would be here
        names   a/           b/          c/

    Finding one takes a search, a page has a thousand of them, and folders are listed again and again. The cache covers
    one range of rows without gaps. A listing that starts inside a folder starts the range there.
    """

    __slots__ = ("_names", "_rows")

    def __init__(self, row: int) -> None:
        self._names: list[str] = []
        self._rows = [row]  # the row at which each folder begins; the last one is the end

    @property
    def end(self) -> int:
        return self._rows[-1]

    def covers(self, row: int) -> bool:
        """Returns whether the cache covers this row, or can be extended from it."""
        return self._rows[0] <= row <= self._rows[-1]

    def add(self, name: str, end: int) -> None:
        """Adds the next folder, which ends before this row."""
        if len(self._names) >= NAMES_MAX:
            older = NAMES_MAX // 2
            del self._names[:older], self._rows[:older]
        self._names.append(name)
        self._rows.append(end)

    def read(self, row: int, stop: int, least: int, most: int) -> tuple[list[str], int]:
        """Returns at most `most` folders from the row on that end by `stop`, and the first row behind them. Returns
        none if the first folder has fewer than `least` rows left. REQUIRES: the cache covers the row."""
        rows = self._rows
        first = bisect_right(rows, row) - 1
        last = min(bisect_right(rows, stop) - 1, first + most)
        if last <= first or rows[first + 1] - row < least:
            return [], row
        return self._names[first:last], rows[last]


class EntryRows:
    """Reads single rows of a batch of entries whose paths ascend."""

    __slots__ = ("_entry_parts", "_folders", "_marks", "_path_data", "_path_offsets", "_wide_marks", "batch", "count")

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.count: int = batch.num_rows
        paths = batch.column("path")
        self._path_offsets, self._path_data = offsets_of(paths), buffer_of(paths, 2)
        self._marks: list[bytes] | None = None
        self._wide_marks: list[bytes] | None = None
        self._folders: dict[tuple[bytes, int, bytes, int], FolderNames] = {}
        self._entry_parts: EntryColumns | None = None

    def path(self, row: int) -> bytes:
        offsets = self._path_offsets
        return bytes(self._path_data[offsets[row] : offsets[row + 1]])

    def seek(self, key: bytes, low: int = 0) -> int:
        """Returns the first row from `low` on whose path is not below `key`."""
        mark = bisect_left(self._marked(), key)
        high = min(mark * _STRIDE, self.count)
        low = max(low, (mark - 1) * _STRIDE + 1, 0)
        offsets, data = self._path_offsets, self._path_data
        while low < high:
            middle = (low + high) >> 1
            if data[offsets[middle] : offsets[middle + 1]].tobytes() < key:
                low = middle + 1
            else:
                high = middle
        return low

    def folders(self, row: int, stop: int, skip: int, delimiter: bytes, least: int, most: int) -> tuple[list[str], int]:
        """Returns the common prefixes of the rows from `row` on, up to and including the first delimiter after `skip`
        bytes, and the first row behind them. It stops before a row without a delimiter, and before a folder with fewer
        than `least` rows, for which the caller has a cheaper way."""
        if row >= stop:
            return [], row
        start = self._path_offsets[row]
        key = self._path_data[start : start + skip].tobytes(), skip, delimiter, least
        known = self._folders.get(key)
        if known is None or not known.covers(row):
            if len(self._folders) >= _STRETCHES_MAX:
                self._folders.clear()
            known = self._folders[key] = FolderNames(row)
        names, row = known.read(row, stop, least, most)
        if row == known.end:
            more, row = self._further(known, stop, skip, delimiter, least, most - len(names))
            names += more
        return names, row

    def _further(
        self, known: FolderNames, stop: int, skip: int, delimiter: bytes, least: int, most: int
    ) -> tuple[list[str], int]:
        """Reads the folders behind the known ones, and adds them to the cache."""
        offsets, data, row = self._path_offsets, self._path_data, known.end
        width, found = len(delimiter), list[str]()
        while row < stop and len(found) < most:
            path = data[offsets[row] : offsets[row + 1]].tobytes()
            end = path.find(delimiter, skip)
            if end < 0:
                break
            folder = path[: end + width]
            next_row = self._end(folder, row)
            if next_row > stop or next_row - row < least:
                break
            found.append(name := folder.decode())
            known.add(name, next_row)
            row = next_row
        return found, row

    def _end(self, folder: bytes, row: int) -> int:
        """Returns the first row behind all rows in the folder of `row`."""
        offsets = self._path_offsets
        behind = folder[:-1] + bytes([folder[-1] + 1])
        mark = bisect_left(self._marked(), behind, row // _STRIDE)
        inside, high = max(row, (mark - 1) * _STRIDE), min(mark * _STRIDE, self.count)
        start = offsets[inside]
        # The folder's last occurrence is where its last row begins, unless a path contains it in the middle.
        start += self._path_data[start : offsets[high]].tobytes().rfind(folder)
        last = bisect_left(offsets, start, inside, high)
        return last + 1 if offsets[last] == start else self.seek(behind, row)

    def _marked(self) -> list[bytes]:
        if self._marks is None:
            self._marks = self.batch.column("path")[::_STRIDE].cast(pa.binary()).to_pylist()
        return self._marks

    def find(self, key: bytes) -> int:
        """Returns the row of this path, or -1. It searches the bytes of all paths between two marks at once, which
        takes a third of the time of a binary search that copies a path in each step."""
        if self._wide_marks is None:
            self._wide_marks = self._marked()[:: _WIDE_STRIDE // _STRIDE]
        mark = bisect_right(self._wide_marks, key)
        if not mark:
            return -1
        low, high = (mark - 1) * _WIDE_STRIDE, min(mark * _WIDE_STRIDE, self.count)
        offsets = self._path_offsets
        start, stop = offsets[low], offsets[high]
        at = self._path_data[start:stop].tobytes().find(key)
        if at < 0:
            return -1
        row = bisect_left(offsets, start + at, low, high)
        if offsets[row] == start + at and offsets[row + 1] == start + at + len(key):
            return row
        row = self.seek(key)  # the path was found inside another path, or across two
        return row if row < self.count and self.path(row) == key else -1

    def entry(self, row: int) -> Entry:
        return self._parts().entry(row)

    def brief(self, row: int) -> EntryBrief | None:
        """Returns the few fields of an entry, or None if it has more fields than these, and must be read completely."""
        return self._parts().brief(row)

    def block(self, row: int) -> Block | None:
        """Returns the only block of the entry, or None if it has none or several."""
        return self._parts().block(row)

    def _parts(self) -> EntryColumns:
        if self._entry_parts is None:
            self._entry_parts = EntryColumns(self.batch)
        return self._entry_parts
