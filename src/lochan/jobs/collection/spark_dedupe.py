"""Dedupe on Spark. The driver holds the names of metadata, and the blocks that exist more than once; all others stay in
the tasks.

    ranges ──▶ blocks, where they are ──▶ those of a shard, its listing ──▶ those of a SHA-256 ──▶ equal ones: driver
    └────────── tasks ───────────────┘ shuffle └─────── tasks ────────┘ shuffle └── tasks ───┘

Then tasks read the blocks that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from lochan.engines.spark.executors import ship
from lochan.engines.spark.progress import Listener
from lochan.formats.entry import Block
from lochan.jobs.collection import dedupe_tasks
from lochan.jobs.collection.dedupe_tasks import EqualMessage, block_rows
from lochan.jobs.collection.mark_rows import SPARK_ROWS, empty_rows
from lochan.jobs.collection.metadata_files import sample, work_of
from lochan.jobs.collection.shards import bounds_of, shard_count
from lochan.jobs.collection.spark import SparkCollection, parallelism
from lochan.jobs.collection.tasks import CollectionTarget
from lochan.jobs.messages import error_of
from lochan.jobs.tasks import frame_of, run_on_bytes
from lochan.store.open import StoreLocation
from lochan.versioning.collection.equal_blocks import KNOWN_SCHEMA, EqualBlocks
from lochan.versioning.collection.live_blocks import placed_blocks, table_of_blocks
from lochan.versioning.collection.marks import CollectionLook
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_BYTES = 256 << 20  # bytes of bodies that one task reads
_TASK_BLOCKS = 10_000


class SparkDedupe:
    def __init__(
        self,
        spark: SparkSession,
        repository: OpenRepository,
        place: StoreLocation,
        *,
        tag: str,
        listener: Listener | None = None,
    ) -> None:
        self._spark = spark
        self._repository = repository
        self._place = place.for_others()
        self._metadata = SparkCollection(spark, repository, place, tag=tag, listener=listener, about="dedupe")

    async def find(self) -> EqualBlocks:
        repository, id = self._repository, self._repository.repository.id
        refs, read_at = await repository.refs()
        names, roots = refs.collection.alias_names, RootScan(id).look(refs)
        look = CollectionLook(id, read_at, read_at, roots, names)
        aliases = await repository.places.load(names)
        files = await self._metadata.files(look)
        sampled = await sample(repository.trees, files, id)
        bounds = bounds_of(sampled.paths, read_at, shard_count(sampled.files, parallelism(self._spark)))
        held = block_rows(placed_blocks(table_of_blocks(roots.blocks), aliases.table), bounds, id)
        rows = pa.Table.from_batches([empty_rows(len(bounds) + 1), held])
        read = [msgspec.msgpack.encode(each) for each in work_of(files)]
        find = partial(find_equal, self._spark, self._metadata.target(look), bounds, rows, read)
        found = await self._metadata.run(find)
        equal = [pa.ipc.open_stream(each.equal).read_all() for each in found]
        blocks, size = sum(each.blocks for each in found), sum(each.size_bytes for each in found)
        every = pa.concat_tables([KNOWN_SCHEMA.empty_table(), *equal])
        return EqualBlocks(read_at, names, aliases, blocks, size, every)

    async def check(self, blocks: list[Block]) -> list[bool]:
        tasks = [msgspec.msgpack.encode(each) for each in enumerate(split_blocks(blocks))]
        work = partial(run_on_bytes, self._spark, partial(dedupe_tasks.check_task, self._place), tasks)
        done = dict(
            msgspec.msgpack.decode(each, type=tuple[int, list[bool]]) for each in await self._metadata.run(work)
        )
        return [right for number in range(len(tasks)) for right in done[number]]


def find_equal(
    spark: SparkSession, target: CollectionTarget, bounds: Sequence[str], rows: pa.Table, read: Sequence[bytes]
) -> list[EqualMessage]:
    """Returns a message for each group of SHA-256s. It calls into the JVM."""
    shards = len(bounds) + 1
    try:
        ship(spark)
        frame = spark.createDataFrame(rows, SPARK_ROWS)
        if read:
            reading = partial(dedupe_tasks.read_blocks, target, bounds)
            frame = frame.unionByName(frame_of(spark, read).mapInArrow(reading, SPARK_ROWS))
        listing = partial(dedupe_tasks.list_shard, target, bounds)
        blocks = frame.repartitionById(shards, "shard").mapInArrow(listing, SPARK_ROWS)
        grouped = blocks.repartitionById(shards, "shard")
        table = grouped.mapInArrow(dedupe_tasks.find_equal, "result binary").toArrow()
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error
    return [msgspec.msgpack.decode(data, type=EqualMessage) for data in table["result"].to_pylist()]


def split_blocks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yields lots of as many blocks as one task reads."""
    held: list[Block] = []
    size = 0
    for block in blocks:
        if held and (size + block.size > _TASK_BYTES or len(held) == _TASK_BLOCKS):
            yield held
            held, size = [], 0
        held.append(block)
        size += block.size
    if held:
        yield held
