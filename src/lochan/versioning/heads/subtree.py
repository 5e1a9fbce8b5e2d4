"""Compares a listing of files with a commit's tree: which changes would make the tree the same.

Both are in path order, so they are read side by side, one range of the tree at a time. A range whose id says that it
holds exactly the files of the listing is not opened: so a listing of millions in which little has changed costs
little."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from os.path import commonprefix
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.range import content_id
from lochan.tree.diff import ADDED, CHANGED, REMOVED
from lochan.tree.rows import PathSpan, encode_path, locate, same_content, span, take_rows
from lochan.tree.tree import Tree
from lochan.versioning import bulk
from lochan.versioning.bodies.file_list import FileList

Mask = npt.NDArray[np.bool_]
Same = Callable[[pa.RecordBatch, pa.RecordBatch], Mask]  # compares entries at the same paths, row by row


class SubtreeChanges(NamedTuple):
    """Some of the changes, in path order."""

    changes: pa.Table  # RUN_SCHEMA
    kinds: pa.Array  # added, changed, removed
    before: pa.Array  # sizes in the tree; null for an added object


class SubtreeRequest(NamedTuple):
    prefix: str  # the prefix of all the paths
    same: Same = same_content
    remove: bool = False  # whether objects are removed that the tree has under the prefix and the listing has not


def same_file(left: pa.RecordBatch, right: pa.RecordBatch) -> Mask:
    """Compares size and ETag, which is all that a listing shows."""
    same: Mask = np.ones(left.num_rows, np.bool_)
    for name in ("size", "etag"):
        same &= pc.equal(left.column(name), right.column(name)).to_numpy(zero_copy_only=False)
    return same


def common_prefix(prefixes: list[str]) -> str:
    return commonprefix(prefixes)  # noqa: RUF071 - letter by letter is intended


async def compare(tree: Tree, files: FileList, request: SubtreeRequest) -> AsyncIterator[SubtreeChanges]:
    """Yields the changes. No part is empty. A range is not opened if the files are all of its content, or if nothing
    can change in it."""
    within, done = span(request.prefix), ""
    for number, ref in enumerate(tree.ranges):
        if encode_path(ref.max_path) < within.low:
            continue
        if encode_path(ref.min_path) >= within.high:
            break
        range = _OpenRange(tree, number, within)
        async with aclosing(range.changes(files.between(done, ref.max_path), request)) as parts:
            async for part in parts:
                yield part
        done = ref.max_path
    async for rest in files.between(done, None):
        yield _added_changes(rest)


class _OpenRange:
    """A range of the tree while files are compared with it. It is read when the first row of it is needed."""

    def __init__(self, tree: Tree, number: int, within: PathSpan) -> None:
        self._tree = tree
        self._ref = tree.ranges[number]
        self._number = number
        self._within = within
        self._rows: EntryRows | None = None
        self._at = self._stop = 0  # the rows that are compared, and where the prefix ends

    async def changes(
        self, pieces: AsyncIterator[pa.Table], request: SubtreeRequest
    ) -> AsyncGenerator[SubtreeChanges, None]:
        """Yields the changes in this range. `pieces` are all files up to its end. They are held while they may be
        exactly what the range holds, which is one range at most."""
        held, count = list[pa.Table](), 0
        async for piece in pieces:
            held.append(piece)
            count += len(piece)
            while len(held) > 1 and (count > self._ref.count or self._rows is not None):
                part = await self._part(held[0], request)
                count -= len(held.pop(0))
                if len(part.changes):
                    yield part
        if not held and not request.remove:
            return
        if held and self._rows is None and self._is_same(pa.concat_tables(held)):
            return
        for files in held[:-1]:
            part = await self._part(files, request)
            if len(part.changes):
                yield part
        last = await self._rest(held[-1] if held else ENTRY_SCHEMA.empty_table(), request)
        if last is not None and len(last.changes):
            yield last

    async def _part(self, files: pa.Table, request: SubtreeRequest) -> SubtreeChanges:
        """Returns the changes of files that other files in the range follow."""
        rows = await self._open_rows()
        stop = min(rows.seek(encode_path(files["path"][-1].as_py()) + b"\0", self._at), self._stop)
        here = rows.batch.slice(self._at, stop - self._at)
        self._at = stop
        return _part(here, as_batch(files), request)

    async def _rest(self, files: pa.Table, request: SubtreeRequest) -> SubtreeChanges | None:
        """Returns the changes of the last files of the range, and of all its remaining rows."""
        rows = await self._open_rows()
        here = rows.batch.slice(self._at, self._stop - self._at)
        there = as_batch(files)
        return _part(here, there, request) if here.num_rows or there.num_rows else None

    def _is_same(self, files: pa.Table) -> bool:
        """Returns whether the range holds exactly these files. Its id shows that, without its file."""
        ref = self._ref
        inside = self._within.low <= encode_path(ref.min_path) and encode_path(ref.max_path) < self._within.high
        if not inside or len(files) != ref.count or pc.sum(files["size"]).as_py() != ref.bytes:
            return False
        return content_id(files) == ref.id

    async def _open_rows(self) -> EntryRows:
        if self._rows is None:
            async with aclosing(self._tree.batches([self._number])) as batches:
                async for batch in batches:
                    self._rows = EntryRows(batch)
            assert self._rows is not None
            self._at, self._stop = self._rows.seek(self._within.low), self._rows.seek(self._within.high)
        return self._rows


def _part(here: pa.RecordBatch, there: pa.RecordBatch, request: SubtreeRequest) -> SubtreeChanges:
    if not here.num_rows:
        return _added_changes(pa.Table.from_batches([there]))
    at, found = locate(here.column("path"), there.column("path"))
    both = np.flatnonzero(found)
    same = request.same(take_rows(here, at[both]), take_rows(there, both))
    kept = ~found
    kept[both[~same]] = True
    rows = np.flatnonzero(kept)
    alone = np.ones(here.num_rows, np.bool_)
    alone[at[both]] = False
    gone = np.flatnonzero(alone) if request.remove else np.zeros(0, np.int64)
    changes = pa.concat_tables(
        [
            bulk.puts(pa.Table.from_batches([take_rows(there, rows)])),
            bulk.tombstones(here.column("path").take(pa.array(gone))),
        ]
    )
    kinds = np.concatenate([np.where(found[rows], CHANGED, ADDED), np.full(len(gone), REMOVED)])
    sizes = here.column("size").to_numpy()
    before = np.concatenate([np.where(found[rows], sizes[np.minimum(at[rows], len(sizes) - 1)], -1), sizes[gone]])
    order = pc.sort_indices(changes["path"])
    sizes_before = pa.array(before, pa.int64(), mask=before < 0)
    return SubtreeChanges(changes.take(order), pa.array(kinds, pa.string()).take(order), sizes_before.take(order))


def _added_changes(entries: pa.Table) -> SubtreeChanges:
    kinds = pa.repeat(pa.scalar(ADDED), len(entries))
    return SubtreeChanges(bulk.puts(entries).cast(RUN_SCHEMA), kinds, pa.nulls(len(entries), pa.int64()))
