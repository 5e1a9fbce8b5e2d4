"""A compaction from the plan to the commit, on the engine that fits. It lands as the embedded one does: in one commit,
on any head that still holds all that it read.

On Spark, groups of objects that one object holds are merged by a task each, larger ones by many:

    objects of a group ──▶ rows, each with its part of the key ──▶ the rows of one part, in order ──▶ one object
    └──────────────── tasks ─────────────────────┘   shuffle   └──────────────── tasks ─────────────────┘

Rows stay as they lie in the files, column by column under one layout, so that each keeps its shape. Parts are cut by a
sample of the keys, and do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from lochan.engines.choice import SPARK, engine_for
from lochan.engines.compact import (
    EVERYTHING,
    CompactRequest,
    PoolCompactionPlan,
    PoolCompactionResult,
    carry_out,
    compacted_first,
    landed,
    planned,
    rows_of,
)
from lochan.engines.compact import merged as merged_round_by_round
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.rewrite import RewriteResult
from lochan.engines.spark.package import ship
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener
from lochan.engines.spark.run_report import listener_of
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.jobs.compaction_tasks import (
    SAMPLE_SCHEMA,
    MergeGroup,
    MergeTask,
    Merging,
    cut,
    groups_of,
    merge_alone,
    merge_part,
    sample,
    split,
)
from lochan.jobs.load.shuffle import SPARK_SCHEMA
from lochan.jobs.messages import TaskMessage, error_of, together
from lochan.jobs.record import recorded
from lochan.jobs.target import TASK_MEMORY_BYTES, PoolTarget
from lochan.jobs.tasks import frame_of, on_spark, run_tasks
from lochan.store.open import StoreLocation
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import hold_key, once
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class CompactJobOptions(NamedTuple):
    engine: str = "auto"
    limits: Limits = STANDARD
    spark: SparkPlace = ANY_SPARK
    watch: Listener | None = None  # is told how far Spark is


DEFAULT_COMPACT = CompactJobOptions()


@once(compacted_first)
async def compact(
    repository: OpenRepository,
    branch: str,
    files: Files,
    place: StoreLocation,
    wish: CompactRequest = EVERYTHING,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    how: CompactJobOptions = DEFAULT_COMPACT,
) -> PoolCompactionResult:
    """Raises NothingToDo, ConcurrentCommit, NotFound for an id that is not there, and Refused where Spark does not
    start. `place` is where the lake is."""
    plan = await planned(repository, branch, wish)
    if engine_for(how.engine, plan.size_bytes, how.spark, how.limits) != SPARK:
        return await carry_out(repository, branch, plan, files, said, actor=actor, limits=how.limits)
    from lochan.engines.spark.session import session_at

    about = f"{repository.repository.name}@{branch}"
    with recorded(repository, "compact", about, actor=actor, where=how.spark.where) as run:
        await hold_key(repository, actor)
        run.log(f"{sum(len(group.paths) for group in plan.groups)} objects in {len(plan.groups)} groups")
        spark = session_at(how.spark, how.limits)
        target = _target(repository, place, plan)
        tag = f"lochan-compact-{run.id}"
        listener = listener_of(run, how.watch)

        async def merge(plan: PoolCompactionPlan) -> RewriteResult:
            work = partial(merged, spark, target, plan)
            messages = await on_spark(spark, work, tag=tag, about=f"compact {about}", listener=listener)
            made = together(messages)
            run.wrote(made.put_bytes)
            return RewriteResult(removed_by(plan), list(made.entries))

        swap = await merged_round_by_round(plan, merge)
        run.rows(rows_of(swap.added))
        return await landed(repository, branch, swap, said, actor=actor)


def removed_by(plan: PoolCompactionPlan) -> list[Entry]:
    return [entry for group in groups_of(plan) for entry in group.entries]


def merged(spark: SparkSession, target: PoolTarget, plan: PoolCompactionPlan) -> list[TaskMessage]:
    """The objects that stand for those of the plan, which nobody knows of yet."""
    ship(spark)
    groups = [*groups_of(plan)]
    groups = _cut_up(spark, target, groups) if any(not group.alone for group in groups) else groups
    merging = _merging(target, groups)
    alone = [MergeTask(number, group.entries) for number, group in enumerate(groups) if group.alone]
    messages = run_tasks(frame_of(spark, _encoded(alone)), partial(merge_alone, merging)) if alone else []
    tasks = split(groups)
    if tasks:
        parts = max(group.first + len(group.bounds) for group in groups if not group.alone) + 1
        rows = frame_of(spark, _encoded(tasks)).mapInArrow(partial(cut, merging), SPARK_SCHEMA)
        messages += run_tasks(rows.repartitionById(parts, "part"), partial(merge_part, merging))
    return messages


def _cut_up(spark: SparkSession, target: PoolTarget, groups: Sequence[MergeGroup]) -> list[MergeGroup]:
    """With the bounds between their parts."""
    tasks = split(groups)
    looking = partial(sample, _merging(target, groups))
    try:
        found = frame_of(spark, _encoded(tasks)).mapInArrow(looking, SAMPLE_SCHEMA).toArrow()
    except Exception as error:  # whatever a JVM comes up with
        raise error_of(error) from error
    return [*numbered(groups, found)]


def numbered(groups: Sequence[MergeGroup], sampled: pa.Table) -> Iterator[MergeGroup]:
    """Each with its bounds, and the parts of all of them with numbers of their own."""
    first = 0
    numbers = sampled["number"].to_numpy()
    for number, group in enumerate(groups):
        if group.alone:
            yield group
            continue
        own = sampled.filter(pa.array(numbers == number))
        bounds = bounds_of(own["key"].to_pylist(), own["weight"].to_pylist(), group.pieces)
        yield replace(group, bounds=bounds, first=first)
        first += len(bounds) + 1


def bounds_of(keys: Sequence[bytes], weights: Sequence[float], count: int) -> tuple[bytes, ...]:
    """That cut the rows which these keys stand for into so many parts of about the same size; into fewer where one key
    has too many rows."""
    if not keys:
        return ()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    upto = np.cumsum([weights[number] for number in order])
    at = np.searchsorted(upto, upto[-1] * np.arange(1, count) / count, side="right")
    least = keys[order[0]]  # nothing lies below it
    return tuple(sorted({keys[order[min(int(number), len(keys) - 1)]] for number in at} - {least}))


def _merging(target: PoolTarget, groups: Sequence[MergeGroup]) -> Merging:
    return Merging(target, tuple(replace(group, entries=()) for group in groups))


def _target(repository: OpenRepository, place: StoreLocation, plan: PoolCompactionPlan) -> PoolTarget:
    limits = Limits(memory_bytes=TASK_MEMORY_BYTES, threads=1)
    return PoolTarget(place.for_others(), repository.repository.id, plan.snapshot.settings, plan.mint, limits)


def _encoded(tasks: Sequence[MergeTask]) -> list[bytes]:
    return [msgspec.msgpack.encode(task) for task in tasks]
