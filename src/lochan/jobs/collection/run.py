"""Plans and sweeps a garbage collection, and dedupes, on the engine that fits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from lochan.engines.choice import SPARK, engine_for
from lochan.engines.duckdb.limits import STANDARD as STANDARD_LIMITS
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, listener_of, master_of
from lochan.formats.metarange import TreeRef
from lochan.formats.record import Actor
from lochan.jobs.record import record_job
from lochan.store.open import StoreLocation
from lochan.versioning.collection import dedupe as dedupes
from lochan.versioning.collection import plan as plans
from lochan.versioning.collection import sweep as sweeps
from lochan.versioning.collection.dedupe import DedupeEngine, EmbeddedDedupe
from lochan.versioning.collection.embedded import EmbeddedCollection
from lochan.versioning.collection.engine import CollectionEngine
from lochan.versioning.collection.equal_blocks import DuplicateBlocks
from lochan.versioning.collection.plan import STANDARD, CollectionLimits, CollectionPlan
from lochan.versioning.collection.sweep import SweepReport
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENTRY_BYTES = 100  # bytes of Parquet for an entry in a range
_LISTED_BYTES = 100  # bytes of Parquet for a file in a list
_HEADS_MAX = 100  # heads that are read to estimate how much there is to read
_SPILL = 1  # the embedded engine writes nothing to the disk, and holds eight bytes for each file


class CollectJobOptions(NamedTuple):
    engine: str = "auto"
    limits: Limits = STANDARD_LIMITS
    spark: SparkPlace = ANY_SPARK
    watch: Listener | None = None  # receives the progress
    session: SparkSession | None = None  # a running session; None for one at `spark`


DEFAULT_COLLECT = CollectJobOptions()


async def preview(
    repository: OpenRepository,
    lake: str,
    place: StoreLocation,
    limits: CollectionLimits = STANDARD,
    *,
    actor: Actor,
    options: CollectJobOptions = DEFAULT_COLLECT,
) -> CollectionPlan:
    size = await metadata_bytes(repository)
    async with _engine(repository, place, size, "gc preview", actor, options) as engine:
        return await plans.preview(repository, lake, limits, engine=engine)


async def plan(
    repository: OpenRepository,
    lake: str,
    place: StoreLocation,
    limits: CollectionLimits = STANDARD,
    *,
    actor: Actor,
    options: CollectJobOptions = DEFAULT_COLLECT,
) -> CollectionPlan:
    """Makes a plan on the engine that fits. Raises what `versioning.collection.plan` raises, and Refused if Spark does
    not start."""
    await plans.check_next(repository, limits)
    size = await metadata_bytes(repository)
    async with _engine(repository, place, size, "gc plan", actor, options) as engine:
        return await plans.plan(repository, lake, limits, actor=actor, engine=engine)


async def sweep(
    repository: OpenRepository,
    lake: str,
    place: StoreLocation,
    limits: CollectionLimits = STANDARD,
    *,
    actor: Actor,
    options: CollectJobOptions = DEFAULT_COLLECT,
) -> SweepReport:
    """Sweeps the plan on the engine that fits. Raises what `versioning.collection.sweep` raises, and Refused if Spark
    does not start."""
    _, head = await sweeps.check_next(repository, lake, limits)
    size = await metadata_bytes(repository) + head.dead_files * _LISTED_BYTES
    async with _engine(repository, place, size, "gc sweep", actor, options) as engine:
        return await sweeps.sweep(repository, lake, limits, actor=actor, engine=engine)


async def metadata_bytes(repository: OpenRepository) -> int:
    """Estimates how much must be read to mark what is alive: the ranges of the newest heads, each once."""
    refs, _ = await repository.refs()
    heads = sorted({branch.head for branch in refs.branches()}, key=lambda id: -refs.recorded(id).date)[:_HEADS_MAX]
    commits = [refs.recorded(id) for id in heads]
    return _ENTRY_BYTES * await _entries(repository, (TreeRef(each.tree, each.tree_file) for each in commits))


async def _entries(repository: OpenRepository, trees: Iterable[TreeRef]) -> int:
    counts: dict[str, int] = {}
    for tree in trees:
        counts.update((each.file, each.count) for each in (await repository.trees.open(tree)).ranges)
    return sum(counts.values())


async def dedupe_report(
    repository: OpenRepository,
    place: StoreLocation,
    *,
    actor: Actor,
    options: CollectJobOptions = DEFAULT_COLLECT,
) -> DuplicateBlocks:
    """Returns what could be saved. Raises what `versioning.collection.dedupe` raises, and Refused if Spark does not
    start."""
    size = await metadata_bytes(repository)
    async with _dedupe_engine(repository, place, size, "dedupe report", actor, options) as engine:
        return await dedupes.dedupe_report(repository, engine=engine)


async def dedupe(
    repository: OpenRepository,
    place: StoreLocation,
    *,
    actor: Actor,
    options: CollectJobOptions = DEFAULT_COLLECT,
) -> DuplicateBlocks:
    """Aliases equal blocks. Raises the same as `dedupe_report`."""
    size = await metadata_bytes(repository)
    async with _dedupe_engine(repository, place, size, "dedupe", actor, options) as engine:
        return await dedupes.dedupe(repository, actor=actor, engine=engine)


@asynccontextmanager
async def _engine(
    repository: OpenRepository, place: StoreLocation, size: int, kind: str, actor: Actor, options: CollectJobOptions
) -> AsyncIterator[CollectionEngine]:
    async with _on_spark(repository, size, kind, actor, options) as spark:
        if spark is None:
            yield EmbeddedCollection(repository, options.watch)
            return
        from lochan.jobs.collection.spark import SparkCollection

        yield SparkCollection(spark.session, repository, place, tag=spark.tag, listener=spark.listener)


@asynccontextmanager
async def _dedupe_engine(
    repository: OpenRepository, place: StoreLocation, size: int, kind: str, actor: Actor, options: CollectJobOptions
) -> AsyncIterator[DedupeEngine]:
    async with _on_spark(repository, size, kind, actor, options) as spark:
        if spark is None:
            yield EmbeddedDedupe(repository, options.watch)
            return
        from lochan.jobs.collection.spark_dedupe import SparkDedupe

        yield SparkDedupe(spark.session, repository, place, tag=spark.tag, listener=spark.listener)


class _SparkJob(NamedTuple):
    session: SparkSession
    tag: str
    listener: Listener | None


@asynccontextmanager
async def _on_spark(
    repository: OpenRepository, size: int, kind: str, actor: Actor, options: CollectJobOptions
) -> AsyncIterator[_SparkJob | None]:
    """Yields the job on Spark, which `lochan jobs` lists, or None if the embedded engine fits."""
    if engine_for(options.engine, size, options.spark, options.limits, spill=_SPILL) != SPARK:
        yield None
        return
    from lochan.engines.spark.session import session_at

    spark = options.session or session_at(options.spark, options.limits)
    where = options.spark.where if options.session is None else master_of(options.session)
    with record_job(repository, kind, repository.repository.name, actor=actor, where=where) as report:
        yield _SparkJob(spark, f"lochan-gc-{report.id}", listener_of(report, options.watch))
