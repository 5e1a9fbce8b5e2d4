"""`lochan query`, `sql` and `explain`: rows of pools, files and metadata."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import JobOptions, query_options
from lochan.cli.output.records import count_noun, printable, show_record, size
from lochan.cli.request_key import changes_nothing
from lochan.cli.verb import verb
from lochan.errors import Invalid, NotFound
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.queries import Result


FORMATS = ("table", "json", "ndjson", "csv", "parquet", "arrow", "text")


@verb(
    "query",
    "lochan query 'from logs | status >= 500 | count() by host'",
    'lochan query "select host, count(*) from logs where status >= 500 group by host"',
    "lochan query @report.zql",
    "lochan query - < report.sql",
    changes=True,
    form=False,
)
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("-I", "--include", type=click.Path(dir_okay=False), metavar="FILE", help="Read the query from FILE.")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), help="A table on a terminal, else NDJSON.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the rows to FILE.")
@click.option("--stats", is_flag=True, help="Print on stderr what was read, what was skipped, and why.")
@query_options
def query_command(
    text: str | None, include: str | None, form: str | None, output: str | None, stats: bool, **options: object
) -> None:
    """Run QUERY, in the pipe language or SQL."""
    run_query(query_text(text, include), form, output, stats, JobOptions(**options))  # type: ignore[arg-type]


def query_text(text: str | None, include: str | None) -> str:
    """Returns the query from the command line, from a file (`-I FILE` or `@FILE`) or from standard input (`-`)."""
    if (text is None) == (include is None):
        raise click.UsageError("Give a query, a file that holds one with @FILE or -I, or - to read standard input.")
    if text == "-":
        return _decode(sys.stdin.buffer.read(), "standard input")
    file = include or (text[1:] if text and text.startswith("@") else "")
    if not file:
        assert text is not None, "one of the two is given"
        return text
    try:
        return _decode(Path(file).read_bytes(), file)
    except IsADirectoryError:
        raise Invalid(f"{file} is a folder", hint="name a file that holds a query") from None
    except FileNotFoundError:
        raise NotFound(f"no file {file}") from None


def run_query(text: str, form: str | None, output: str | None, stats: bool, options: JobOptions) -> None:
    from lochan.cli.error_boundary import print_message
    from lochan.cli.output.progress import StageBar
    from lochan.cli.output.query_rows import show_stats, write_result
    from lochan.cli.session import configuration, on_lake
    from lochan.cli.user_state import find_in_use

    engine = options.parsed()
    writes = "load" in text  # only perhaps; then an event loop is ready in time
    if not writes:
        changes_nothing(click.get_current_context())
    if options.engine != "spark":
        without_pandas()

    async def work(lake: "Lake") -> "Result":
        pool = str(find_in_use(configuration(), lake.id) or "")
        return await lake.query(text, engine, pool=pool, progress=bar.show)

    with StageBar("query") as bar, on_lake(work, reads=not writes) as result:
        for warning in result.warnings:
            print_message(warning)
        write_result(result, form, output, before=bar.end)
        if stats:
            show_stats(result.stats)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name}: not UTF-8 text: {error.reason}") from None


_VERBS = {
    "delete": "`lochan delete POOL --where TEST` removes rows",
    "insert": "`lochan load POOL FILE` adds rows",
    "update": "`lochan delete POOL --where TEST` removes rows, and `lochan load POOL FILE` adds others",
    "create": "`lochan create POOL` makes a pool",
    "drop": "`lochan drop POOL` removes a pool",
}


@verb("sql", "lochan sql 'select host, count(*) from logs group by host'", changes=True, form=False)
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("-I", "--include", type=click.Path(dir_okay=False), metavar="FILE", help="Read the query from FILE.")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), help="A table on a terminal, else NDJSON.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the rows to FILE.")
@click.option("--stats", is_flag=True, help="Print on stderr what was read, what was skipped, and why.")
@query_options
def sql_command(
    text: str | None, include: str | None, form: str | None, output: str | None, stats: bool, **options: object
) -> None:
    """Run the SQL query QUERY, which begins with `select` or `with`. `lochan query` accepts it as well."""
    query = query_text(text, include)
    word = (query.split(None, 1) or [""])[0].lower()
    if word and word not in ("select", "with"):
        hint = _VERBS.get(word, "try `lochan query QUERY`")
        raise Invalid("not an SQL query: it begins with neither select nor with", hint=hint)
    run_query(query, form, output, stats, JobOptions(**options))  # type: ignore[arg-type]


@verb("explain", "lochan explain 'from logs | status >= 500'")
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("-I", "--include", type=click.Path(dir_okay=False), metavar="FILE", help="Read the query from FILE.")
@query_options
def explain_command(text: str | None, include: str | None, form: str, **options: object) -> None:
    """Show what QUERY would read: which objects are left out and why, the scans, and the SQL that the engine gets."""
    from lochan.cli.session import configuration, on_lake
    from lochan.cli.user_state import find_in_use

    query = query_text(text, include)
    engine = JobOptions(**options).parsed()  # type: ignore[arg-type]
    without_pandas()

    record = on_lake(
        lambda lake: lake.explain(query, engine, pool=str(find_in_use(configuration(), lake.id) or "")), reads=True
    )
    if form == "json":
        show_record(record, form)
    else:
        _show_plan(record)


def _show_plan(record: dict[str, Any]) -> None:
    for source in record["sources"]:
        names = ", ".join(f"{printable(each['name'])}@{each['commit'][:12]}" for each in source["pools"])
        click.echo(
            f"{names}: {source['objects_read']:,} of {source['objects']:,} objects, "
            f"{size(source['bytes_read'])} of {size(source['bytes'])}, {count_noun(source['rows_read'], 'row')}"
        )
        for each in source["skipped"]:
            click.echo(f"  without {each['objects']:,} objects, {size(each['bytes'])}: {printable(each['why'])}")
    for scan in record["scans"]:
        columns = ", ".join(map(printable, scan["columns"])) or "no column"
        click.echo(f"{scan['name']}: {len(scan['objects']):,} objects, {columns}")
    click.echo(f"engine: {record['engine']}")
    click.echo(printable(record["sql"]))
