"""`lochan query`: rows of pools, files and metadata."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lochan.cli.query_options import QueryOptions, query_options
from lochan.cli.request_key import changes_nothing, request_key
from lochan.cli.without_pandas import without_pandas
from lochan.errors import Invalid, NotFound

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
    Examples:
      lochan query 'from logs | status >= 500 | count() by host'
      lochan query "select host, count(*) from logs where status >= 500 group by host"
      lochan query @report.zql
      lochan query - < report.sql
    """
    run_query(query_text(text, include), form, output, stats, QueryOptions(**options))  # type: ignore[arg-type]


def query_text(text: str | None, include: str | None) -> str:
    """From the command line, from a file (`-I FILE` or `@FILE`) or from standard input (`-`)."""
    if (text is None) == (include is None):
        raise click.UsageError("Give a query, a file that holds one with @FILE or -I, or - to read standard input.")
    if text == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    file = include or (text[1:] if text and text.startswith("@") else "")
    if not file:
        assert text is not None, "one of the two is given"
        return text
    try:
        return _decoded(Path(file).read_bytes(), file)
    except IsADirectoryError:
        raise Invalid(f"{file} is a folder", hint="name a file that holds a query") from None
    except FileNotFoundError:
        raise NotFound(f"no file {file}") from None


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


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name}: this is no UTF-8 text: {error.reason}") from None
