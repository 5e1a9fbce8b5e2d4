"""The work of executors for dedupe: they read ranges, list, compare blocks, and read those that are kept.

Every function may run twice for the same rows: nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor, partition_of_task
from lochan.formats.entry import Block
from lochan.formats.plan_list import PLAN_SCHEMA
from lochan.ids import Ids
from lochan.jobs.collection.mark_rows import encode, read_marks, sharded_rows
from lochan.jobs.collection.metadata_files import MetadataFile
from lochan.jobs.collection.shards import shards_of, span_of
from lochan.jobs.collection.tasks import CollectionTarget, EntryReader, alias_rows, result_row, run_task
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.collection.dedupe import check_blocks
from lochan.versioning.collection.equal_blocks import KNOWN_SCHEMA, equal_blocks, known_blocks
from lochan.versioning.collection.listing import ListingSpan, list_files
from lochan.versioning.collection.live_blocks import BLOCK_SCHEMA, block_table, distinct_blocks, placed_blocks


class EqualMessage(msgspec.Struct, frozen=True, array_like=True):
    """The result of a task about the blocks of its SHA-256s."""

    blocks: int  # the number of all blocks
    size_bytes: int
    equal: bytes  # KNOWN_SCHEMA, as Arrow: blocks whose bytes exist more than once


def block_rows(blocks: pa.Table, bounds: Sequence[str], repository: str) -> pa.RecordBatch:
    """Returns blocks (BLOCK_SCHEMA) as rows for the shards of their files. Those outside the repository are left
    out."""
    prefix = f"{repository}/"
    own = distinct_blocks([blocks.filter(pc.starts_with(blocks["address"], prefix))])
    paths = pc.utf8_slice_codeunits(own["address"], len(prefix))
    return sharded_rows(own.combine_chunks(), shards_of(paths, bounds).to_numpy())


def read_blocks(
    target: CollectionTarget, bounds: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Reads ranges and runs. Yields the blocks of their entries, at their current addresses."""
    store = target.open()
    reader, aliases = EntryReader(store, target.repository), alias_rows(store, target.look)
    for batch in batches:
        for task in batch.column("task").to_pylist():
            files = msgspec.msgpack.decode(task, type=tuple[MetadataFile, ...])
            named = [block_table(pc.list_flatten(rows.column("blocks"))) for _, rows in reader.read(files)]
            blocks = pa.concat_tables([BLOCK_SCHEMA.empty_table(), *named]).combine_chunks()
            yield block_rows(placed_blocks(blocks, aliases), bounds, target.repository)


def list_shard(
    target: CollectionTarget, bounds: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields the blocks of one shard, with the sizes of their files, as rows for the shards of their SHA-256. There are
    as many shards of these."""
    shard = partition_of_task()
    placed = distinct_blocks(list(read_marks(batches)))
    files = run_task(_list_blocks(target.open(), target.repository, span_of(shard, bounds)))
    candidates = known_blocks(placed, files, target.repository)
    firsts = pl.Series(candidates["sha256"]).bin.slice(0, 4).to_list() if len(candidates) else []
    numbers = np.array([int.from_bytes(each, "big") % (len(bounds) + 1) for each in firsts], np.int64)
    yield sharded_rows(candidates.combine_chunks(), numbers)


def find_equal(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Finds equal blocks. It takes all blocks that have one of some SHA-256s, and yields those whose bytes exist more
    than once."""
    candidates = pa.concat_tables([KNOWN_SCHEMA.empty_table(), *read_marks(batches)])
    size = pc.sum(candidates["size"]).as_py() or 0
    yield result_row(EqualMessage(len(candidates), size, encode(equal_blocks(candidates))))


def check_task(place: StoreLocation, tasks: Iterable[bytes]) -> Iterator[bytes]:
    """Checks for each block whether its bytes are intact."""
    store = open_on_executor(place, SystemClock(), Ids())
    for task in tasks:
        number, blocks = msgspec.msgpack.decode(task, type=tuple[int, list[Block]])
        yield msgspec.msgpack.encode((number, run_task(check_blocks(store, blocks))))


async def _list_blocks(store: Store, repository: str, span: ListingSpan) -> pa.Table:
    """Returns the files that may be deduped, as a table of PLAN_SCHEMA."""
    found = [each.filter(pc.equal(each["kind"], "data")) async for each in list_files(store, repository, span)]
    return pa.concat_tables([PLAN_SCHEMA.empty_table(), *found])
