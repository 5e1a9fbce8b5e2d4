"""A whole SQL query: read, opened, planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from lochan.query import ast
from lochan.query.compile.plan import OpenSource, Plan
from lochan.query.compile.relations import Names, Scan
from lochan.query.compile.result_columns import shown
from lochan.query.compile.scope import Query
from lochan.query.compile.size import check_plan
from lochan.query.compile.value import fixed
from lochan.query.leaves import Source
from lochan.query.sql.parse import Text, parsed
from lochan.query.sql.parts import check_parts
from lochan.query.sql.scope import Made, SqlScope
from lochan.query.sql.selects import selected
from lochan.query.sql.sets import combined
from lochan.query.sql.sources import SOURCE, found_sources
from lochan.query.sql.tables import Opener, cte_name


@dataclass(frozen=True)
class SqlQuery:
    text: Text
    tree: exp.Query
    pipe: ast.Pipe  # reads all its sources

    @property
    def takes_all(self) -> bool:
        """Whether it has a `*`: then fields are to be known of rows, too, which need not be read."""
        shown = [each for select in self.tree.find_all(exp.Select) for each in select.expressions]
        return any(isinstance(each, exp.Star) or isinstance(each.this, exp.Star) for each in shown if not _counts(each))

    def plan(self, open_source: OpenSource, now: int | None = None, *, tolerant: bool = False) -> Plan:
        """`tolerant`: a column that no row of a pool has is NULL, and the plan has a warning. Raises QueryError."""
        planner = _Planner(self.text, open_source, Query(self.text.written, now, Names(), tolerant))
        try:
            made = planner.made(self.tree, None)
            query = planner.filled(planner.with_named(made.query))
        except RecursionError:
            raise self.text.error("the query is nested too deeply", 0, 1) from None
        check_plan(query)
        columns: dict[str, exp.Expr] = {}
        row = shown(fixed(dict(made.columns)), columns)
        return Plan(query, row, tuple(planner.sources), warnings=tuple(planner.query.warnings))


def _counts(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count)


def read(text: str) -> SqlQuery:
    """Raises QueryError."""
    known, tree = parsed(text)
    check_parts(known, tree)
    try:
        return SqlQuery(known, tree, found_sources(known, tree))
    except RecursionError:
        raise known.error("the query is nested too deeply", 0, 1) from None


@dataclass
class _Planner(Opener):
    text: Text
    open_source: Callable[[ast.Source], Source]
    query: Query
    sources: list[Source] = field(default_factory=list)
    scans: dict[str, Scan] = field(default_factory=dict)
    ctes: list[dict[str, Made]] = field(default_factory=list)
    written: list[tuple[str, exp.Query]] = field(default_factory=list)  # WITH, in order

    def made(self, node: exp.Expr, outer: SqlScope | None) -> Made:
        scope = SqlScope(self.query, self.text, self, outer=outer)
        while isinstance(node, exp.Subquery | exp.Paren):
            node = node.this
        self.ctes.append(self._with(node, scope))
        try:
            if isinstance(node, exp.Select):
                return selected(node, self, scope)
            if isinstance(node, exp.SetOperation):
                sides = [self.made(each, outer) for each in (node.this, node.expression)]
                return combined(node, sides[0], sides[1], scope)
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
            raise scope.refused(found, "WITH RECURSIVE is not known here")
        known: dict[str, Made] = {}
        self.ctes.append(known)
        for each in found.expressions:
            if self.named(each.alias) is not None:
                raise scope.refused(each, f"`{each.alias}` is given twice")
            made = self.made(each.this, None)
            known[each.alias] = made
            self.written.append((each.alias, made.query))
        self.ctes.pop()
        return known

    def with_named(self, query: exp.Query) -> exp.Query:
        """All that WITH names, at the very top: no two have one name."""
        if not self.written:
            return query
        named = [
            exp.CTE(this=each, alias=exp.TableAlias(this=exp.to_identifier(cte_name(name), quoted=True)))
            for name, each in self.written
        ]
        query.set("with_", exp.With(expressions=named))
        return query

    def filled(self, query: exp.Query) -> exp.Query:
        """With the scans in their places, each of the columns that are used."""
        used: dict[str, dict[str, None]] = {}
        for column in query.find_all(exp.Column):
            used.setdefault(column.table, {})[column.name] = None
        for place in list(query.find_all(exp.Subquery)):
            if isinstance(place.this, exp.Null):
                scan = self.scans[place.alias]
                place.set("this", scan.query(list(used.get(scan.alias, {})), False))
        return query
