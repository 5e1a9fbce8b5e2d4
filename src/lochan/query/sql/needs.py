"""The rows that a query needs of each of its tables: tests that all rows which matter pass, and a number of rows that
is enough.

A test of a query around the table's own, such as

    WITH recent AS (SELECT ts AS at, host FROM logs)
    SELECT count(*) FROM recent WHERE at >= '2026-11-01'

is also a test of the table if the query between them handles each row by itself: then a row that fails it has no effect
on the others. A LIMIT, an aggregate, a window and an outer join between them depend on rows that fail the test, so
tests above those are not used. If a WITH is used several times, a row matters if any of its uses needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from msgspec.structs import replace
from sqlglot import exp

from lochan.query import ast
from lochan.query.sql.table_tests import (
    chooses_none,
    field_of,
    is_row_by_row,
    only_joins_rows,
    own_tests,
    qualifier,
)
from lochan.query.syntax.expressions import join_balanced

_NODES_MAX = 500  # of the tests of one WITH: each use repeats the tests above it

Columns = Callable[[str], ast.Expr | None]  # finds the field of a table for a column of a query, or None


class TableNeeds:
    def __init__(self, tree: exp.Query) -> None:
        self._uses: dict[int, list[exp.Table]] = {}  # by the CTE that they name
        self._known: dict[int, list[ast.Expr]] = {}
        for table in tree.find_all(exp.Table):
            cte = cte_of(table)
            if cte is not None:
                self._uses.setdefault(id(cte), []).append(table)

    def tests(self, table: exp.Table) -> list[ast.Expr]:
        """Returns tests that every row of the table that matters passes."""
        return self._tests(table, _select_of(table))

    def first(self, table: exp.Table) -> int | None:
        """Returns a number of rows, any of which are enough, or None if that is not known."""
        select = _select_of(table)
        while select is not None and chooses_none(select):
            limit = select.args.get("limit")
            if limit is not None:
                count = limit.expression
                return int(count.this) if isinstance(count, exp.Literal) and count.is_int else None
            uses = self._places(select)
            select = _select_of(uses[0]) if len(uses) == 1 else None
        return None

    def _tests(self, place: exp.Expr, select: exp.Select | None) -> list[ast.Expr]:
        """Returns the tests about a table or subquery in the FROM of the query."""
        if select is None or _names_columns(place):
            return []
        alias = place.alias_or_name
        found = list(own_tests(select, alias))
        if only_joins_rows(select) and is_row_by_row(select) and not _groups(select):
            above = (_rename_columns(test, _columns(select, alias)) for test in self._above(select))
            found += [test for test in above if test is not None]
        return found

    def _above(self, query: exp.Query) -> list[ast.Expr]:
        """Returns tests over the columns of a query's result."""
        if query.args.get("limit") or query.args.get("offset"):
            return []
        around = query.parent
        if isinstance(around, exp.CTE):
            return self._of_cte(around)
        if isinstance(around, exp.Union):
            return _by_place(self._above(around), around, query)
        if not isinstance(around, exp.Subquery):
            return []
        if isinstance(around.parent, exp.From | exp.Join):
            return self._tests(around, _select_of(around))
        return self._above(around) if isinstance(around.parent, exp.Union) else []

    def _of_cte(self, cte: exp.CTE) -> list[ast.Expr]:
        """Returns tests of the rows that at least one use of the WITH needs."""
        if id(cte) not in self._known:
            uses = [] if _names_columns(cte) else self._uses.get(id(cte), [])
            needs = [self._tests(use, _select_of(use)) for use in uses]
            made = _either(needs) if needs and all(needs) else []
            self._known[id(cte)] = made if sum(map(_nodes, made)) <= _NODES_MAX else []
        return self._known[id(cte)]

    def _places(self, query: exp.Query) -> Sequence[exp.Expr]:
        """Returns the places in a FROM where the result of a query is used."""
        around = query.parent
        if isinstance(around, exp.CTE):
            return self._uses.get(id(around), ())
        return [around] if isinstance(around, exp.Subquery) and isinstance(around.parent, exp.From) else ()


def cte_of(table: exp.Table) -> exp.CTE | None:
    """Returns the WITH of this name around the table. Inside a WITH only those before it can be named, and not
    itself."""
    child: exp.Expr = table
    node = table.parent
    passed: exp.Expr | None = None  # the query of the WITH that the table is in
    while node is not None:
        named: Sequence[exp.CTE] = ()
        if isinstance(node, exp.With):
            named = node.expressions[: node.expressions.index(child)]
            passed = node.parent
        elif node is not passed and isinstance(node, exp.Query) and node.args.get("with_") is not None:
            named = node.args["with_"].expressions
        found = next((each for each in named if each.alias == table.name), None)
        if found is not None:
            return found
        child, node = node, node.parent
    return None


def _select_of(place: exp.Expr) -> exp.Select | None:
    """Returns the query whose FROM contains the table."""
    around = place.parent
    select = around.parent if isinstance(around, exp.From | exp.Join) else None
    return select if isinstance(select, exp.Select) else None


def _names_columns(place: exp.Expr) -> bool:
    """Returns whether it is renamed as in `AS t(a, b)`, where the names are not those of the fields."""
    alias = place.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def _groups(select: exp.Select) -> bool:
    return any(select.args.get(key) for key in ("group", "having", "qualify"))


def _columns(select: exp.Select, table: str) -> Columns:
    """Returns a function that finds, for a column of the query, the unchanged field of this table."""
    if len(select.expressions) == 1 and _is_whole(select):
        return ast.Name
    items: dict[str, list[exp.Expr]] = {}
    for item in select.expressions:
        if not isinstance(item, exp.Alias | exp.Column) or isinstance(item.this, exp.Star):
            return lambda _: None  # only the rows or the function show its names
        items.setdefault(item.alias_or_name, []).append(item.unalias())

    def column(name: str) -> ast.Expr | None:
        found = items.get(name, [])
        return field_of(found[0], table, qualifier(select, table)) if len(found) == 1 else None

    return column


def _is_whole(select: exp.Select) -> bool:
    """Returns whether the query is `SELECT * FROM table`: all of its fields, and no others."""
    [item] = select.expressions
    changed = any(item.args.get(key) for key in ("except_", "replace", "rename"))
    return isinstance(item, exp.Star) and not changed and not select.args.get("joins")


def _either(needs: list[list[ast.Expr]]) -> list[ast.Expr]:
    return needs[0] if len(needs) == 1 else [join_balanced("or", [join_balanced("and", each) for each in needs])]


def _by_place(tests: list[ast.Expr], union: exp.Union, side: exp.Query) -> list[ast.Expr]:
    """Returns the tests for one side of a UNION, whose columns have the names of the first query and match the others
    by position."""
    if union.args.get("by_name"):
        return []
    given, own = _names(union), _names(side)
    if given is None or own is None or len(given) != len(own):
        return []

    def column(name: str) -> ast.Expr | None:
        return ast.Name(own[given.index(name)]) if given.count(name) == 1 else None

    made = [_rename_columns(test, column) for test in tests]
    return [test for test in made if test is not None]


def _names(query: exp.Expr) -> list[str] | None:
    """Returns the names of its columns, or None if only the rows show them."""
    while isinstance(query, exp.Union | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    names = [each.alias_or_name for each in query.expressions]
    return names if all(names) and "*" not in names else None


def _rename_columns(test: ast.Expr, columns: Columns) -> ast.Expr | None:
    """Returns the test with fields in place of columns, or None if one of them is not a field."""
    if isinstance(test, ast.Name):
        return columns(test.name)
    changed: dict[str, Any] = {}
    for name in test.__struct_fields__:
        value = getattr(test, name)
        parts = value if isinstance(value, tuple) else (value,)
        if not any(isinstance(each, ast.Node) for each in parts):
            continue
        made = [_rename_columns(each, columns) for each in parts]
        if any(each is None for each in made):
            return None
        changed[name] = tuple(made) if isinstance(value, tuple) else made[0]
    return replace(test, **changed) if changed else test


def _nodes(test: ast.Node) -> int:
    """Returns the number of nodes of the test."""
    count = 1
    for name in test.__struct_fields__:
        value = getattr(test, name)
        count += sum(_nodes(each) for each in (value if isinstance(value, tuple) else (value,)) if _is_node(each))
    return count


def _is_node(value: object) -> TypeGuard[ast.Node]:
    return isinstance(value, ast.Node)
