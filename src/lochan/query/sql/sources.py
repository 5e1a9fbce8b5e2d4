"""Finds the source that a table's name means, as after `from`, and the needs of each table (`needs.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sqlglot import exp

from lochan.errors import LochanError
from lochan.query import ast
from lochan.query.sql.needs import TableNeeds, cte_of
from lochan.query.sql.parse import Text
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.sources import source as read_source

SOURCE = "source"  # the key in a table's meta
SOURCES_MAX = 200


def found_sources(text: Text, tree: exp.Query) -> ast.Pipe:
    """Returns a pipe that reads every table of the query, to be opened. Each table remembers its source."""
    tables = list(islice(_tables(tree), SOURCES_MAX + 1))
    needs = TableNeeds(tree)
    if len(tables) > SOURCES_MAX:
        hint = "a pattern such as logs-* reads many pools as one"
        raise text.refused(tables[SOURCES_MAX], f"the query reads more than {SOURCES_MAX} tables", hint)
    arms = [ast.Union(_arm(text, table, needs)) for table in tables]
    return ast.Pipe(tuple(arms))


def _tables(tree: exp.Query) -> Iterator[exp.Table]:
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and cte_of(table) is None:
            yield table


def _arm(text: Text, table: exp.Table, needs: TableNeeds) -> ast.Pipe:
    source = _source(text, table)
    table.meta[SOURCE] = source
    operators: list[ast.Operator] = [ast.From((source,))]
    operators += [ast.Where(test) for test in needs.tests(table)]
    count = needs.first(table)
    operators += [] if count is None else [ast.Head(count)]
    return ast.Pipe(tuple(operators))


def _source(text: Text, table: exp.Table) -> ast.Source:
    if table.args.get("db") is not None:
        hint = "a name with a dot stands in quotes"
        raise text.refused(table, "a table has one name, without a schema", hint)
    name = table.name
    span = text.span(table.this)
    if not set(name) & set("@:/*?$"):
        return ast.Source(name, span=span)
    cursor = Cursor(name)
    try:
        found = read_source(cursor)
    except LochanError as error:
        raise text.refused(table.this, error.message, error.hint) from None
    if not cursor.ended():
        raise text.refused(table.this, f"`{name}` is not a source", "such as logs, logs@dev, logs:objects")
    return ast.Source(found.name, found.ref, found.path, found.meta, found.no_key, span=span)
