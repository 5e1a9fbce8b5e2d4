"""`lochan load`: rows come to a pool."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.boundary import say
from lochan.cli.commit_record import SHORT
from lochan.cli.current import in_use
from lochan.cli.said import said, said_options
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import Uri, branch_uri, on_branch
from lochan.errors import Invalid, NotFound, Refused

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import How, Loaded
    from lochan.engines.duckdb.load.streams import Input
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.moving import Said
    from lochan.versioning.repositories import Repository

FORMATS = ("ndjson", "json", "csv", "tsv", "parquet", "arrow", "lines")


@click.command("load")
@click.argument("pool", metavar="[POOL[@BRANCH]]")
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option("-i", "--input-format", type=click.Choice(FORMATS), help="What the input is; else its content tells.")
@said_options
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
@click.option("--memory", default="1GiB", show_default=True, metavar="SIZE", help="What the engine may use.")
@format_option
def command(
    pool: str,
    sources: tuple[str, ...],
    input_format: str | None,
    message: str,
    author: str,
    meta: tuple[str, ...],
    date: str | None,
    on_error: str,
    create: bool,
    keys: tuple[str, ...],
    times: tuple[str, ...],
    unpacked_max: str | None,
    memory: str,
    form: str,
) -> None:
    """Load rows into POOL: files, folders, globs, URLs such as s3://bucket/logs/, or standard input (-).

    Without a POOL, where one SOURCE is given, into the pool in use. All of them become one commit, or nothing does.
    Each row keeps its own shape: its fields, their order and kinds.
    """
    from lochan.cli.session import actor, configuration, lake_place, open_lake, run
    from lochan.cli.sizes import size_bytes

    at = None if in_use_meant(pool, sources) else branch_uri(pool)
    words = said(message, author, meta, date)
    unpacked = None if unpacked_max is None else size_bytes("--unpacked-max", unpacked_max)
    config = configuration()

    given = sources if at else (pool, *sources)

    async def work() -> "tuple[Uri, Loaded]":
        from lochan.cli.load_sources import inputs
        from lochan.cli.progress import progress
        from lochan.engines.duckdb.limits import Limits
        from lochan.engines.duckdb.load.load import How

        async with open_lake(config) as lake, inputs(lake, given, lake_place(config).folder) as found:
            total = sum(each.size or 0 for each in found)
            known = all(each.size is not None for each in found)
            with progress("loading", total if known else None, wanted=form != "json") as advance:
                limits = Limits(memory_bytes=size_bytes("--memory", memory))
                how = How(input_format, on_error, limits, unpacked, advance=advance)
                wanted = Wanted(create, keys, times)
                uri = at or on_branch(in_use(config, lake.id))
                return uri, await _load(lake, uri, found, words, actor(config), how, wanted)

    uri, loaded = run(config, work())
    _show(loaded, uri, form)


def in_use_meant(first: str, rest: tuple[str, ...]) -> bool:
    """Whether the first argument is no pool but a source already."""
    return not rest or first == "-" or "://" in first


class Wanted(NamedTuple):
    """Of a pool that is not there."""

    create: bool
    keys: tuple[str, ...]
    times: tuple[str, ...]


async def _load(
    lake: "Lake", uri: Uri, found: "list[Input]", words: "Said", by: "Actor", how: "How", wanted: Wanted
) -> "Loaded":
    from lochan.engines.duckdb.load.load import load

    try:
        there = await lake.repository(uri.repository)
    except NotFound:
        return await _load_new(lake, uri, found, words, by, how, wanted)
    if there.kind != "pool":
        raise Refused(f"{there.name!r} holds files, and is no pool", hint="`lochan fs upload` puts files there")
    _check_same(there, wanted)
    repository = await lake.open_repository(uri.repository)
    try:
        return await load(repository, uri.ref or there.default_branch, found, words, actor=by, how=how)
    finally:
        await repository.close()


async def _load_new(
    lake: "Lake", uri: Uri, found: "list[Input]", words: "Said", by: "Actor", how: "How", wanted: Wanted
) -> "Loaded":
    """The pool is made once its rows were read: input that is no rows leaves nothing behind."""
    from lochan.engines.duckdb.load.load import staged
    from lochan.pools.settings import parse

    key = "" if wanted.keys else await _suggested(found, how)
    if not wanted.create and not wanted.keys:
        make = f"--create, or `lochan create {uri.repository}{f' --key {key}' if key else ''}`"
        raise NotFound(f"there is no pool {uri.repository!r}", hint=f"make it with {make}")
    settings = parse(wanted.keys or ([key] if key else []), times=wanted.times)
    with staged(settings, how) as staging:
        await staging.take_inputs(found)
        branch = uri.ref or "main"
        pool = await lake.create_pool(uri.repository, settings, default_branch=branch, actor=by)
        repository = await lake.open_repository(pool.name)
        try:
            loaded = await staging.land(repository, branch, words, actor=by)
        finally:
            await repository.close()
    sorted_by = ", ".join(map(str, settings.keys))
    say(f"created pool {pool.name}, sorted by {sorted_by}{_why(wanted, key)}")
    return loaded


def _why(wanted: Wanted, key: str) -> str:
    if wanted.keys:
        return ""
    return f" ({key}: a time that most rows have)" if key else " (no time is in most rows, so the whole row is the key)"


async def _suggested(found: "list[Input]", how: "How") -> str:
    import asyncio

    from lochan.engines.duckdb.load.sample import sample
    from lochan.pools.suggestion import suggest

    return suggest(await asyncio.to_thread(sample, found[0], how.format))


def _check_same(there: "Repository", wanted: Wanted) -> None:
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
        say(str(fault), f"near {fault.near!r}" if fault.near else "")
    if faults.count:
        done = "kept as rows with _error" if faults.policy == "keep" else "left out"
        say(f"{faults.count:,} line{' was' if faults.count == 1 else 's were'} no row, and {done}")
    objects = f"{len(loaded.objects)} object{'' if len(loaded.objects) == 1 else 's'}"
    click.echo(
        f"loaded {loaded.rows:,} rows into {printable(str(uri))}: {objects}, {size(loaded.size_bytes)}, "
        f"commit {loaded.commit[:SHORT]}"
    )
