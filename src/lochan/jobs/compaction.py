"""Compacts a branch of a pool on the engine that fits: plans the compaction, and writes its rows again, in one commit.

It lands on any head that still holds all objects that it read. If some of them were deleted or compacted meanwhile, it
is refused (S6). A second compaction finds nothing to do.

On Spark, groups of objects that one object holds are merged by a task each, larger ones by many:

    objects of a group ──▶ rows, each with its part of the key ──▶ the rows of one part, in order ──▶ one object
    └──────────────── tasks ─────────────────────┘   shuffle   └──────────────── tasks ─────────────────┘

Rows stay as they are in the files, column by column under one layout, so that each keeps its shape. Parts are cut by a
sample of the keys, and do not overlap."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from lochan.engines.choice import SPARK, engine_for
from lochan.engines.duckdb.data_objects import entries_at
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.rewrite import RewriteResult, rewrite_objects
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.executors import ship, task_limits
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, listener_of, master_of
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.jobs.compaction_plan import EVERYTHING, CompactRequest, PoolCompactionPlan, plan_compaction
from lochan.jobs.compaction_tasks import (
    SAMPLE_SCHEMA,
    MergeGroup,
    MergeTask,
    PartForms,
    alone,
    cut,
    groups_of,
    merge_alone,
    merge_part,
    sample,
    split,
)
from lochan.jobs.job_entries import all_entries
from lochan.jobs.load.shuffle import SPARK_SCHEMA
from lochan.jobs.messages import PoolTarget, TaskMessage, error_of
from lochan.jobs.record import JobReporter, record_job
from lochan.jobs.tasks import frame_of, on_spark, run_tasks
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import Swap, committed_objects, replace_objects
from lochan.pools.facts import from_metadata
from lochan.store.open import StoreLocation
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import hold_key, once
from lochan.versioning.job_hold import held_if_long, held_open
from lochan.versioning.open_repository import OpenRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class CompactJobOptions(NamedTuple):
    engine: str = "auto"
    limits: Limits = STANDARD
    spark: SparkPlace = ANY_SPARK
    watch: Listener | None = None  # receives the progress of Spark
    session: SparkSession | None = None  # a running session; None for one at `spark`


DEFAULT_COMPACT = CompactJobOptions()


class PoolCompactionResult(NamedTuple):
    head: str
    before: int  # the number of objects before
    after: int
    rows: int
    bytes_before: int
    bytes_after: int


# Makes new objects of each group of the plan. They are in no commit yet.
Merge = Callable[[PoolCompactionPlan], Awaitable[RewriteResult]]


async def earlier_compaction(repository: OpenRepository, before: CarriedOut) -> PoolCompactionResult:
    done = await committed_objects(repository, before)
    sizes = _size(done.removed), _size(done.added)
    return PoolCompactionResult(done.commit, len(done.removed), len(done.added), done.rows_added, *sizes)


@once(earlier_compaction)
async def compact(
    repository: OpenRepository,
    branch: str,
    at: QueryContext,
    request: CompactRequest = EVERYTHING,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    options: CompactJobOptions = DEFAULT_COMPACT,
) -> PoolCompactionResult:
    """Merges objects of the branch. Raises NothingToDo, ConcurrentCommit, NotFound for an unknown id, and Refused if
    Spark does not start."""
    plan = await plan_compaction(repository, branch, request)
    if engine_for(options.engine, plan.size_bytes, options.spark, options.limits) != SPARK:
        async with held_if_long(repository, "compact", branch, plan.mint, actor=actor) as hold:
            swap = await merge_groups(plan, partial(_merge_here, repository, at, options.limits))
            return await land_swap(repository, branch, swap, message, actor=actor, closes=await hold.closes())
    about = f"{repository.repository.name}@{branch}"
    where = options.spark.where if options.session is None else master_of(options.session)
    with record_job(repository, "compact", about, actor=actor, where=where) as report:
        await hold_key(repository, actor)
        report.log(f"{sum(len(group.paths) for group in plan.groups)} objects in {len(plan.groups)} groups")
        target = _target(repository, at.place, plan)
        async with held_open(repository, report.id, plan.mint, branch, actor=actor) as closes:
            swap = await merge_groups(plan, _merge_on_spark(repository, target, about, options, report))
            report.rows(_rows(swap.added))
            return await land_swap(repository, branch, swap, message, actor=actor, closes=closes)


async def merge_groups(plan: PoolCompactionPlan, merge: Merge) -> Swap:
    """Merges round by round, until nothing is left to merge. An object that one round made and the next one merged
    again is in no commit, and is left to garbage collection."""
    removed: dict[str, Entry] = {}
    added: dict[str, Entry] = {}
    while plan.groups:
        done = await merge(plan)
        again = {entry.path for entry in done.removed if added.pop(entry.path, None) is not None}
        removed.update((entry.path, entry) for entry in done.removed if entry.path not in again)
        added.update((entry.path, entry) for entry in done.added)
        if again and len(done.added) >= len(done.removed):  # otherwise it might never end
            break
        plan = plan.after(done)
    return Swap([*removed.values()], [*added.values()])


async def land_swap(
    repository: OpenRepository,
    branch: str,
    swap: Swap,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    closes: tuple[str, ...] = (),
) -> PoolCompactionResult:
    """Commits the swap. Raises ConcurrentCommit if one of the replaced objects has gone meanwhile."""
    head = await replace_objects(repository, branch, swap, message, actor=actor, closes=closes)
    removed, added = swap.removed, swap.added
    return PoolCompactionResult(head, len(removed), len(added), _rows(added), _size(removed), _size(added))


async def _merge_here(
    repository: OpenRepository, at: QueryContext, limits: Limits, plan: PoolCompactionPlan
) -> RewriteResult:
    done = RewriteResult([], [])
    for indices in plan.indices():
        removed, added = await rewrite_objects(repository, plan.snapshot, indices, at.files, plan.mint, limits)
        done.removed.extend(removed)
        done.added.extend(added)
    return done


def _rows(entries: Sequence[Entry]) -> int:
    return sum(from_metadata(entry.metadata, entry.path).rows for entry in entries)


def _size(entries: Sequence[Entry]) -> int:
    return sum(entry.size for entry in entries)


# --- on Spark --------------------------------------------------------------------------------------------------------
def _merge_on_spark(
    repository: OpenRepository, target: PoolTarget, about: str, options: CompactJobOptions, report: JobReporter
) -> Merge:
    from lochan.engines.spark.session import session_at

    spark = options.session or session_at(options.spark, options.limits)
    tag, listener = f"lochan-compact-{report.id}", listener_of(report, options.watch)

    async def merge(plan: PoolCompactionPlan) -> RewriteResult:
        work = partial(write_objects, spark, target, plan)
        messages = await on_spark(spark, work, tag=tag, about=f"compact {about}", listener=listener)
        report.wrote(sum(message.put_bytes for message in messages))
        return RewriteResult(removed_entries(plan), await all_entries(repository, messages))

    return merge


def removed_entries(plan: PoolCompactionPlan) -> list[Entry]:
    """Returns the entries of the plan without their facts, which the plan holds already."""
    return [
        msgspec.structs.replace(entry, metadata={})
        for indices in plan.indices()
        for entry in entries_at(plan.snapshot, indices)
    ]


def write_objects(spark: SparkSession, target: PoolTarget, plan: PoolCompactionPlan) -> list[TaskMessage]:
    """Writes the objects that replace those of the plan. They are in no commit yet."""
    ship(spark)
    target = replace(target, limits=task_limits(spark))
    groups = [*groups_of(plan)]
    groups = _cut_up(spark, target, groups) if any(not group.alone for group in groups) else groups
    whole, tasks = alone(groups), split(groups)
    messages = run_tasks(frame_of(spark, _encode(whole)), partial(merge_alone, target)) if whole else []
    if tasks:
        parts = max(group.first + len(group.bounds) for group in groups if not group.alone) + 1
        rows = frame_of(spark, _encode(tasks)).mapInArrow(partial(cut, target), SPARK_SCHEMA)
        work = partial(merge_part, target, PartForms.of(groups))
        messages += run_tasks(rows.repartitionById(parts, "part"), work)
    return messages


def _cut_up(spark: SparkSession, target: PoolTarget, groups: Sequence[MergeGroup]) -> list[MergeGroup]:
    """Returns the groups with the bounds between their parts."""
    tasks = split(groups)
    looking = partial(sample, target)
    try:
        found = frame_of(spark, _encode(tasks)).mapInArrow(looking, SAMPLE_SCHEMA).toArrow()
    except Exception as error:  # any error of the JVM
        raise error_of(error) from error
    return [*number_groups(groups, found)]


def number_groups(groups: Sequence[MergeGroup], sampled: pa.Table) -> Iterator[MergeGroup]:
    """Yields each group with its bounds, and numbers the parts of all groups consecutively."""
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
    """Returns bounds that cut the rows that these keys stand for into `count` parts of about the same size, or into
    fewer where one key has too many rows."""
    if not keys:
        return ()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    upto = np.cumsum([weights[number] for number in order])
    at = np.searchsorted(upto, upto[-1] * np.arange(1, count) / count, side="right")
    least = keys[order[0]]  # no key is less than it
    return tuple(sorted({keys[order[min(int(number), len(keys) - 1)]] for number in at} - {least}))


def _target(repository: OpenRepository, place: StoreLocation, plan: PoolCompactionPlan) -> PoolTarget:
    return PoolTarget(place.for_others(), repository.repository.id, plan.snapshot.settings, plan.mint)


def _encode(tasks: Sequence[MergeTask]) -> list[bytes]:
    return [msgspec.msgpack.encode(task) for task in tasks]
