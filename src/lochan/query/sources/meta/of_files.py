"""`r@c:entries`, `r@c:ranges`, `r@b:staged`: what a repository's commit, or its branch, holds. By columns: a repository
may have millions of paths."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lochan.query.sources.in_memory import MOMENT
from lochan.query.sources.meta.rows import MetaRows
from lochan.tree.tree import Tree
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import staged_table

_ENTRY_FIELDS = ("path", "size", "checksum", "etag", "mtime", "content_type", "metadata", "address", "blocks")
_RANGE_FIELDS = ("id", "file", "min", "max", "count", "bytes")
_STAGED_FIELDS = ("path", "change", "before", "size")


async def entry_rows(tree: Tree) -> MetaRows:
    """In the order of the paths. `address` is where the first block of the bytes lies."""
    columns = [_entries(batch) async for batch in tree.scan()]
    return MetaRows(_ENTRY_FIELDS, table=pa.concat_tables(columns)) if columns else MetaRows(_ENTRY_FIELDS)


def _entries(batch: pa.RecordBatch) -> pa.Table:
    blocks = batch.column("blocks")
    counts = pc.list_value_length(blocks)
    first = pc.list_flatten(pc.list_slice(blocks, 0, 1)).field("address")
    addresses = pa.nulls(len(batch), pa.string()).fill_null("")
    some = pc.greater(counts, 0)
    return pa.table(
        {
            **{name: batch.column(name) for name in ("path", "size", "checksum", "etag")},
            "mtime": batch.column("mtime").cast(pa.timestamp("us")).cast(MOMENT),
            **{name: batch.column(name) for name in ("content_type", "metadata")},
            "address": pc.replace_with_mask(addresses, some, first),
            "blocks": counts.cast(pa.int64()),
        }
    )


def range_rows(tree: Tree) -> MetaRows:
    return MetaRows(
        _RANGE_FIELDS,
        [
            {
                "id": each.id,
                "file": each.file,
                "min": each.min_path,
                "max": each.max_path,
                "count": each.count,
                "bytes": each.bytes,
            }
            for each in tree.ranges
        ],
    )


async def staged_rows(repository: OpenRepository, branch: str) -> MetaRows:
    """What a commit of the branch would change now."""
    table = await staged_table(repository, branch, "")
    table = table.rename_columns(_STAGED_FIELDS)
    return MetaRows(_STAGED_FIELDS, table=table) if len(table) else MetaRows(_STAGED_FIELDS)
