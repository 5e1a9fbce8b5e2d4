"""The scope of an SQL expression: the tables of its FROM, those of the queries around it, and names of the select
list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from lochan.pools.kinds import ERROR, JSON, NULL
from lochan.query.compile.fields import member
from lochan.query.compile.moments import by_moment
from lochan.query.compile.numbers import normalize
from lochan.query.compile.scope import Query
from lochan.query.compile.sql import Sql
from lochan.query.compile.value import Record, Value
from lochan.query.errors import QueryError, UnknownField, did_you_mean
from lochan.query.sql.parse import Text


@dataclass(frozen=True)
class SqlTable:
    """A table of a FROM: its name, and the values of its columns."""

    name: str
    alias: str  # its alias in the plan
    record: Record
    optional: bool = False  # whether it is on the side of an outer join that may have no row

    def get(self, name: str) -> Value | None:
        if name not in self.record:
            return None
        value = self.record.get(name)
        return replace(value, nothing=NULL) if self.optional else value


@dataclass
class Seen:
    """Parts of an expression that were found."""

    aggregates: int = 0
    windows: int = 0


@dataclass(frozen=True)
class Made:
    """A query in the plan's SQL, and its columns: their names, and values in terms of the query's own columns."""

    query: exp.Query
    columns: tuple[tuple[str, Value], ...]


class Maker(Protocol):
    """Compiles queries within a query."""

    def made(self, node: exp.Expr, outer: SqlScope | None) -> Made: ...


@dataclass(frozen=True)
class SqlScope:
    query: Query
    text: Text
    maker: Maker
    tables: Sequence[SqlTable] = ()
    outer: SqlScope | None = None
    merged: dict[str, Value] = field(default_factory=dict)  # columns of a JOIN … USING
    named: dict[str, Value] = field(default_factory=dict)  # values of the select list, for ORDER BY and similar clauses
    by_value: bool = False  # whether rows are compared by their columns, so the same number or moment has the same text
    aliases: frozenset[str] = frozenset()  # all aliases in the select list
    groups: bool = False  # with groups, a name of the select list that is also a field can only be refused here
    aggregates: bool = False  # whether aggregates may be called here
    windows: bool = False
    seen: Seen = field(default_factory=Seen)
    of_group: Seen | None = None  # in a window's aggregate: records the aggregates of the group in its arguments

    def refused(self, node: exp.Expr, message: str, hint: str = "") -> QueryError:
        return self.text.refused(node, message, hint)

    def column(self, node: exp.Column) -> Value:
        names = [each.name for each in node.parts]
        found = self._find_value(names, node)
        if found is None:
            self.query.unknown(self._unknown(names, node), may_come=self._may_come(names))
            return NOTHING
        return self.plain(found)

    def plain(self, value: Value) -> Value:
        found = plain(value)
        return by_moment(normalize(found)) if self.by_value else found

    def _may_come(self, names: list[str]) -> bool:
        """Returns whether later rows may have the field. It is not one if the select list has the name, which then
        cannot be used here."""
        named = [each for each in self.tables if each.name == names[0]] if len(names) > 1 else []
        grows = any(each.record.grows for each in named or self.tables)
        outer = self.outer is not None and not named and self.outer._may_come(names)
        return (grows or outer) and not (len(names) == 1 and names[0] in self.aliases)

    def below(self, value: Value, names: list[str], node: exp.Expr) -> Value:
        """Returns a member of a member of a record."""
        for name in names:
            inner, record = member(value, name), value.record
            if not inner.alts and JSON not in value.alts and (record is None or name not in record):
                near = did_you_mean(name, record.names) if record is not None else ""
                error = self._error(node, f"unknown field `{name}`{near}")
                self.query.unknown(error, may_come=record is not None and record.grows)
            value = inner
        return value

    def _find_value(self, names: list[str], node: exp.Column) -> Value | None:
        table = next((each for each in self.tables if each.name == names[0]), None)
        if table is None or len(names) == 1:
            return self._find_elsewhere(names, node)
        if (value := table.get(names[1])) is not None:
            return self.below(value, names[2:], node)
        found = self._find_elsewhere(names, node)
        if found is not None:
            self.query.misread.add(".".join(names))
        return found

    def _find_elsewhere(self, names: list[str], node: exp.Column) -> Value | None:
        """Finds a value by a name that is not a table with a column."""
        if names[0] in self.merged:
            return self.below(self.merged[names[0]], names[1:], node)
        holders = [each for each in self.tables if names[0] in each.record]
        if len(holders) > 1:
            hint = "write " + " or ".join(f"{each.name}.{names[0]}" for each in holders)
            raise self.refused(node, f"column `{names[0]}` is in several tables", hint)
        named = not holders and len(names) == 1 and names[0] in self.named
        if not (named and self.groups) and any(each.record.grows for each in self.tables if each not in holders):
            self.query.absent.add(names[0])
        if holders and (value := holders[0].get(names[0])) is not None:
            return self.below(value, names[1:], node)
        if named:
            return self.named[names[0]]
        return self.outer._find_value(names, node) if self.outer is not None else None

    def _error(self, node: exp.Expr, message: str, hint: str = "") -> UnknownField:
        return UnknownField(message, self.text.written, self.text.span(node), hint=hint)

    def _unknown(self, names: list[str], node: exp.Column) -> UnknownField:
        table = next((each for each in self.tables if each.name == names[0]), None)
        if len(names) > 1 and table is not None:
            near = did_you_mean(names[1], table.record.names)
            return self._error(node, f"unknown column `{names[1]}` of `{names[0]}`{near}")
        columns = [name for each in self.tables for name in each.record.names]
        near = did_you_mean(names[0], [*columns, *self.named])
        hint = "" if near else "a text stands in 'single quotes'" if node.this.args.get("quoted") else ""
        return self._error(node, f"unknown column `{names[0]}`{near}", hint)


NOTHING = Value({}, NULL)


def plain(value: Value) -> Value:
    """Returns the value as SQL sees it: missing, null and errors are NULL."""
    alts = {kind: value.alts[kind] for kind in value.alts if kind not in (NULL, ERROR)}
    same = len(alts) == len(value.alts)
    return replace(value, alts=alts, nothing=value.nothing and NULL if same else NULL)


def of_test(test: Sql) -> Value:
    return Value({"bool": test}, NULL)
