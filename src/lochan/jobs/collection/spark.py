"""Garbage collection on Spark. The driver holds the commits of the state, the names of trees, ranges and parts, and
counts.

    trees ──▶ ranges, each once ──▶ files that entries name ──▶ marks of a shard, its listing ──▶ parts of the list
    └─ driver, or many: tasks ─┘    └────── tasks ────────┘ shuffle └────────── tasks ────────┘   └─ names: driver ─┘

A sweep marks in the same way, and compares with the parts instead of a listing. Then tasks delete, a part each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
import pyarrow as pa

from lochan.engines.spark.executors import ship
from lochan.engines.spark.progress import Listener
from lochan.formats.collection_events import AliasNames
from lochan.formats.plan_list import ListPart
from lochan.jobs.collection import tasks
from lochan.jobs.collection.mark_rows import SPARK_ROWS, empty_rows, mark_rows, marks_of
from lochan.jobs.collection.metadata_files import (
    FILE_SCHEMA,
    SPARK_FILES,
    MetadataFile,
    file_rows,
    files_of,
    read_trees,
    runs_of,
    sample,
    trees_of,
    work_of,
)
from lochan.jobs.collection.shards import bounds_of, shard_count
from lochan.jobs.collection.tasks import CollectionTarget
from lochan.jobs.messages import error_of
from lochan.jobs.tasks import frame_of, on_spark, run_on_bytes
from lochan.store.open import StoreLocation
from lochan.versioning.bodies.aliases import table_of_spans
from lochan.versioning.collection.engine import CollectedFiles, SweptFiles
from lochan.versioning.collection.marks import CollectionLook, live_below
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TREES_HERE = 64  # trees that the driver reads itself, because a stage has a fixed cost
_TREES_PER_TASK = 16

_NO_ALIASES = AliasNames()
T = TypeVar("T")

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class SparkCollection:
    name = "spark"

    def __init__(
        self,
        spark: SparkSession,
        repository: OpenRepository,
        place: StoreLocation,
        *,
        tag: str,
        listener: Listener | None = None,
        about: str = "gc",
    ) -> None:
        self._about = about
        self._spark = spark
        self._repository = repository
        self._place = place.for_others()
        self._tag = tag
        self._listener = listener

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        files = await self.files(look)
        sampled = await sample(self._repository.trees, files, look.repository)
        bounds = bounds_of(sampled.paths, look.cut, shard_count(sampled.files, parallelism(self._spark)))
        marks = KnownMarks(await self._marked_files(look), files, bounds)
        return await self.run(partial(collect, self._spark, self.target(look), marks, write))

    async def still_named(self, look: CollectionLook, parts: tuple[ListPart, ...]) -> int:
        if not parts:
            return 0
        bounds = tuple(part.last for part in parts[:-1])
        marks = KnownMarks(await self._marked_files(look), await self.files(look._replace(expired=())), bounds)
        return await self.run(partial(still_named, self._spark, self.target(look), marks, parts))

    async def delete(self, repository: str, parts: tuple[ListPart, ...]) -> SweptFiles:
        target = CollectionTarget(self._place, CollectionLook(repository, 0, 0, Roots(), _NO_ALIASES))
        return await self.run(partial(delete, self._spark, target, parts)) if parts else SweptFiles()

    def target(self, look: CollectionLook) -> CollectionTarget:
        return CollectionTarget(self._place, look._replace(roots=Roots(folders=look.roots.folders), expired=()))

    async def _marked_files(self, look: CollectionLook) -> pa.Array:
        """Returns the files that the state itself names."""
        aliases = (await self._repository.places.load(look.aliases)).table
        blocks = live_below(table_of_spans(look.roots.blocks), aliases, look.repository)
        return pa.concat_arrays([blocks, pa.array(sorted(look.roots.files), pa.string())])

    async def files(self, look: CollectionLook) -> list[MetadataFile]:
        """Returns every file of metadata that must be read, once."""
        trees = trees_of(look)
        if len(trees) <= _TREES_HERE:
            found = await read_trees(self._repository.trees, trees)
        else:
            found = await self.run(partial(trees_on_spark, self._spark, self.target(look), trees))
        return [*found, *runs_of(look)]

    async def run(self, work: Callable[[], T]) -> T:
        about = f"{self._about} {self._repository.repository.name}"
        return await on_spark(self._spark, work, tag=self._tag, about=about, listener=self._listener)


class KnownMarks(NamedTuple):
    """The marks that are known to the driver before the ranges are read."""

    marked: pa.Array  # files that the state itself names
    files: list[MetadataFile]
    bounds: tuple[str, ...]  # the bounds of shards

    def rows(self) -> pa.Table:
        """Returns a table of ROW_SCHEMA with a row for each shard, and the rows of the marks."""
        names = [
            pa.array([each.file for each in self.files if each.live is live], pa.string()) for live in (True, False)
        ]
        marks = [marks_of(self.marked), marks_of(names[0]), marks_of(names[1], live=False)]
        return pa.Table.from_batches([empty_rows(len(self.bounds) + 1), mark_rows(marks, self.bounds)])


def collect(spark: SparkSession, target: CollectionTarget, marks: KnownMarks, write: bool) -> CollectedFiles:
    """Collects on Spark. It calls into the JVM, as all functions below do."""
    results = _of_shards(spark, target, marks, partial(tasks.collect_shard, target, marks.bounds, write))
    return tasks.decode_shards(results)


def still_named(spark: SparkSession, target: CollectionTarget, marks: KnownMarks, parts: tuple[ListPart, ...]) -> int:
    results = _of_shards(spark, target, marks, partial(tasks.check_part, target, parts))
    return sum(msgspec.msgpack.decode(data, type=int) for data in results)


def delete(spark: SparkSession, target: CollectionTarget, parts: tuple[ListPart, ...]) -> SweptFiles:
    befores = ("", *(part.last for part in parts[:-1]))
    work = [msgspec.msgpack.encode(each) for each in zip(parts, befores, strict=True)]
    done = [
        msgspec.msgpack.decode(data, type=tuple[int, int])
        for data in run_on_bytes(spark, partial(tasks.delete_parts, target), work)
    ]
    return SweptFiles(sum(files for files, _ in done), sum(size for _, size in done))


def trees_on_spark(spark: SparkSession, target: CollectionTarget, trees: list[MetadataFile]) -> list[MetadataFile]:
    from pyspark.sql import functions

    try:
        ship(spark)
        frame = spark.createDataFrame(pa.Table.from_batches([file_rows(trees)]), SPARK_FILES)
        named = frame.repartition(min(10_000, -(-len(trees) // _TREES_PER_TASK))).mapInArrow(
            partial(tasks.read_trees, target), SPARK_FILES
        )
        firsts = [functions.first(name).alias(name) for name in ("ref", "entries")]
        # A range may also be the base of a patch: of a base only the file is needed, of a range its entries too.
        once = named.groupBy("file", "kind").agg(*firsts, functions.max("live").alias("live"))
        return files_of(once.select(FILE_SCHEMA.names).toArrow())
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error


def _of_shards(spark: SparkSession, target: CollectionTarget, marks: KnownMarks, work: Work) -> list[bytes]:
    """Reads ranges and runs, and runs `work` on the marks of each shard. Returns a result for each."""
    read = [msgspec.msgpack.encode(each) for each in work_of(marks.files)]
    try:
        ship(spark)
        rows = spark.createDataFrame(marks.rows(), SPARK_ROWS)
        if read:
            marking = partial(tasks.mark_files, target, marks.bounds)
            rows = rows.unionByName(frame_of(spark, read).mapInArrow(marking, SPARK_ROWS))
        table = rows.repartitionById(len(marks.bounds) + 1, "shard").mapInArrow(work, "result binary").toArrow()
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error
    found: list[bytes] = table["result"].to_pylist()
    return found


def parallelism(spark: SparkSession) -> int:
    """Returns how many tasks run at once, as far as the session reports it."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # a Connect server does not report it
        return int(spark.conf.get("spark.default.parallelism", None) or 8)
