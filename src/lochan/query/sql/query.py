"""A whole SQL query: reading, opening and planning it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, NULL, SIMPLE, STRING, TIME
from lochan.query import ast
from lochan.query.compile.moments import exact_text
from lochan.query.compile.needed_rows import needed_rows
from lochan.query.compile.numbers import normalize
from lochan.query.compile.plan import OpenSource, Plan, select_column
from lochan.query.compile.relations import Names, Scan, total_order
from lochan.query.compile.scope import Query, check_plan
from lochan.query.compile.sql import Sql, sql_type
from lochan.query.compile.value import Value, fixed_object
from lochan.query.leaves import Source
from lochan.query.sql.parse import Text, check_parts, parse_query
from lochan.query.sql.scope import Made, SqlScope
from lochan.query.sql.selects import compile_select, limit
from lochan.query.sql.sources import SOURCE, found_sources
from lochan.query.sql.tables import Opener, cte_name
from lochan.query.sql.used_columns import with_used_columns
from lochan.query.sql.windows import order_of


@dataclass(frozen=True)
class SqlQuery:
    text: Text
    tree: exp.Query
    pipe: ast.Pipe  # a pipe that reads all its sources

    @property
    def takes_all(self) -> bool:
        """Whether it has a `*`: then the fields of all rows matter, even of rows that need not be read."""
        shown = [each for select in self.tree.find_all(exp.Select) for each in select.expressions]
        return any(isinstance(each, exp.Star) or isinstance(each.this, exp.Star) for each in shown if not _counts(each))

    def plan(self, open_source: OpenSource, now: int | None = None, *, tolerant: bool = False) -> Plan:
        """Returns the plan. With `tolerant`, a column that no row of a pool has is NULL, and the plan has a warning.
        Raises QueryError."""
        planner = _Planner(self.text, open_source, Query(self.text.written, now, Names(), tolerant))
        try:
            made = planner.made(self.tree, None)
            query = planner.filled(with_used_columns(planner.with_named(made.query)))
        except RecursionError:
            raise self.text.error("the query is nested too deeply", 0, 1) from None
        check_plan(query)
        columns: dict[str, exp.Expr] = {}
        row = select_column(fixed_object(dict(made.columns)), columns)
        of = planner.query
        absent, misread = frozenset(of.absent), frozenset(of.misread)
        return Plan(query, row, tuple(planner.sources), None, tuple(of.warnings), absent, misread)


def _counts(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count)


def read(text: str) -> SqlQuery:
    """Reads a query. Raises QueryError."""
    source, tree = parse_query(text)
    check_parts(source, tree)
    try:
        return SqlQuery(source, tree, found_sources(source, tree))
    except RecursionError:
        raise source.error("the query is nested too deeply", 0, 1) from None


@dataclass
class _Planner(Opener):
    text: Text
    open_source: Callable[[ast.Source], Source]
    query: Query
    sources: list[Source] = field(default_factory=list)
    scans: dict[str, Scan] = field(default_factory=dict)
    ctes: list[dict[str, Made]] = field(default_factory=list)
    written: list[tuple[str, exp.Query]] = field(default_factory=list)  # the queries of WITH, in order

    def made(self, node: exp.Expr, outer: SqlScope | None) -> Made:
        scope = SqlScope(self.query, self.text, self, outer=outer)
        while isinstance(node, exp.Subquery | exp.Paren):
            node = node.this
        self.ctes.append(self._with(node, scope))
        try:
            if isinstance(node, exp.Select):
                return compile_select(node, self, scope)
            if isinstance(node, exp.SetOperation):
                sides = [self.made(each, outer) for each in (node.this, node.expression)]
                return combine(node, sides[0], sides[1], scope)
        finally:
            self.ctes.pop()
        raise scope.refused(node, "expected a SELECT")

    def scan(self, table: exp.Table) -> Scan:
        opened = self.open_source(table.meta[SOURCE])
        self.sources.append(opened)
        scan = Scan(opened, self.query.names.next())
        self.scans[scan.alias] = scan
        return scan

    def named(self, name: str) -> Made | None:
        return next((each[name] for each in reversed(self.ctes) if name in each), None)

    def _with(self, node: exp.Expr, scope: SqlScope) -> dict[str, Made]:
        found = node.args.get("with_")
        if found is None:
            return {}
        if found.args.get("recursive"):
            raise scope.refused(found, "WITH RECURSIVE is not supported")
        named: dict[str, Made] = {}
        self.ctes.append(named)
        for each in found.expressions:
            if self.named(each.alias) is not None:
                raise scope.refused(each, f"`{each.alias}` is defined twice")
            made = self.made(each.this, None)
            named[each.alias] = made
            self.written.append((each.alias, made.query))
        self.ctes.pop()
        return named

    def with_named(self, query: exp.Query) -> exp.Query:
        """Adds everything that WITH defines to the outermost query. Names are unique."""
        if not self.written:
            return query
        named = [
            exp.CTE(this=each, alias=exp.TableAlias(this=exp.to_identifier(cte_name(name), quoted=True)))
            for name, each in self.written
        ]
        query.set("with_", exp.With(expressions=named))
        return query

    def filled(self, query: exp.Query) -> exp.Query:
        """Puts the scans in their places, each with the columns that are used."""
        used: dict[str, dict[str, None]] = {}
        for column in query.find_all(exp.Column):
            used.setdefault(column.table, {})[column.name] = None
        places = [each for each in query.find_all(exp.Subquery) if isinstance(each.this, exp.Null)]
        needed = needed_rows(query, places)
        for place in places:
            scan = self.scans[place.alias]
            place.set("this", scan.rows(used.get(scan.alias, {}), False, None, needed.get(id(place), ())))
        return query


# ── UNION, INTERSECT, EXCEPT ─────────────────────────────────────────────────────────────────────────────────────────


_KINDS = (exp.Union, exp.Intersect, exp.Except)
_ORIGINAL = "original"  # in a layout, after the kinds


def combine(node: exp.SetOperation, left: Made, right: Made, scope: SqlScope) -> Made:
    """Combines two queries. Columns match by position, each with the kinds that it has on either side. Beside a time
    there is the text in which it was written, where microseconds are not exact; if rows are compared, only the digits
    beyond microseconds."""
    if type(node) not in _KINDS or node.args.get("by_name"):
        raise scope.refused(node, "queries cannot be combined in this way", "use UNION, INTERSECT or EXCEPT")
    if len(left.columns) != len(right.columns):
        counts = f"{len(left.columns)} columns, the other {len(right.columns)}"
        raise scope.refused(node.expression, f"one side has {counts}")
    layout = [_layout(node, one, other, scope) for one, other in zip(left.columns, right.columns, strict=True)]
    distinct = node.args.get("distinct")
    sides = [_side(made, layout, scope, by_value=distinct is not False) for made in (left, right)]
    query: exp.Query = type(node)(this=sides[0], expression=sides[1], distinct=distinct)
    columns: list[tuple[str, Value]] = []
    at = 0
    for (name, _), kinds in zip(left.columns, layout, strict=True):
        alts: dict[str, Sql] = {kind: exp.column(f"c{at + number}", quoted=True) for number, kind in enumerate(kinds)}
        original = alts.pop(_ORIGINAL, None)
        columns.append((name, Value(alts, NULL, format=None, original=original)))
        at += len(kinds)
    return _order(node, query, columns, scope)


def _layout(node: exp.Expr, left: tuple[str, Value], right: tuple[str, Value], scope: SqlScope) -> list[str]:
    kinds = [*left[1].alts, *(kind for kind in right[1].alts if kind not in left[1].alts)]
    if not set(kinds) <= {*SIMPLE, "json", "error"}:
        raise scope.refused(node, f"column `{left[0]}` is a record or an array, which set operations do not support")
    return kinds if left[1].original is None and right[1].original is None else [*kinds, _ORIGINAL]


def _side(made: Made, layout: list[list[str]], scope: SqlScope, *, by_value: bool) -> exp.Select:
    alias = scope.query.names.next()
    shown: list[exp.Expr] = []
    for (_, value), kinds in zip(made.columns, layout, strict=True):
        here = _of(value, alias)
        for kind in kinds:
            there = here.original if kind == _ORIGINAL else here.alts.get(kind)
            if by_value and there is not None:
                there = (
                    exact_text(here) if kind == _ORIGINAL else normalize(here).alts[kind] if kind == DECIMAL else there
                )
            type = STRING if kind == _ORIGINAL else kind
            typed = exp.Cast(this=exp.Null() if there is None else there, to=sql_type(type))
            shown.append(typed.as_(f"c{len(shown)}", quoted=True))
    shown = shown or [exp.Literal.number(1).as_("_", quoted=True)]
    return exp.select(*shown, copy=False).from_(made.query.subquery(alias, copy=False), copy=False)


def _of(value: Value, alias: str) -> Value:
    """Returns the same columns under this alias."""
    alts: dict[str, Sql] = {kind: exp.column(sql.name, alias, quoted=True) for kind, sql in value.alts.items()}
    original = None if value.original is None else exp.column(value.original.name, alias, quoted=True)
    return Value(alts, original=original if TIME in alts else None)


def _order(node: exp.SetOperation, query: exp.Query, columns: list[tuple[str, Value]], scope: SqlScope) -> Made:
    """Adds ORDER BY, which can use only the result's columns, by name or by number."""
    order = node.args.get("order")
    if order is None and node.args.get("limit") is None and node.args.get("offset") is None:
        return Made(query, tuple(columns))
    alias = scope.query.names.next()
    names = [each.name for _, value in columns for each in (*value.alts.values(), value.original) if each is not None]
    outer = exp.select(*(exp.column(name, alias, quoted=True).as_(name, quoted=True) for name in names or ["_"]))
    outer = outer.from_(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))))
    by_name = dict(columns)

    def key(each: exp.Ordered) -> Value:
        this = each.this
        if isinstance(this, exp.Literal) and this.is_int and 1 <= int(this.this) <= len(columns):
            return columns[int(this.this) - 1][1]
        if isinstance(this, exp.Column) and not this.table and this.name in by_name:
            return by_name[this.name]
        raise scope.refused(this, "the rows of a set operation can only be ordered by a column of the result")

    keys = order_of(order, key)
    if keys:
        shown = {each.alias: each.this for each in outer.expressions}
        outer.set("order", exp.Order(expressions=list(total_order(keys, shown))))
    limit(outer, node, scope)
    return Made(outer, tuple(columns))
