"""`lochan load`: rows come to a pool."""

from contextlib import asynccontextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.hints import about_repository
from lochan.cli.options.commit_options import commit_message, commit_options
from lochan.cli.options.engine_options import JobOptions, job_options
from lochan.cli.options.request_key import request_key_beside_sort_key
from lochan.cli.output.commits import SHORT
from lochan.cli.output.records import counted, format_option, printable, show_record, size
from lochan.cli.pool_in_use import in_use
from lochan.cli.uri import Uri, branch_uri, on_branch
from lochan.cli.without_pandas import without_pandas
from lochan.errors import Invalid, NotFound, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from lochan.cli.pool.load_sources import Source
    from lochan.engines.duckdb.load.load import How, Loaded
    from lochan.engines.duckdb.load.streams import Input
    from lochan.engines.spark.place import SparkPlace
    from lochan.formats.pool_settings import PoolSettings
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.moving import Said
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository

FORMATS = ("ndjson", "json", "csv", "tsv", "parquet", "arrow", "orc", "avro", "xml", "lines")


@click.command("load")
@click.argument("pool", metavar="[POOL[@BRANCH]]")
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option("-i", "--input-format", type=click.Choice(FORMATS), help="What the input is; else its content tells.")
@click.option("--row-tag", metavar="NAME", help="Of XML: the elements that are rows; else those right below the root.")
@commit_options
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip", "keep"]),
    default="fail",
    show_default=True,
    help="What becomes of input that is no row: it ends the load, is left out, or is kept as a row of its own.",
)
@click.option("--create", is_flag=True, help="Make the pool if there is none, with a key that the rows suggest.")
@click.option("--key", "keys", multiple=True, metavar="PATH[:time][:asc|:desc]", help="Make the pool, sorted by this.")
@click.option("--time", "times", multiple=True, metavar="PATH", help="With --create: a field whose texts are times.")
@click.option("--unpacked-max", metavar="SIZE", help="How large a packed input may become.")
@job_options
@click.option("--follow-links", is_flag=True, help="With a folder: take in what links lead to, wherever that is.")
@request_key_beside_sort_key
@format_option
def load_command(
    pool: str,
    sources: tuple[str, ...],
    input_format: str | None,
    row_tag: str | None,
    message: str,
    author: str,
    meta: tuple[str, ...],
    date: str | None,
    on_error: str,
    create: bool,
    keys: tuple[str, ...],
    times: tuple[str, ...],
    unpacked_max: str | None,
    engine: str,
    master: str | None,
    memory: str | None,
    follow_links: bool,
    form: str,
) -> None:
    """Load rows into a pool: files, folders, globs, URLs such as s3://bucket/logs/, or standard input (-).

    Without a POOL, where one SOURCE is given, into the pool in use. All of them become one commit, or nothing does.
    Each row keeps its own shape: its fields, their order and kinds.

    \b
    Example:
      lochan load logs logs.ndjson
    """
    from lochan.cli.options.values import size_bytes
    from lochan.cli.session import actor, configuration, lake_place, open_lake, run

    at = None if in_use_meant(pool, sources) else branch_uri(pool)
    words = commit_message(message, author, meta, date)
    unpacked = None if unpacked_max is None else size_bytes("--unpacked-max", unpacked_max)
    config = configuration()
    options = JobOptions(engine, master, memory)
    given = sources if at else (pool, *sources)

    async def work() -> "tuple[Uri, Loaded]":
        from lochan.cli.pool.load_sources import sources as found_sources
        from lochan.engines.duckdb.load.load import How

        async with open_lake(config, counted=True) as lake:
            try:
                found = await found_sources(lake, given, lake_place(config).folder, follow_links=follow_links)
            except NotFound as error:
                if at is None and any(each.name == pool.partition("@")[0] for each in await lake.repositories()):
                    hint = f"to load into it, say what: `lochan load {quote(pool)} FILE`, or - for standard input"
                    raise NotFound(f"{error.message}, and {pool!r} is a pool or repository", hint=hint) from None
                raise
            uri = at or on_branch(in_use(config, lake.id))
            how = How(input_format, on_error, options.limits(), unpacked, row_tag=row_tag or "")
            request = LoadRequest(
                uri, words, actor(config), NewPoolOptions(create, keys, times), how, wants_progress=form != "json"
            )
            place = options.spark(config)
            if on_spark(engine, found, place):
                from lochan.cli.pool.load_spark import load_on_spark

                return uri, await load_on_spark(lake, found, request, place)
            without_pandas()
            return uri, await _load_here(lake, found, request)

    uri, loaded = run(config, work())
    _show(loaded, uri, form)


def in_use_meant(first: str, rest: tuple[str, ...]) -> bool:
    """Whether the first argument is no pool but a source already."""
    return not rest or first == "-" or "://" in first


class NewPoolOptions(NamedTuple):
    """Of a pool that is not there."""

    create: bool
    keys: tuple[str, ...]
    times: tuple[str, ...]


class LoadRequest(NamedTuple):
    """All that a load was told, but its sources."""

    uri: Uri
    words: "Said"
    by: "Actor"
    wanted: NewPoolOptions
    how: "How"
    wants_progress: bool


def on_spark(engine: str, found: "Sequence[Source]", place: "SparkPlace") -> bool:
    """Whether Spark loads it: whoever named no engine gets it for what is very much."""
    from lochan.cli.pool.load_sources import Stream
    from lochan.engines.choice import PACKED_SPILL, SPARK, TEXT_SPILL, engine_for
    from lochan.pools.input_format import is_plain_text

    if engine == "auto" and any(isinstance(each, Stream) for each in found):
        return False
    spill = TEXT_SPILL if all(is_plain_text(each.name) for each in found) else PACKED_SPILL
    return engine_for(engine, sum(each.size or 0 for each in found), place, spill=spill) == SPARK


async def _load_here(lake: "Lake", found: "Sequence[Source]", request: LoadRequest) -> "Loaded":
    from lochan.cli.output.progress import progress
    from lochan.cli.pool.load_sources import inputs
    from lochan.engines.duckdb.load.load import load

    sizes = [each.size for each in found]
    total = sum(size or 0 for size in sizes) if None not in sizes else None
    async with inputs(lake, found) as there:
        with progress("loading", total, wanted=request.wants_progress) as advance:
            request = request._replace(how=request.how._replace(advance=advance))
            pool = await existing(lake, request)
            if pool is None:
                return await _load_new(lake, there, request)
            repository = await lake.open_repository(pool.name)
            about_repository(pool.name)
            try:
                branch = request.uri.ref or pool.default_branch
                return await load(repository, branch, there, request.words, actor=request.by, how=request.how)
            finally:
                await repository.close()


async def existing(lake: "Lake", request: LoadRequest) -> "Repository | None":
    """The pool, if it is there. Raises Refused for what is no pool, Invalid for one with another key."""
    try:
        there = await lake.repository(request.uri.repository)
    except NotFound:
        return None
    if there.kind != "pool":
        raise Refused(
            f"{there.name!r} holds files, and is no pool",
            hint=f"`lochan fs upload FILE {quote(there.name)}/` puts files there",
        )
    _check_same(there, request.wanted)
    return there


async def settings_of_new(lake: "Lake", first: "Input", request: LoadRequest) -> "tuple[PoolSettings, str]":
    """Of a pool that is to be made, and what to say when it is. Raises NotFound where none is to be made."""
    from lochan.pools.settings import parse

    wanted, name = request.wanted, request.uri.repository
    key = "" if wanted.keys else await _suggested(first, request.how)
    if not wanted.create and not wanted.keys:
        options = f" --key {quote(key)}" if key else ""
        hint = f"make it with --create, or `lochan create {quote(name)}{options}`"
        names = [each.name for each in await lake.repositories()]
        raise NotFound(f"there is no pool {name!r}", hint=hint).named(name, lambda: names)
    settings = parse(wanted.keys or ([key] if key else []), times=wanted.times)
    sorted_by = ", ".join(map(str, settings.keys))
    return settings, f"created pool {name}, sorted by {sorted_by}{_why(wanted, key)}"


async def _load_new(lake: "Lake", found: "list[Input]", request: LoadRequest) -> "Loaded":
    """The pool has its name once its rows have landed: input that is no rows leaves nothing behind."""
    from lochan.engines.duckdb.load.load import staged

    settings, told = await settings_of_new(lake, found[0], request)
    with staged(settings, request.how) as staging:
        await staging.take_inputs(found)
        async with new_pool(lake, settings, request) as repository:
            branch = repository.repository.default_branch
            loaded = await staging.land(repository, branch, request.words, actor=request.by)
    print_message(told)
    return loaded


@asynccontextmanager
async def new_pool(lake: "Lake", settings: "PoolSettings", request: LoadRequest) -> "AsyncIterator[OpenRepository]":
    """To be loaded into; whoever leaves it without an error has it named."""
    branch = request.uri.ref or "main"
    repository = await lake.prepare_pool(request.uri.repository, settings, default_branch=branch, actor=request.by)
    try:
        yield repository
        await lake.name_pool(repository, actor=request.by)
    finally:
        await repository.close()


def _why(wanted: NewPoolOptions, key: str) -> str:
    if wanted.keys:
        return ""
    return f" ({key}: a time that most rows have)" if key else " (no time is in most rows, so the whole row is the key)"


async def _suggested(first: "Input", how: "How") -> str:
    import asyncio

    from lochan.engines.duckdb.load.sample import sample
    from lochan.pools.suggestion import suggest

    return suggest(await asyncio.to_thread(sample, first, how.format))


def _check_same(there: "Repository", wanted: NewPoolOptions) -> None:
    """A key that is given must be the pool's own: it cannot be changed by a load."""
    from lochan.pools.settings import parse, settings_of

    own = settings_of(there)
    if wanted.keys and parse(wanted.keys).keys != own.keys:
        sorted_by = ", ".join(map(str, own.keys))
        raise Invalid(
            f"pool {there.name!r} is sorted by {sorted_by}, not by {', '.join(wanted.keys)}", hint="leave --key out"
        )


def _show(loaded: "Loaded", uri: Uri, form: str) -> None:
    faults = loaded.faults
    if form == "json":
        record: dict[str, Any] = {
            "commit": loaded.commit,
            "rows": loaded.rows,
            "objects": [entry.path.removesuffix(".parquet") for entry in loaded.objects],
            "bytes": loaded.size_bytes,
            "errors": faults.count,
            "first_errors": [str(fault) for fault in faults.first],
        }
        show_record(record, form)
        return
    for fault in faults.first:
        print_message(str(fault), f"near {fault.near!r}" if fault.near else "")
    if faults.count:
        done = "kept as rows with _error" if faults.policy == "keep" else "left out"
        print_message(f"{faults.count:,} line{' was' if faults.count == 1 else 's were'} no row, and {done}")
    objects = counted(len(loaded.objects), "object")
    click.echo(
        f"loaded {counted(loaded.rows, 'row')} into {printable(str(uri))}: {objects}, {size(loaded.size_bytes)}, "
        f"commit {loaded.commit[:SHORT]}"
    )
