"""`lochan query`: rows of pools, files and metadata."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lochan.cli.query_options import QueryOptions, query_options
from lochan.cli.request_key import changes_nothing, request_key
from lochan.cli.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.engines.result import Result

FORMATS = ("table", "json", "ndjson", "csv", "parquet", "arrow", "text")


@click.command("query")
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("-I", "--include", type=click.Path(dir_okay=False), metavar="FILE", help="Read the query from FILE.")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), help="A table on a terminal, else NDJSON.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the rows to FILE.")
@click.option("--stats", is_flag=True, help="Say on stderr what was read, what was not, and why.")
@query_options
@request_key
def command(
    text: str | None, include: str | None, form: str | None, output: str | None, stats: bool, **options: object
) -> None:
    """Run QUERY, in the pipe language or SQL.

    \b
    lochan query 'from logs | status >= 500 | count() by host'
    lochan query "select host, count(*) from logs where status >= 500 group by host"
    """
    run_query(query_text(text, include), form, output, stats, QueryOptions(**options))  # type: ignore[arg-type]


def query_text(text: str | None, include: str | None) -> str:
    """From the command line or a file, not both."""
    if (text is None) == (include is None):
        raise click.UsageError("Give a query, or a file that holds one with -I.")
    return text if include is None else _read(include)  # type: ignore[return-value]


def run_query(text: str, form: str | None, output: str | None, stats: bool, options: QueryOptions) -> None:
    from lochan.cli.boundary import say
    from lochan.cli.progress import StageBar
    from lochan.cli.query_output import show_stats, write_result
    from lochan.cli.session import configuration, open_lake, read, run

    config = configuration()
    writes = "load" in text  # perhaps: then an event loop is there in time
    if not writes:
        changes_nothing(click.get_current_context())
    if options.engine != "spark":
        without_pandas()

    async def work() -> "Result":
        async with open_lake(config) as lake:
            return await lake.query(text, options.how(config, lake, bar.show))

    with StageBar("query") as bar, run(config, work()) if writes else read(config, work) as result:
        for warning in result.warnings:
            say(warning)
        write_result(result, form, output, before=bar.end)
        if stats:
            show_stats(result.stats)


def _read(file: str) -> str:
    from lochan.errors import Invalid

    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{file}: this is no UTF-8 text: {error.reason}") from None
