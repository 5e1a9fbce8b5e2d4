"""Loads files into a pool, on the engine that fits them. A new pool gets its name once its rows have landed, so that
input which is no rows leaves nothing behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.load_sources import LoadSource, Stream, inputs
from lochan.errors import Invalid, NotFound, Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions
    from lochan.engines.spark.place import SparkPlace
    from lochan.engines.spark.progress import Listener
    from lochan.formats.pool_settings import PoolSettings
    from lochan.formats.record import Actor
    from lochan.ingest.streams import Input
    from lochan.jobs.load.files import File
    from lochan.jobs.record import JobReporter
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str | None = None  # ndjson, json, csv, tsv, parquet, arrow, orc, avro, xml, lines; None: it is detected
    row_tag: str = ""  # of XML: the elements that are rows; empty for those right below the root
    on_error: str = "fail"  # what happens to input that is no row: fail, skip, or keep it as a row of its own
    unpacked_max_bytes: int | None = None  # how large a packed input may become; None for the standard
    create: bool = False  # make the pool if it does not exist, with a key that the rows suggest
    key: tuple[str, ...] = ()  # make it, sorted by this; an existing pool must be sorted by this
    times: tuple[str, ...] = ()  # of a new pool: fields whose texts are times


DEFAULT_LOAD = LoadOptions()


Advance = Callable[[int], None]
BytesProgress = Callable[[int | None], AbstractContextManager[Advance]]  # called with all bytes, if they are known


class LoadRequest(NamedTuple):
    pool: str
    branch: str  # empty for the default branch, or main of a new pool
    sources: Sequence[LoadSource]
    options: LoadOptions
    message: CommitMessage
    actor: Actor
    engine: EngineOptions
    progress: BytesProgress | None = None  # called while DuckDB loads
    stages: Listener | None = None  # called while Spark loads

    @property
    def reading(self) -> LoaderOptions:
        from lochan.engines.duckdb.load.load import LoaderOptions

        given = self.options
        return LoaderOptions(
            given.format, given.on_error, self.engine.limits, given.unpacked_max_bytes, row_tag=given.row_tag
        )


class LoadDone(NamedTuple):
    loaded: LoadCommit
    note: str = ""  # says that the pool was created, and how it is sorted


class _NewPool(NamedTuple):
    settings: PoolSettings
    note: str


async def load_files(session: Session, request: LoadRequest) -> LoadDone:
    """Loads files into a pool. Raises NotFound if there is no pool and none is to be made, Refused if it is no pool,
    Invalid, NothingToDo, and what keeps Spark from running before anything is made."""
    place = session.spark(request.engine.master)
    if loads_on_spark(request.engine, request.sources, place):
        return await _load_on_spark(session, request, place)
    return await _load_here(session, request)


def loads_on_spark(options: EngineOptions, found: Sequence[LoadSource], place: SparkPlace) -> bool:
    """Returns whether Spark loads the files. Without an engine in the options, very large inputs go to Spark. Raises
    Invalid for an unknown engine."""
    from lochan.engines.choice import AUTO, PACKED_SPILL, SPARK, TEXT_SPILL, engine_for
    from lochan.ingest.input_format import is_plain_text

    if options.engine == AUTO and any(isinstance(each, Stream) for each in found):
        return False
    spill = TEXT_SPILL if all(is_plain_text(each.name) for each in found) else PACKED_SPILL
    size_bytes = sum(each.size or 0 for each in found)
    return engine_for(options.engine, size_bytes, place, options.limits, spill=spill) == SPARK


# --- DuckDB ----------------------------------------------------------------------------------------------------------
async def _load_here(session: Session, request: LoadRequest) -> LoadDone:
    from lochan.engines.duckdb.load.load import load, staged_load

    sizes = [each.size for each in request.sources]
    total = sum(size or 0 for size in sizes) if None not in sizes else None
    async with inputs(session.lake, request.sources) as found:
        with (request.progress or _no_progress)(total) as advance:
            reading = request.reading._replace(advance=advance)
            there = await _find_pool(session, request)
            if there is not None:
                async with session.opened(there.name) as repository:
                    branch = request.branch or there.default_branch
                    return LoadDone(
                        await load(repository, branch, found, request.message, actor=request.actor, options=reading)
                    )
            new = await _new_pool(session, found[0], request)
            with staged_load(new.settings, reading) as staging:
                await staging.take_inputs(found)
                async with _prepare_pool(session, new.settings, request) as repository:
                    branch = repository.repository.default_branch
                    loaded = await staging.land(repository, branch, request.message, actor=request.actor)
    return LoadDone(loaded, new.note)


def _no_progress(_: int | None) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)


# --- Spark -----------------------------------------------------------------------------------------------------------
async def _load_on_spark(session: Session, request: LoadRequest, place: SparkPlace) -> LoadDone:
    import asyncio

    from lochan.engines.spark.session import session_at
    from lochan.jobs.record import record_job

    files = _files(request.sources)
    there = await _find_pool(session, request)
    new = None if there is not None else await _new_pool(session, files[0].as_input(), request)
    if there is not None:
        before = await _earlier_load(session, there.name, request.actor)
        if before is not None:
            return LoadDone(before)
    spark = await asyncio.to_thread(session_at, place, request.engine.limits)
    branch = request.branch or (there.default_branch if there is not None else "main")
    about = f"{request.pool}@{branch}"
    with record_job(session.lake, "load", about, actor=request.actor, where=place.where) as report:

        async def loaded_into(repository: OpenRepository) -> LoadCommit:
            return await _run_on_spark(session, repository, branch, files, request, spark, report)

        if new is None:
            async with session.opened(request.pool) as repository:
                return LoadDone(await loaded_into(repository))
        async with _prepare_pool(session, new.settings, request) as repository:
            loaded = await loaded_into(repository)
    return LoadDone(loaded, new.note)


async def _earlier_load(session: Session, pool: str, actor: Actor) -> LoadCommit | None:
    """Returns the result of an earlier load by the same request, before Spark is started, or None."""
    from lochan.engines.duckdb.load.load import repeated_load
    from lochan.journal.keys import CarriedOut
    from lochan.versioning.idempotency import check_first

    async with session.opened(pool) as repository:
        try:
            await check_first(repository, actor)
        except CarriedOut as before:
            return await repeated_load(repository, before)
    return None


def _files(found: Sequence[LoadSource]) -> list[File]:
    for each in found:
        if isinstance(each, Stream):
            raise Refused(f"Spark cannot read {each.name}", hint="save it as a file, or take --engine duckdb")
    return [each for each in found if not isinstance(each, Stream)]


async def _run_on_spark(
    session: Session,
    repository: OpenRepository,
    branch: str,
    files: list[File],
    request: LoadRequest,
    spark: SparkSession,
    report: JobReporter,
) -> LoadCommit:
    from lochan.engines.spark.progress import listener_of
    from lochan.jobs.load.load import LoadContext, load_files

    about = f"load of {repository.repository.name}"
    listener = listener_of(report, request.stages)
    where = LoadContext(spark, listener, f"lochan-{report.id}", about, report.wrote, job=report.id)
    report.log(f"{len(files):,} files, {sum(each.size for each in files):,} bytes")
    at = repository, session.lake.place, branch, files, request.message
    loaded = await load_files(*at, actor=request.actor, where=where, options=request.reading)
    report.rows(loaded.rows)
    return loaded


# --- the pool --------------------------------------------------------------------------------------------------------
async def _find_pool(session: Session, request: LoadRequest) -> Repository | None:
    """Returns the pool if it exists, or None. Raises Refused if it is no pool, Invalid if it has another key."""
    try:
        there = await session.lake.repository(request.pool)
    except NotFound:
        return None
    if there.kind != "pool":
        raise Refused(
            f"{there.name!r} holds files, and is no pool",
            hint=f"`lochan fs upload FILE {quote(there.name)}/` puts files there",
        )
    _check_same_key(there, request.options)
    return there


def _check_same_key(there: Repository, options: LoadOptions) -> None:
    """Raises Invalid if the key that is given is not the pool's own, which a load cannot change."""
    from lochan.pools.settings import parse, settings_of

    own = settings_of(there)
    if options.key and parse(options.key).keys != own.keys:
        sorted_by = ", ".join(map(str, own.keys))
        raise Invalid(
            f"pool {there.name!r} is sorted by {sorted_by}, not by {', '.join(options.key)}", hint="leave --key out"
        )


async def _new_pool(session: Session, first: Input, request: LoadRequest) -> _NewPool:
    """Returns the settings of a pool that is to be made. Raises NotFound if none is to be made."""
    from lochan.pools.settings import parse

    options, name = request.options, request.pool
    if not options.create and not options.key:
        names = [each.name for each in await session.lake.repositories()]
        raise (await no_pool(name, first, options)).named(name, lambda: names)
    suggested = await suggested_pool(name, first, options)
    return _NewPool(parse(suggested.keys, times=options.times), suggested.note)


async def no_pool(name: str, first: Input, options: LoadOptions) -> NotFound:
    """Returns the error for a missing pool, with the command that makes one for rows such as those of the first
    file."""
    key = await _suggested_key(first, options.format)
    key_options = f" --key {quote(key)}" if key else ""
    hint = f"make it with --create, or `lochan create {quote(name)}{key_options}`"
    return NotFound(f"there is no pool {name!r}", hint=hint).named(name)


class SuggestedPool(NamedTuple):
    keys: tuple[str, ...]
    note: str  # a message for the user


async def suggested_pool(name: str, first: Input, options: LoadOptions) -> SuggestedPool:
    """Returns a new pool for rows such as those of the first file: as the options say, or sorted by a time that most
    rows have."""
    from lochan.pools.settings import parse

    key = "" if options.key else await _suggested_key(first, options.format)
    keys = options.key or ((key,) if key else ())
    sorted_by = ", ".join(map(str, parse(keys, times=options.times).keys))
    return SuggestedPool(keys, f"created pool {name}, sorted by {sorted_by}{_key_reason(options, key)}")


def _key_reason(options: LoadOptions, key: str) -> str:
    if options.key:
        return ""
    return f" ({key}: a time that most rows have)" if key else " (no time is in most rows, so the whole row is the key)"


async def _suggested_key(first: Input, format: str | None) -> str:
    import asyncio

    from lochan.engines.duckdb.load.sample import sample, suggest

    return suggest(await asyncio.to_thread(sample, first, format))


@asynccontextmanager
async def _prepare_pool(
    session: Session, settings: PoolSettings, request: LoadRequest
) -> AsyncIterator[OpenRepository]:
    """Yields a pool to load into. It is named when the block ends without an error."""
    lake, branch = session.lake, request.branch or "main"
    repository = await lake.prepare_pool(request.pool, settings, default_branch=branch, actor=request.actor)
    try:
        yield repository
        await lake.name_pool(repository, actor=request.actor)
    finally:
        await repository.close()
