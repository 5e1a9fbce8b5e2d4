"""A query from its text to its result, on the engine that fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from lochan.clock import Clock
from lochan.engines.choice import SPARK, engine_of_query
from lochan.engines.duckdb.files import gone
from lochan.engines.duckdb.limits import STANDARD, Limits, cancelled, out_of_time
from lochan.engines.duckdb.run import Run, start
from lochan.engines.duckdb.work_folder import Workplace
from lochan.engines.query_context import QueryContext
from lochan.engines.result import Result, Stats
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, listener_of, tell_of
from lochan.errors import Invalid, Refused
from lochan.formats.record import Actor
from lochan.query.checkpoint import checked_by
from lochan.query.prepare import Prepared, prepare
from lochan.query.sources.permissions import EVERYTHING, Permits

if TYPE_CHECKING:
    from lochan.engines.spark.run import SparkRun

NOBODY = Actor("", "", "")


def _always() -> bool:
    return True


class RunOptions(NamedTuple):
    """What a query may be told."""

    current: str = ""  # the pool that is meant where the query names none: `pool` or `pool@branch`
    engine: str = "auto"
    limits: Limits = STANDARD
    go_on: bool = False  # without data objects that are gone, and say so
    actor: Actor | None = None  # who asks; a query that ends in `load` needs one
    spark: SparkPlace = ANY_SPARK
    watch: Listener | None = None  # is told how far Spark is
    permits: Permits = EVERYTHING  # what whoever asks may read
    ref: str = ""  # where sources are read that name none
    reads_only: bool = False  # a query that would change a pool is refused
    wanted: Callable[[], bool] = _always  # looked at while it is compiled: False gives it up


class _Limit:
    """Of time while a query is compiled, which nothing can interrupt."""

    def __init__(self, clock: Clock, how: RunOptions) -> None:
        self._clock = clock
        self._how = how
        self._until = None if how.limits.seconds is None else clock.boot() + how.limits.seconds

    def __call__(self) -> None:
        if not self._how.wanted():
            raise cancelled()
        if self._until is not None and self._clock.boot() > self._until:
            raise out_of_time(self._how.limits)


async def prepared(at: QueryContext, text: str, how: RunOptions, work: Workplace) -> Prepared:
    """Raises QueryError. To be closed by the caller (`opening`)."""
    return await prepare(
        at.catalog,
        text,
        snapshots=at.snapshots,
        now=at.clock.wall(),
        current=how.current,
        read_files=work.reader(how.limits),
        permits=how.permits,
        ref=how.ref,
    )


async def ask(at: QueryContext, text: str, how: RunOptions) -> Result:
    """Raises QueryError, Gone, Refused; the rows are read when the result is gone through."""
    begun = at.clock.boot()
    work = Workplace()
    try:
        with checked_by(_Limit(at.clock, how)):
            plan = await prepared(at, text, how, work)
            try:
                if how.reads_only and plan.plan.load is not None:
                    raise Refused("this query would change a pool, and may only read", hint="leave out `load`")
                engine = engine_of_query(how.engine, plan, how.spark, how.limits)
                run = await _start(at, plan, engine, how, work)
            finally:
                await plan.opening.close()
    except RecursionError:
        work.close()
        raise Invalid("the query is nested too deeply", hint="compute it in several steps") from None
    except BaseException:
        work.close()
        raise
    result = _result(at, plan, engine, run, begun)
    if plan.plan.load is None:
        return result
    from lochan.engines.query_load import load_result  # few queries end so, and all that writes is behind it

    return await load_result(at, plan.plan.load, result, how.actor)


async def _start(at: QueryContext, plan: Prepared, engine: str, how: RunOptions, work: Workplace) -> Run | SparkRun:
    if engine != SPARK:
        return await start(plan, at.files, work, how.limits, go_on=how.go_on, instances=at.instances)
    about = names_of(plan)
    if at.tell is None:
        return await _start_spark(at, plan, how, work, about, how.watch)
    record = at.tell("query", about, how.actor or NOBODY, how.spark.where)
    record.log(_reads(told(plan, engine)))
    try:
        run = await _start_spark(at, plan, how, work, about, listener_of(record, how.watch))
    except BaseException as error:
        record.failed(error)
        raise
    return tell_of(run, record)


async def _start_spark(
    at: QueryContext, plan: Prepared, how: RunOptions, work: Workplace, about: str, listener: Listener | None
) -> SparkRun:
    from lochan.engines.spark.run import LakeFiles, start

    lying = LakeFiles(at.files, at.place, at.store, at.verified)
    return await start(
        plan, lying, work, how.limits, how.spark, about=f"query of {about}", go_on=how.go_on, listener=listener
    )


def _result(at: QueryContext, plan: Prepared, engine: str, run: Run | SparkRun, begun: float) -> Result:
    stats = told(plan, engine)
    stats.seconds = at.clock.boot() - begun
    return Result(
        plan.plan.row,
        run.batches,
        stats,
        warnings=[*plan.plan.warnings, *(gone(each).message for each in run.missing)],
        cancel=run.cancel,
        close=run.close,
        boot=at.clock.boot,
    )


def _reads(stats: Stats) -> str:
    return f"reads {stats.objects_read:,} of {stats.objects:,} objects, {stats.bytes_read:,} of {stats.bytes:,} bytes"


def names_of(plan: Prepared) -> str:
    """Of the pools that it reads."""
    owners = {owner.pool for pool in plan.opening.pools for owner in pool.snapshot.owners}
    return ", ".join(sorted(owners))


def told(plan: Prepared, engine: str) -> Stats:
    """What is known before anything is read."""
    stats = Stats(engine)
    for pool in plan.opening.pools:
        snapshot, read = pool.snapshot, pool.objects
        stats.objects += snapshot.total.objects
        stats.bytes += snapshot.total.bytes
        stats.objects_read += len(read)
        stats.bytes_read += int(snapshot.sizes[read].sum())
        stats.rows_read += int(snapshot.rows[read].sum())
        stats.skipped += pool.skipped
    return stats
