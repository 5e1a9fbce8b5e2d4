"""`lochan load`: loads rows into a pool."""

import sys
from collections.abc import Mapping
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.error_boundary import about_repository, print_message
from lochan.cli.options import JobOptions, commit_message, commit_options, job_options
from lochan.cli.output.progress import StageBar, progress
from lochan.cli.output.records import SHORT, count_noun, printable, show_record, size
from lochan.cli.target import Uri, branch_uri, on_branch
from lochan.cli.user_state import in_use
from lochan.cli.verb import verb
from lochan.errors import NotFound
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lochan.api.lake import Lake
    from lochan.api.load_sources import Given, LoadSource
    from lochan.api.results import LoadResult


# The message of a load about values that are no times, although their fields are declared as times.


def say_unparsed(counts: Mapping[str, int]) -> None:
    """Prints how many values are no times. `counts` are by field."""
    for field, count in counts.items():
        which = f"{field} is no time, and was loaded as a string"
        if count > 1:
            which = f"{field} are no times, and were loaded as strings"
        many = f"{count:,} value{'' if count == 1 else 's'}"
        print_message(f"{many} of {which}", f'find them with `kind({field}) == "string"`')


FORMATS = ("ndjson", "json", "csv", "tsv", "parquet", "arrow", "orc", "avro", "xml", "lines")


@verb("load", "lochan load logs logs.ndjson", changes=True)
@click.argument("pool", metavar="[POOL[@BRANCH]]")
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option(
    "-i",
    "--input-format",
    type=click.Choice(FORMATS),
    help="The format of the input. Default: detected from its content.",
)
@click.option(
    "--row-tag", metavar="NAME", help="For XML: the elements that are rows. Default: the children of the root."
)
@commit_options
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip", "keep"]),
    default="fail",
    show_default=True,
    help="What to do with input that is not a row: end the load, skip it, or keep it as a row of its own.",
)
@click.option("--create", is_flag=True, help="Create the pool if there is none, with a key that the rows suggest.")
@click.option(
    "--key", "keys", multiple=True, metavar="PATH[:time][:asc|:desc]", help="Create the pool, sorted by this."
)
@click.option("--time", "times", multiple=True, metavar="PATH", help="With --create: a field whose strings are times.")
@click.option(
    "--unpacked-max",
    metavar="SIZE",
    help="The most bytes an input may unpack to. Default: 1GiB, or more for large inputs.",
)
@job_options
@click.option("--follow-links", is_flag=True, help="In a folder: also follow links to folders and links out of it.")
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

    If only one argument is given, it is a SOURCE, and rows go into the pool in use. All rows become one commit, or none
    are loaded. Each row keeps its own shape: its fields, their order and kinds.
    """
    from lochan.api.load import LoadOptions
    from lochan.cli.options import size_bytes
    from lochan.cli.session import configuration, on_lake

    at = None if in_use_meant(pool, sources) else branch_uri(pool)
    words = commit_message(message, author, meta, date)
    load_options = LoadOptions(
        format=input_format,
        row_tag=row_tag or "",
        on_error=on_error,
        unpacked_max_bytes=None if unpacked_max is None else size_bytes("--unpacked-max", unpacked_max),
        create=create,
        key=keys,
        times=times,
    )
    options = JobOptions(engine, master, memory).parsed()
    given = [sys.stdin.buffer if each == "-" else each for each in (sources if at else (pool, *sources))]
    bar = partial(progress, "loading", visible=form != "json")

    async def work(lake: "Lake") -> "tuple[Uri, LoadResult]":
        found = await _sources(lake, given, None if at else pool, follow_links)
        uri = at or on_branch(in_use(configuration(), lake.id))
        about_repository(uri.repository)
        target = lake.pool(uri.repository)
        if await target.load_engine(found, options) == "duckdb":
            without_pandas()
        with StageBar("load", visible=form != "json") as stages:
            done = await target.load_files(
                found, load_options, words, options, branch=uri.ref, progress=bar, stages=stages.show
            )
        return uri, done

    uri, loaded = on_lake(work, counted=True)
    _show(loaded, uri, on_error, form)


async def _sources(lake: "Lake", given: "Sequence[Given]", pool: str | None, follow_links: bool) -> "list[LoadSource]":
    """Returns the sources. `pool` is a source that could have been meant as a pool."""
    try:
        return await lake.load_sources(given, follow_links=follow_links, report=print_message)
    except NotFound as error:
        if pool is not None and pool.partition("@")[0] in [each.name async for each in lake.repositories()]:
            hint = f"to load into it, say what: `lochan load {quote(pool)} FILE`, or - for standard input"
            raise NotFound(f"{error.message}, and {pool!r} is a pool or repository", hint=hint) from None
        raise


def in_use_meant(first: str, rest: tuple[str, ...]) -> bool:
    """Returns whether the first argument is a source already, and not a pool."""
    return not rest or first == "-" or "://" in first


def _show(loaded: "LoadResult", uri: Uri, on_error: str, form: str) -> None:
    if loaded.note:
        print_message(loaded.note)
    if form == "json":
        record: dict[str, Any] = {
            "commit": loaded.commit,
            "rows": loaded.rows,
            "objects": list(loaded.objects),
            "bytes": loaded.bytes,
            "errors": loaded.faults,
            "first_errors": [fault.text for fault in loaded.first_faults],
            "unparsed_times": loaded.unparsed_times,
        }
        show_record(record, form)
        return
    for fault in loaded.first_faults:
        print_message(fault.text, f"near {fault.near!r}" if fault.near else "")
    if loaded.faults:
        done = "kept as rows with _error" if on_error == "keep" else "left out"
        print_message(f"{loaded.faults:,} line{' was' if loaded.faults == 1 else 's were'} no row, and {done}")
    say_unparsed(loaded.unparsed_times)
    objects = count_noun(len(loaded.objects), "object")
    click.echo(
        f"loaded {count_noun(loaded.rows, 'row')} into {printable(str(uri))}: {objects}, {size(loaded.bytes)}, "
        f"commit {loaded.commit[:SHORT]}"
    )
