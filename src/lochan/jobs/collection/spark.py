"""Garbage collection on Spark. The driver holds the commits of the state, counts, and the names of parts.

    trees ──▶ ranges, each once ──▶ files that entries name ──▶ marks of a shard, its listing ──▶ parts of the list
    └───────────────────── tasks ──────────────────────┘ shuffle └──────────── tasks ─────────┘  └─ names: driver ─┘

A sweep marks in the same way, and compares with the parts instead of a listing. Then tasks delete, a part each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pyarrow as pa

from lochan.engines.spark.executors import ship
from lochan.engines.spark.progress import Listener
from lochan.formats.collection_events import AliasNames
from lochan.formats.plan_list import ListPart
from lochan.jobs.collection import tasks
from lochan.jobs.collection.shards import bounds_of, shard_count
from lochan.jobs.collection.tasks import CollectionTarget
from lochan.jobs.messages import error_of
from lochan.jobs.tasks import on_spark, run_on_bytes
from lochan.store.open import StoreLocation
from lochan.versioning.bodies.aliases import table_of_spans
from lochan.versioning.collection.engine import CollectedFiles, SweptFiles
from lochan.versioning.collection.marks import CollectionLook, live_below
from lochan.versioning.collection.roots import Roots
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAMPLED_MAX = 32  # ranges
_SAMPLED_SHARE = 20  # one in so many
_TREES_PER_TASK = 16
_RANGES_PER_TASK = 4

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
    ) -> None:
        self._spark = spark
        self._repository = repository
        self._place = place.for_others()
        self._tag = tag
        self._listener = listener

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        return await self._on_spark(
            partial(collect, self._spark, self._target(look), await self._marked(look), look, write)
        )

    async def still_named(self, look: CollectionLook, parts: tuple[ListPart, ...]) -> int:
        if not parts:
            return 0
        return await self._on_spark(
            partial(still_named, self._spark, self._target(look), await self._marked(look), look, parts)
        )

    async def delete(self, repository: str, parts: tuple[ListPart, ...]) -> SweptFiles:
        target = CollectionTarget(self._place, CollectionLook(repository, 0, 0, Roots(), _NO_ALIASES))
        return await self._on_spark(partial(delete, self._spark, target, parts)) if parts else SweptFiles()

    def _target(self, look: CollectionLook) -> CollectionTarget:
        return CollectionTarget(self._place, look._replace(roots=Roots(folders=look.roots.folders), expired=()))

    async def _marked(self, look: CollectionLook) -> pa.Array:
        """What the state itself names."""
        aliases = (await self._repository.places.load(look.aliases)).table
        blocks = live_below(table_of_spans(look.roots.blocks), aliases, look.repository)
        return pa.concat_arrays([blocks, pa.array(sorted(look.roots.files), pa.string())])

    async def _on_spark(self, work: Callable[[], T]) -> T:
        about = f"gc {self._repository.repository.name}"
        return await on_spark(self._spark, work, tag=self._tag, about=about, listener=self._listener)


def collect(
    spark: SparkSession, target: CollectionTarget, marked: pa.Array, look: CollectionLook, write: bool
) -> CollectedFiles:
    """Calls into the JVM, as all functions below."""
    ship(spark)
    files = _files(spark, target, look)
    try:
        bounds = _bounds(spark, target, look, files)
        marks = _marks(spark, target, marked, look, bounds, files)
        shards = len(bounds) + 1
        results = _results(marks, shards, partial(tasks.collect_shard, target, bounds, write))
    finally:
        files.unpersist()
    return tasks.decode_shards(results)


def still_named(
    spark: SparkSession,
    target: CollectionTarget,
    marked: pa.Array,
    look: CollectionLook,
    parts: tuple[ListPart, ...],
) -> int:
    ship(spark)
    bounds = tuple(part.last for part in parts[:-1])
    files = _files(spark, target, look._replace(expired=()))
    try:
        marks = _marks(spark, target, marked, look, bounds, files)
        results = _results(marks, len(parts), partial(tasks.check_part, target, parts))
    finally:
        files.unpersist()
    return sum(msgspec.msgpack.decode(data, type=int) for data in results)


def delete(spark: SparkSession, target: CollectionTarget, parts: tuple[ListPart, ...]) -> SweptFiles:
    befores = ("", *(part.last for part in parts[:-1]))
    work = [msgspec.msgpack.encode(each) for each in zip(parts, befores, strict=True)]
    done = [
        msgspec.msgpack.decode(data, type=tuple[int, int])
        for data in run_on_bytes(spark, partial(tasks.delete_parts, target), work)
    ]
    return SweptFiles(sum(files for files, _ in done), sum(size for _, size in done))


# --- frames ----------------------------------------------------------------------------------------------------------
def _files(spark: SparkSession, target: CollectionTarget, look: CollectionLook) -> DataFrame:
    """FILE_SCHEMA: every file of metadata that has to be read, once. It is small, and kept."""
    from pyspark.sql import functions

    live = {tree.file: tree for tree in look.roots.trees}
    refs = [(tree, True) for tree in live.values()]
    refs += [(tree, False) for tree in {tree.file: tree for tree in look.expired}.values() if tree.file not in live]
    rows = tasks.file_rows((tree.file, tasks.TREE, msgspec.msgpack.encode(tree), 0, alive) for tree, alive in refs)
    trees = _spread(spark, rows, _TREES_PER_TASK)
    named = trees.mapInArrow(partial(tasks.read_trees, target), tasks.SPARK_FILES)
    runs = tasks.file_rows(
        (run.file, tasks.RUN, msgspec.msgpack.encode(run), run.count, True) for run in look.roots.runs
    )
    named = named.unionByName(spark.createDataFrame(pa.Table.from_batches([runs]), tasks.SPARK_FILES))
    firsts = [functions.first(name).alias(name) for name in ("kind", "ref", "entries")]
    once = named.groupBy("file").agg(*firsts, functions.max("live").alias("live"))
    return once.select("file", "kind", "ref", "entries", "live").persist()


def _bounds(spark: SparkSession, target: CollectionTarget, look: CollectionLook, files: DataFrame) -> tuple[str, ...]:
    parallelism = _parallelism(spark)
    try:
        [counted] = files.selectExpr("count(*) as files", "coalesce(sum(entries), 0) as entries").toArrow().to_pylist()
        ranges = files.where(f"kind = '{tasks.RANGE}' and live")
        few = min(_SAMPLED_MAX, max(2, counted["files"] // _SAMPLED_SHARE))
        some = ranges.orderBy("file").limit(few)  # names begin with hashes
        sample = some.mapInArrow(partial(tasks.sample_files, target), "path string").toArrow()["path"].to_pylist()
    except Exception as error:  # whatever a JVM comes up with
        raise error_of(error) from error
    return bounds_of(sample, look.cut, shard_count(counted["entries"], parallelism))


def _marks(
    spark: SparkSession,
    target: CollectionTarget,
    marked: pa.Array,
    look: CollectionLook,
    bounds: tuple[str, ...],
    files: DataFrame,
) -> DataFrame:
    """MARK_SCHEMA, and a row without a path for each shard, so that none is left out."""
    empty = pa.RecordBatch.from_arrays(
        [
            pa.array(range(len(bounds) + 1), pa.int32()),
            pa.nulls(len(bounds) + 1, pa.string()),
            pa.array([True] * (len(bounds) + 1)),
            pa.nulls(len(bounds) + 1, pa.string()),
        ],
        schema=tasks.MARK_SCHEMA,
    )
    known = pa.Table.from_batches([empty, tasks.mark_rows(marked, bounds)])
    marks = spark.createDataFrame(known, tasks.SPARK_MARKS)
    count = max(_parallelism(spark), files.count() // _RANGES_PER_TASK)
    spread = files.repartition(min(count, 10_000), "file")
    return marks.unionByName(spread.mapInArrow(partial(tasks.mark_files, target, bounds), tasks.SPARK_MARKS))


def _results(marks: DataFrame, count: int, work: Work) -> list[bytes]:
    """One of each shard."""
    try:
        table = marks.repartitionById(count, "shard").mapInArrow(work, "result binary").toArrow()
    except Exception as error:  # whatever a JVM comes up with
        raise error_of(error) from error
    found: list[bytes] = table["result"].to_pylist()
    return found


def _spread(spark: SparkSession, rows: pa.RecordBatch, per_task: int) -> DataFrame:
    frame = spark.createDataFrame(pa.Table.from_batches([rows]), tasks.SPARK_FILES)
    return frame.repartition(max(1, min(10_000, -(-rows.num_rows // per_task))))


def _parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the session says."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # a Connect server does not say
        return int(spark.conf.get("spark.default.parallelism", None) or 8)
