"""`lochan explain`: what a query would read, and why not more."""

from typing import Any

import click

from lochan.cli.query import query_text
from lochan.cli.query_options import QueryOptions, query_options
from lochan.cli.shown import counted, format_option, printable, show_record, size
from lochan.cli.without_pandas import without_pandas


@click.command("explain")
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("-I", "--include", type=click.Path(dir_okay=False), metavar="FILE", help="Read the query from FILE.")
@query_options
@format_option
def command(text: str | None, include: str | None, form: str, **options: object) -> None:
    """Show what QUERY would read: which objects are left out and why, the scans, and the SQL that the engine gets.

    \b
    Example:
      lochan explain 'from logs | status >= 500'
    """
    from lochan.cli.session import configuration, open_lake, read

    query = query_text(text, include)
    wish = QueryOptions(**options)  # type: ignore[arg-type]
    config = configuration()
    without_pandas()

    async def work() -> dict[str, Any]:
        from lochan.engines.explain import explain

        async with open_lake(config) as lake:
            return await explain(lake.queries(), query, wish.how(config, lake))

    record = read(config, work)
    if form == "json":
        show_record(record, form)
    else:
        _show(record)


def _show(record: dict[str, Any]) -> None:
    for source in record["sources"]:
        names = ", ".join(f"{printable(each['name'])}@{each['commit'][:12]}" for each in source["pools"])
        click.echo(
            f"{names}: {source['objects_read']:,} of {source['objects']:,} objects, "
            f"{size(source['bytes_read'])} of {size(source['bytes'])}, {counted(source['rows_read'], 'row')}"
        )
        for each in source["skipped"]:
            click.echo(f"  without {each['objects']:,} objects, {size(each['bytes'])}: {printable(each['why'])}")
    for scan in record["scans"]:
        columns = ", ".join(map(printable, scan["columns"])) or "no column"
        click.echo(f"{scan['name']}: {len(scan['objects']):,} objects, {columns}")
    click.echo(f"engine: {record['engine']}")
    click.echo(printable(record["sql"]))
