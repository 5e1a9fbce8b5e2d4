"""Compares a listing of files with a commit's tree: what would have to change for the tree to be the same.

Both are in path order, so they are read side by side, one range of the tree at a time.
"""

from collections.abc import AsyncIterator, Callable
from os.path import commonprefix
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.tree.diff import ADDED, CHANGED, REMOVED
from lochan.tree.rows import locate, same_content, taken
from lochan.tree.tree import Tree
from lochan.versioning import bulk

Mask = npt.NDArray[np.bool_]
Same = Callable[[pa.RecordBatch, pa.RecordBatch], Mask]  # row by row, of entries at the same paths


class SubtreeChanges(NamedTuple):
    """Some of the changes, in path order."""

    changes: pa.Table  # RUN_SCHEMA
    kinds: pa.Array  # added, changed, removed
    before: pa.Array  # sizes in the tree; null for an added object


class SubtreeRequest(NamedTuple):
    prefix: str  # of all the paths
    same: Same = same_content
    remove: bool = False  # objects that the tree has under the prefix and the listing has not


def same_file(left: pa.RecordBatch, right: pa.RecordBatch) -> Mask:
    """Compares size and ETag, which is all that a listing shows."""
    same: Mask = np.ones(left.num_rows, np.bool_)
    for name in ("size", "etag"):
        same &= pc.equal(left.column(name), right.column(name)).to_numpy(zero_copy_only=False)
    return same


def common_prefix(prefixes: list[str]) -> str:
    return commonprefix(prefixes)  # noqa: RUF071 - letter by letter is intended


async def compare(tree: Tree, files: pa.Table, request: SubtreeRequest) -> AsyncIterator[SubtreeChanges]:
    """`files` is ENTRY_SCHEMA in path order. No part is empty."""
    done = 0
    paths = files["path"]
    async for batch in tree.scan(request.prefix):
        end = done + _count_to(paths.slice(done), EntryRows(batch).path(batch.num_rows - 1))
        part = _part(batch, as_batch(files.slice(done, end - done)), request)
        done = end
        if len(part.changes):
            yield part
    for rest in files.slice(done).to_batches():
        yield _added(pa.Table.from_batches([rest]))


def _count_to(paths: pa.ChunkedArray, last: bytes) -> int:
    """How many of the paths are not greater than `last`."""
    count = 0
    for chunk in paths.chunks:
        if not len(chunk):
            continue
        if chunk[-1].as_py().encode() > last:
            low, high = 0, len(chunk)
            while low < high:
                middle = (low + high) // 2
                if chunk[middle].as_py().encode() <= last:
                    low = middle + 1
                else:
                    high = middle
            return count + low
        count += len(chunk)
    return count


def _part(here: pa.RecordBatch, there: pa.RecordBatch, request: SubtreeRequest) -> SubtreeChanges:
    at, found = locate(here.column("path"), there.column("path"))
    both = np.flatnonzero(found)
    same = request.same(taken(here, at[both]), taken(there, both))
    kept = ~found
    kept[both[~same]] = True
    rows = np.flatnonzero(kept)
    alone = np.ones(here.num_rows, np.bool_)
    alone[at[both]] = False
    gone = np.flatnonzero(alone) if request.remove else np.zeros(0, np.int64)
    changes = pa.concat_tables(
        [
            bulk.puts(pa.Table.from_batches([taken(there, rows)])),
            bulk.tombstones(here.column("path").take(pa.array(gone))),
        ]
    )
    kinds = np.concatenate([np.where(found[rows], CHANGED, ADDED), np.full(len(gone), REMOVED)])
    sizes = here.column("size").to_numpy()
    before = np.concatenate([np.where(found[rows], sizes[np.minimum(at[rows], len(sizes) - 1)], -1), sizes[gone]])
    order = pc.sort_indices(changes["path"])
    known = pa.array(before, pa.int64(), mask=before < 0)
    return SubtreeChanges(changes.take(order), pa.array(kinds, pa.string()).take(order), known.take(order))


def _added(entries: pa.Table) -> SubtreeChanges:
    kinds = pa.repeat(pa.scalar(ADDED), len(entries))
    return SubtreeChanges(bulk.puts(entries).cast(RUN_SCHEMA), kinds, pa.nulls(len(entries), pa.int64()))
