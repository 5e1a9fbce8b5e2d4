"""FROM and JOIN: the tables of a query, and their SQL."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from lochan.pools.kinds import NULL
from lochan.query.compile.logic import all_of
from lochan.query.compile.relations import Scan
from lochan.query.compile.sql import Sql
from lochan.query.compile.value import Record, Value, map_expressions
from lochan.query.sql.comparison import compare
from lochan.query.sql.expressions import first_of, test_of
from lochan.query.sql.scope import Made, Maker, SqlScope, SqlTable, plain

_SIDES = ("", "LEFT", "RIGHT", "FULL")
_KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


class Opener(Maker, Protocol):
    """Compiles the queries that a FROM needs."""

    def scan(self, table: exp.Table) -> Scan: ...

    def named(self, name: str) -> Made | None:
        """Returns the query that an enclosing WITH defines under this name, or None."""


@dataclass
class Tables:
    """The tables of one FROM, as far as it has been read."""

    scope: SqlScope
    opener: Opener
    found: list[SqlTable] = field(default_factory=list)
    merged: dict[str, Value] = field(default_factory=dict)
    first: exp.Expr | None = None
    joins: list[exp.Join] = field(default_factory=list)

    def read(self, select: exp.Select) -> None:
        start = select.args.get("from_")
        if start is not None:
            self.first = self._add(start.this)
        elif select.args.get("joins"):
            raise self.scope.refused(select.args["joins"][0], "there is nothing to join with", "begin with FROM")
        for join in select.args.get("joins") or []:
            self._join(join)

    def _add(self, node: exp.Expr, optional: bool = False) -> exp.Expr:
        table, sql = self._table(node)
        if any(each.name == table.name for each in self.found):
            raise self.scope.refused(node, f"two tables are called `{table.name}`", "give one of them another name: AS")
        self.found.append(replace(table, optional=optional))
        return sql

    def _table(self, node: exp.Expr) -> tuple[SqlTable, exp.Expr]:
        alias = self.scope.query.names.next()
        if isinstance(node, exp.Subquery):
            return self._table_of(node, self.opener.made(node.this, None), alias, node.alias)
        if not isinstance(node, exp.Table):
            raise self.scope.refused(
                node, "only tables and queries can be used here", "the pipe language opens a list with `over`"
            )
        if not isinstance(node.this, exp.Identifier):
            is_named = isinstance(node.this, exp.Func) and not isinstance(node.this, exp.Anonymous)
            name = node.this.sql_name().lower() if is_named else node.this.name or node.this.sql("duckdb")
            hint = "rows come from pools and repositories: logs@main, sales@main/2026/*.parquet"
            raise self.scope.refused(node.this, f"`{name}` is not a table", hint)
        named = self.opener.named(node.name)
        if named is not None:
            return self._table_of(node, named, alias, node.alias_or_name, known=node.name)
        scan = self.opener.scan(node)
        record = _rename_fields(node, _record(scan))
        return SqlTable(node.alias_or_name, scan.alias, record), placeholder(scan.alias)

    def _table_of(
        self, node: exp.Expr, made: Made, alias: str, name: str, known: str = ""
    ) -> tuple[SqlTable, exp.Expr]:
        columns = {each: _under(value, alias) for each, value in made.columns}
        record = _rename_fields(node, Record(columns, columns.__getitem__))
        as_alias = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        sql: exp.Expr = exp.Subquery(this=made.query, alias=as_alias)
        if known:
            sql = exp.Table(this=exp.to_identifier(cte_name(known), quoted=True), alias=as_alias)
        return SqlTable(name or alias, alias, record), sql

    # ── joins ──

    def _join(self, join: exp.Join) -> None:
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if side not in _SIDES or kind not in _KINDS or (join.method or ""):
            raise self.scope.refused(join, f"this join is not supported: {join.sql('duckdb')[:30]}")
        before = list(self.found)
        if side in ("RIGHT", "FULL"):
            self.found = [replace(each, optional=True) for each in self.found]
        sql = self._add(join.this, optional=side in ("LEFT", "FULL"))
        made = exp.Join(this=sql, side=side or None, kind=kind or None)
        on = self._on(join, before)
        if on is not None:
            made.set("on", on)
        elif not (side or kind in ("SEMI", "ANTI")):
            made.set("kind", "CROSS")
        else:
            raise self.scope.refused(join.this, "this join has no condition", "ON a.x = b.y, or USING (x)")
        self.joins.append(made)
        if kind in ("SEMI", "ANTI"):
            self.found = before

    def _on(self, join: exp.Join, before: list[SqlTable]) -> Sql | None:
        scope = replace(self.scope, tables=tuple(self.found), merged=self.merged)
        if join.args.get("on") is not None:
            return test_of(join.args["on"], scope)
        using = join.args.get("using") or []
        tests = [self._join_using(join, each, before, scope) for each in using]
        return all_of(tests) if tests else None

    def _join_using(self, join: exp.Join, node: exp.Expr, before: list[SqlTable], scope: SqlScope) -> Sql:
        name = node.name
        mine = next((each for each in before if name in each.record), None)
        other = self.found[-1]
        if mine is None or name not in other.record:
            raise scope.refused(node, f"`{name}` is not in both tables")
        left, right = (plain(each.record.get(name)) for each in (mine, other))
        if name in self.merged:
            left = self.merged[name]
        test = compare("==", left, right, sure=True)
        side = (join.side or "").upper()
        if side == "FULL":
            self.merged[name] = replace(first_of([left, right], node, scope), nothing=NULL)
        else:
            self.merged[name] = right if side == "RIGHT" else left
        return test


def placeholder(alias: str) -> exp.Subquery:
    """Returns a placeholder for a scan, until it is known which of its columns are used."""
    return exp.Subquery(this=exp.Null(), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def cte_name(name: str) -> str:
    """Returns the name of a WITH in the plan. No other name begins like this."""
    return f"with {name}"


def _record(scan: Scan) -> Record:
    from lochan.query.compile.fields import row_of

    record = row_of(scan).record
    assert record is not None
    return record


def _rename_fields(node: exp.Expr, record: Record) -> Record:
    """Applies `AS t(a, b)`."""
    alias = node.args.get("alias")
    aliases = [each.name for each in alias.args.get("columns") or []] if alias is not None else []
    if not aliases:
        return record
    names = [*aliases, *record.names[len(aliases) :]]
    old = dict(zip(names, record.names, strict=False))
    return Record(names[: len(record.names)], lambda name: record.get(old[name]))


def _under(value: Value, alias: str) -> Value:
    """Returns the value as a column of a table in a FROM. No part of it is constant, because the row may be missing."""
    return replace(
        map_expressions(
            value, lambda sql, kind: exp.column(sql.name, alias, quoted=True) if isinstance(sql, exp.Column) else sql
        ),
        nothing=value.nothing and NULL,
    )
