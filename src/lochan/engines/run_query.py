"""Runs a query, from its text to its result, on the engine that fits it.

If the query ends with `load`, its rows become one commit of a pool, and the result describes the commit.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from lochan.clock import Clock
from lochan.engines.choice import SPARK, engine_of_query
from lochan.engines.duckdb.files import gone_error
from lochan.engines.duckdb.limits import STANDARD, Limits, cancelled_error, out_of_time
from lochan.engines.duckdb.run import Run, WorkFolders, start
from lochan.engines.query_context import QueryContext
from lochan.engines.result import Result, Stats
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, listener_of, tell_of
from lochan.errors import Gone, Invalid, Refused
from lochan.formats.record import Actor
from lochan.pools.kinds import INT, OBJECT, STRING
from lochan.query import ast
from lochan.query.checkpoint import check_with
from lochan.query.output.columns import Column
from lochan.query.prepare import Prepared, prepare
from lochan.query.sources.catalog import EVERYTHING, Permits
from lochan.query.sources.resolve import NoteRead
from lochan.versioning.lineage import current, trace
from lochan.versioning.repositories import POOL

if TYPE_CHECKING:
    from lochan.engines.spark.run import SparkRun


NOBODY = Actor("", "", "")


def _always() -> bool:
    return True


class RunOptions(NamedTuple):
    """The options of a query."""

    current: str = ""  # the pool of a query that names none: `pool` or `pool@branch`
    engine: str = "auto"
    limits: Limits = STANDARD
    go_on: bool = False  # whether the query continues without data objects that are gone, with a warning
    actor: Actor | None = None  # required by a query that ends in `load`
    spark: SparkPlace = ANY_SPARK
    watch: Listener | None = None  # called with the progress of Spark
    permits: Permits = EVERYTHING  # the sources that the user may read
    ref: str = ""  # the ref of sources that name none
    reads_only: bool = False  # whether a query that would change a pool is refused
    alive: Callable[[], bool] = _always  # called while the query is compiled; False cancels it
    note: NoteRead | None = None  # called with the repository, ref and path of each source before it is read


class _Limit:
    """The time limit of compiling a query, which nothing can interrupt."""

    def __init__(self, clock: Clock, options: RunOptions) -> None:
        self._clock = clock
        self._options = options
        self._until = None if options.limits.seconds is None else clock.boot() + options.limits.seconds

    def __call__(self) -> None:
        if not self._options.alive():
            raise cancelled_error()
        if self._until is not None and self._clock.boot() > self._until:
            raise out_of_time(self._options.limits)


async def prepare_query(at: QueryContext, text: str, options: RunOptions, work: WorkFolders) -> Prepared:
    """Prepares a query. Raises QueryError. The caller must close its `opening`."""
    return await prepare(
        at.catalog,
        text,
        snapshots=at.snapshots,
        now=at.clock.wall(),
        current=options.current,
        read_files=work.reader(options.limits),
        permits=options.permits,
        ref=options.ref,
        note=options.note,
    )


async def run_query(at: QueryContext, text: str, options: RunOptions) -> Result:
    """Runs a query. Raises QueryError, Gone, Refused. The rows are read when the result is iterated."""
    if "load" not in text:  # otherwise it may end in a load, whose commit names what the query has read
        return await _run_query(at, text, options)
    with trace(current()):
        return await _run_query(at, text, options)


async def _run_query(at: QueryContext, text: str, options: RunOptions) -> Result:
    started = at.clock.boot()
    try:
        plan, engine, run = await _begin(at, text, options)
    except Gone:
        # Bytes may have moved since the query looked them up, and been collected at their old place. No row was
        # returned yet, so it looks them up once more.
        plan, engine, run = await _begin(at, text, options)
    result = _result(at, plan, engine, run, started)
    if plan.plan.load is None:
        return result
    return await _load_result(at, plan.plan.load, result, options.actor)


async def _begin(at: QueryContext, text: str, options: RunOptions) -> tuple[Prepared, str, Run | SparkRun]:
    work = WorkFolders()
    try:
        with check_with(_Limit(at.clock, options)):
            plan = await prepare_query(at, text, options, work)
            try:
                if options.reads_only and plan.plan.load is not None:
                    raise Refused("this query would change a pool, but may only read", hint="leave out `load`")
                engine = engine_of_query(options.engine, plan, options.spark, options.limits)
                return plan, engine, await _start(at, plan, engine, options, work)
            finally:
                await plan.opening.close()
    except RecursionError:
        work.close()
        raise Invalid("the query is nested too deeply", hint="compute it in several steps") from None
    except BaseException:
        work.close()
        raise


async def _start(
    at: QueryContext, plan: Prepared, engine: str, options: RunOptions, work: WorkFolders
) -> Run | SparkRun:
    if engine != SPARK:
        return await start(plan, at.files, work, options.limits, go_on=options.go_on, instances=at.instances)
    about = pool_names(plan)
    if at.tell is None:
        return await _start_spark(at, plan, options, work, about, options.watch)
    record = at.tell("query", about, options.actor or NOBODY, options.spark.where)
    record.log(_reads(planned_stats(plan, engine)))
    try:
        run = await _start_spark(at, plan, options, work, about, listener_of(record, options.watch))
    except BaseException as error:
        record.failed(error)
        raise
    return tell_of(run, record)


async def _start_spark(
    at: QueryContext, plan: Prepared, options: RunOptions, work: WorkFolders, about: str, listener: Listener | None
) -> SparkRun:
    from lochan.engines.spark.run import LakeFiles, start

    lake_files = LakeFiles(at.files, at.place, at.store, at.verified)
    return await start(
        plan,
        lake_files,
        work,
        options.limits,
        options.spark,
        about=f"query of {about}",
        go_on=options.go_on,
        listener=listener,
    )


def _result(at: QueryContext, plan: Prepared, engine: str, run: Run | SparkRun, started: float) -> Result:
    stats = planned_stats(plan, engine)
    stats.seconds = at.clock.boot() - started
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
    """Returns the names of the pools that it reads."""
    owners = {owner.pool for pool in plan.opening.pools for owner in pool.snapshot.owners}
    return ", ".join(sorted(owners))


def planned_stats(plan: Prepared, engine: str) -> Stats:
    """Returns the statistics that are known before anything is read."""
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


# --- `load` at the end of a query ------------------------------------------------------------------------------------
_FIELDS = {"commit": STRING, "pool": STRING, "branch": STRING, "rows": INT}


async def _load_result(at: QueryContext, into: ast.Load, result: Result, actor: Actor | None) -> Result:
    """Loads the rows and returns the result that describes the commit. Raises Refused, or NothingToDo if the query has
    no rows."""
    from lochan.engines.duckdb.load.load import LoaderOptions, load
    from lochan.ingest.streams import Input
    from lochan.versioning.heads.moves import CommitMessage

    if actor is None:
        raise Refused("this query would change a pool, but has no actor", hint="leave out `load`")
    repository = await at.catalog.open_repository(into.pool)
    try:
        about = repository.repository
        if about.kind != POOL:
            raise Refused(f"{into.pool!r} is not a pool: it holds files", hint="`lochan create POOL` makes a pool")
        branch = into.branch or about.default_branch

        def opened() -> IO[bytes]:
            return io.BufferedReader(_Pieces(result.ndjson()))

        message = CommitMessage(into.message)
        loaded = await load(
            repository, branch, [Input("the query", opened)], message, actor=actor, options=LoaderOptions("ndjson")
        )
    finally:
        result.close()
        await repository.close()
    return _summary(result, [loaded.commit, about.name, branch, loaded.rows])


def _summary(done: Result, values: list[str | int]) -> Result:
    members = tuple((name, Column({kind: name})) for name, kind in _FIELDS.items())
    batch = pa.RecordBatch.from_pylist([dict(zip(_FIELDS, values, strict=True))])
    return done.replaced(Column({OBJECT: ""}, members=members), batch)


class _Pieces(io.RawIOBase):
    """A file of bytes that are produced while they are read."""

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
