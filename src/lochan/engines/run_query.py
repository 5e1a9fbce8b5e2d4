"""A query from its text to its result, on the engine that fits it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from lochan.clock import Clock
from lochan.engines.choice import SPARK, engine_of_query
from lochan.engines.duckdb.files import gone_error
from lochan.engines.duckdb.limits import STANDARD, Limits, cancelled, out_of_time
from lochan.engines.duckdb.run import Run, WorkFolders, start
from lochan.engines.query_context import QueryContext
from lochan.engines.result import Result, Stats
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener
from lochan.engines.spark.run_report import listener_of, tell_of
from lochan.errors import Invalid, Refused
from lochan.formats.record import Actor
from lochan.pools.shape import INT, OBJECT, STRING
from lochan.query import ast
from lochan.query.checkpoint import checked_by
from lochan.query.output.columns import Column
from lochan.query.prepare import Prepared, prepare
from lochan.query.sources.permissions import EVERYTHING, Permits
from lochan.versioning.head_moves import CommitMessage
from lochan.versioning.repositories import POOL

if TYPE_CHECKING:
    from lochan.engines.spark.run import SparkRun


# `load` at the end of a query: its rows become one commit of a pool, and the commit is the result.


_FIELDS = {"commit": STRING, "pool": STRING, "branch": STRING, "rows": INT}


async def load_result(at: QueryContext, into: ast.Load, result: Result, actor: Actor | None) -> Result:
    """Raises Refused, and NothingToDo where the query has no rows."""
    from lochan.engines.duckdb.load.load import LoaderOptions, load
    from lochan.ingest.streams import Input

    if actor is None:
        raise Refused("this query would change a pool, and nobody says who asks", hint="leave out `load`")
    repository = await at.catalog.open_repository(into.pool)
    try:
        about = repository.repository
        if about.kind != POOL:
            raise Refused(f"{into.pool!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")
        branch = into.branch or about.default_branch

        def opened() -> IO[bytes]:
            return io.BufferedReader(_Pieces(result.ndjson()))

        said = CommitMessage(into.message)
        loaded = await load(
            repository, branch, [Input("the query", opened)], said, actor=actor, how=LoaderOptions("ndjson")
        )
    finally:
        result.close()
        await repository.close()
    return _told(result, [loaded.commit, about.name, branch, loaded.rows])


def _told(done: Result, values: list[str | int]) -> Result:
    members = tuple((name, Column({kind: name})) for name, kind in _FIELDS.items())
    batch = pa.RecordBatch.from_pylist([dict(zip(_FIELDS, values, strict=True))])
    return done.replaced(Column({OBJECT: ""}, members=members), batch)


class _Pieces(io.RawIOBase):
    """Bytes that are made while they are read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        room = memoryview(into)
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


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


async def prepare_query(at: QueryContext, text: str, how: RunOptions, work: WorkFolders) -> Prepared:
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


async def run_query(at: QueryContext, text: str, how: RunOptions) -> Result:
    """Raises QueryError, Gone, Refused; the rows are read when the result is gone through."""
    begun = at.clock.boot()
    work = WorkFolders()
    try:
        with checked_by(_Limit(at.clock, how)):
            plan = await prepare_query(at, text, how, work)
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
    from lochan.engines.run_query import load_result  # few queries end so, and all that writes is behind it

    return await load_result(at, plan.plan.load, result, how.actor)


async def _start(at: QueryContext, plan: Prepared, engine: str, how: RunOptions, work: WorkFolders) -> Run | SparkRun:
    if engine != SPARK:
        return await start(plan, at.files, work, how.limits, go_on=how.go_on, instances=at.instances)
    about = pool_names(plan)
    if at.tell is None:
        return await _start_spark(at, plan, how, work, about, how.watch)
    record = at.tell("query", about, how.actor or NOBODY, how.spark.where)
    record.log(_reads(planned_stats(plan, engine)))
    try:
        run = await _start_spark(at, plan, how, work, about, listener_of(record, how.watch))
    except BaseException as error:
        record.failed(error)
        raise
    return tell_of(run, record)


async def _start_spark(
    at: QueryContext, plan: Prepared, how: RunOptions, work: WorkFolders, about: str, listener: Listener | None
) -> SparkRun:
    from lochan.engines.spark.run import LakeFiles, start

    lying = LakeFiles(at.files, at.place, at.store, at.verified)
    return await start(
        plan, lying, work, how.limits, how.spark, about=f"query of {about}", go_on=how.go_on, listener=listener
    )


def _result(at: QueryContext, plan: Prepared, engine: str, run: Run | SparkRun, begun: float) -> Result:
    stats = planned_stats(plan, engine)
    stats.seconds = at.clock.boot() - begun
    return Result(
        plan.plan.row,
        run.batches,
        stats,
        warnings=[*plan.plan.warnings, *(gone_error(each).message for each in run.missing)],
        cancel=run.cancel,
        close=run.close,
        boot=at.clock.boot,
    )


def _reads(stats: Stats) -> str:
    return f"reads {stats.objects_read:,} of {stats.objects:,} objects, {stats.bytes_read:,} of {stats.bytes:,} bytes"


def pool_names(plan: Prepared) -> str:
    """Of the pools that it reads."""
    owners = {owner.pool for pool in plan.opening.pools for owner in pool.snapshot.owners}
    return ", ".join(sorted(owners))


def planned_stats(plan: Prepared, engine: str) -> Stats:
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
