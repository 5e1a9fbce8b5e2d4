"""`lochan sql`: a query in SQL."""

import click

from lochan.cli.query import FORMATS, query_text, run_query
from lochan.cli.query_options import QueryOptions, query_options
from lochan.cli.request_key import request_key
from lochan.errors import Invalid

_VERBS = {
    "delete": "`lochan delete POOL --where TEST` removes rows",
    "insert": "`lochan load POOL FILE` adds rows",
    "update": "`lochan delete POOL --where TEST` removes rows, and `lochan load POOL FILE` adds others",
    "create": "`lochan create POOL` makes a pool",
    "drop": "`lochan drop POOL` removes a pool",
}


@click.command("sql")
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
    """Run QUERY, which begins with `select` or `with`; `lochan query` takes it as well.

    \b
    Example:
      lochan sql 'select host, count(*) from logs group by host'
    """
    query = query_text(text, include)
    word = (query.split(None, 1) or [""])[0].lower()
    if word and word not in ("select", "with"):
        hint = _VERBS.get(word, "try `lochan query QUERY`")
        raise Invalid("this is no SQL query: it begins with neither select nor with", hint=hint)
    run_query(query, form, output, stats, QueryOptions(**options))  # type: ignore[arg-type]
