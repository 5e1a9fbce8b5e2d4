"""A call of an aggregate, with what it is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from lochan.query import ast
from lochan.query.compile.expressions import test_of, value_of
from lochan.query.compile.scope import Scope
from lochan.query.compile.sql import TRUE, Sql, all_of
from lochan.query.compile.value import Format, Value


@dataclass(frozen=True)
class Aggregated:
    call: ast.Call
    scope: Scope
    place: Sql | None  # counts the rows in their order, for those who need it
    grouped: bool  # a group has a row at least

    @cached_property
    def value(self) -> Value:
        return value_of(self.call.arguments[0], self.scope)

    @cached_property
    def test(self) -> Sql | None:
        return None if self.call.where is None else test_of(self.call.where, self.scope)

    def over(self, function: Sql, *tests: Sql) -> Sql:
        """The aggregate over the rows that count."""
        test = all_of([*([self.test] if self.test is not None else []), *tests])
        return function if test == TRUE else exp.Filter(this=function, expression=exp.Where(this=test.copy()))

    def distinct(self, sql: Sql) -> Sql:
        return exp.Distinct(expressions=[sql.copy()]) if self.call.distinct else sql.copy()

    @property
    def sure(self) -> bool:
        """Whether every group has a value."""
        return self.grouped and self.test is None and not self.value.nothing


def one_format(value: Value) -> Format | None:
    """How the times of all rows were written, if they were written alike."""
    return value.format if value.format is not None and value.format.number is None else None
