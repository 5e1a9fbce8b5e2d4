"""The contents of a commit: `p@c:objects` and `p@c:partitions` of a pool; `r@c:entries` and `r@c:ranges` of a
repository, and `r@b:staged` of a branch."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.pool_settings import PoolSettings
from lochan.pools import keys
from lochan.pools.compaction import Partition, partitions
from lochan.pools.facts import ColumnFacts, Facts
from lochan.pools.keys import Instant, Span
from lochan.pools.kinds import TIME
from lochan.pools.objects import object_id
from lochan.pools.snapshot import DataObject, Indices, Snapshot
from lochan.pools.times import NATIVE, micros_of, render
from lochan.query.sources.in_memory import MOMENT
from lochan.query.sources.meta import MetaRows
from lochan.tree.tree import Tree
from lochan.versioning.bodies.block_places import BlockPlaces
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import staged_table

_OBJECT_FIELDS = ("id", "min", "max", "count", "size", "keyless", "address", "shapes", "columns")
_PARTITION_FIELDS = ("min", "max", "count", "size", "keyless", "objects")


def object_rows(snapshot: Snapshot, kept: Indices) -> MetaRows:
    """Returns the objects in the order of the key."""
    indices = kept.tolist()
    found = zip(snapshot.objects(indices), map(snapshot.facts, indices), strict=True)
    return MetaRows(_OBJECT_FIELDS, [_object(object, facts, snapshot.settings) for object, facts in found])


def _object(object: DataObject, facts: Facts, settings: PoolSettings) -> dict[str, Any]:
    return {
        "id": object.id,
        **_span(facts.key_min, facts.key_max, settings),
        "count": facts.rows,
        "size": object.size,
        "keyless": facts.keyless,
        "address": object.address,
        "shapes": len(facts.shapes),
        "columns": {".".join(column.path): _column(column) for column in facts.columns},
    }


def _column(column: ColumnFacts) -> dict[str, Any]:
    least, greatest = column.least, column.greatest
    if column.kind == TIME:
        least, greatest = (None if end is None else render(int(end), NATIVE) for end in (least, greatest))
    return {"kind": column.kind, "present": column.present, "min": least, "max": greatest}


def partition_rows(snapshot: Snapshot, kept: Indices) -> MetaRows:
    """Returns the maximal groups of objects whose spans overlap, in the order of the key."""
    found = partitions(snapshot.spans.take(pa.array(kept)), snapshot.settings)
    return MetaRows(_PARTITION_FIELDS, [_partition(each, snapshot.settings) for each in found])


def _partition(partition: Partition, settings: PoolSettings) -> dict[str, Any]:
    return {
        **_span(partition.low, partition.high, settings),
        "count": partition.rows,
        "size": partition.bytes,
        "keyless": partition.keyless,
        "objects": [object_id(path) for path in partition.paths],
    }


def _span(low: bytes, high: bytes, settings: PoolSettings) -> dict[str, Any]:
    """Returns the ends of a span. `min` is the smaller end, in whatever order the pool keeps its rows. They are left
    out if no row has the key, or if the span covers keys of several kinds."""
    if not low:
        return {}
    ends = zip(("min", "max"), keys.ends(Span(low, high), settings), strict=True)
    return {name: show_key(values) for name, values in ends if values and None not in values}


def show_key(values: list[Any]) -> Any:
    """Returns the value of a key of one part. For several parts it returns a list, in which times are texts."""
    if len(values) == 1:
        [value] = values
        return Instant(micros_of(value)) if isinstance(value, datetime) else value
    return [_text(each) if isinstance(each, datetime | Instant) else each for each in values]


def _text(moment: datetime | Instant) -> str:
    return render(moment.micros if isinstance(moment, Instant) else micros_of(moment), NATIVE)


# ── of repositories: by columns, for one may have millions of paths ──────────────────────────────────────────────────


_ENTRY_FIELDS = ("path", "size", "checksum", "etag", "mtime", "content_type", "metadata", "address", "blocks")
_RANGE_FIELDS = ("id", "file", "min", "max", "count", "bytes")
_STAGED_FIELDS = ("path", "change", "before", "size")


async def entry_rows(tree: Tree, places: BlockPlaces) -> MetaRows:
    """Returns the entries in the order of their paths. `address` is where the first block of the bytes is now."""
    placed = [await places.place_table(pa.Table.from_batches([batch])) async for batch in tree.scan()]
    columns = [_entries(batch) for table in placed for batch in table.to_batches()]
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
    """Returns what a commit of the branch would change now."""
    table = await staged_table(repository, branch, "")
    table = table.rename_columns(_STAGED_FIELDS)
    return MetaRows(_STAGED_FIELDS, table=table) if len(table) else MetaRows(_STAGED_FIELDS)
