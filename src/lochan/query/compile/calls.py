"""Calls of functions and aggregates, and how most functions handle the kinds of their argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, TypeVar

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, ERROR, FLOAT, NULL
from lochan.query import ast
from lochan.query.compile.arithmetic import as_float
from lochan.query.compile.expressions import test_of, value_of
from lochan.query.compile.logic import all_of, any_of, case, coalesce, is_null, is_set
from lochan.query.compile.numbers import refused_where_set
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.sql import FALSE, TRUE, Sql
from lochan.query.compile.sql import text as text_
from lochan.query.compile.value import Format, Value

T = TypeVar("T")


class FunctionCall:
    def __init__(self, e: ast.Call, scope: Scope) -> None:
        self.e = e
        self.scope = scope
        self.name = e.name
        self.arguments = e.arguments

    @cached_property
    def values(self) -> list[Value]:
        return [value_of(each, self.scope) for each in self.arguments]

    def __getitem__(self, at: int) -> Value:
        return self.values[at]

    def __len__(self) -> int:
        return len(self.arguments)

    def constant(self, at: int, type: type[T], what: str) -> T:
        """Returns an argument that must be a constant."""
        value = self.values[at].constant
        if not isinstance(value, type) or (isinstance(value, bool) and type is not bool):
            raise query_error(self.scope.query, self.arguments[at], f"`{self.name}` takes {what} as a constant")
        return value

    def text(self, at: int, what: str = "a text") -> str:
        return self.constant(at, str, what)

    def refuse(self, message: str, hint: str = "", at: int | None = None) -> NoReturn:
        raise query_error(self.scope.query, self.e if at is None else self.arguments[at], message, hint)


Function = Callable[[FunctionCall], Value]
Handlers = Mapping[str, tuple[str, Callable[[Sql], Sql]]]  # kind of the argument: kind of the result, its SQL


def by_kind(call: FunctionCall, value: Value, handlers: Handlers, *, may_fail: str = "") -> Value:
    """Applies the handler of each kind. Null stays null and missing stays missing. A kind without a handler is an
    error, and so is a result that does not exist, with the message `may_fail` if that is given."""
    found: dict[str, list[Sql]] = {}
    failed: list[tuple[Sql, Sql]] = []
    value = as_float(value)
    for kind, sql in value.alts.items():
        if kind in handlers:
            result, make = handlers[kind]
            made = make(sql)
            found.setdefault(result, []).append(made)
            if may_fail:
                failed.append((_fails(sql, made), text_(may_fail)))
        elif kind == DECIMAL and FLOAT in handlers:  # it is a number, so leaving it out would be a wrong answer
            found.setdefault(handlers[FLOAT][0], []).append(refused_where_set(sql, f"`{call.name}`", FLOAT))
        elif kind in (NULL, ERROR):
            found[kind] = [sql]
    alts = {kind: coalesce(*each) for kind, each in found.items()}
    handled = (*handlers, *((DECIMAL,) if FLOAT in handlers else ()))
    wrong = any_of([is_set(sql) for kind, sql in value.alts.items() if kind not in (*handled, NULL, ERROR)])
    if wrong != FALSE:
        failed.append((wrong, text_(f"`{call.name}` does not work with this kind")))
    if failed:
        message = case(*failed)
        alts[ERROR] = coalesce(alts[ERROR], message) if ERROR in alts else message
    return Value(alts, value.nothing)


def _fails(argument: Sql, made: Sql) -> Sql:
    return all_of([is_set(argument), is_null(made)])


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Aggregated:
    call: ast.Call
    scope: Scope
    place: Sql | None  # counts the rows in their order, for aggregates that need it
    grouped: bool  # whether a group has at least one row

    @cached_property
    def value(self) -> Value:
        return value_of(self.call.arguments[0], self.scope)

    @cached_property
    def test(self) -> Sql | None:
        return None if self.call.where is None else test_of(self.call.where, self.scope)

    def over(self, function: Sql, *tests: Sql) -> Sql:
        """Returns the aggregate over the rows that count."""
        test = all_of([*([self.test] if self.test is not None else []), *tests])
        return function if test == TRUE else exp.Filter(this=function, expression=exp.Where(this=test.copy()))

    def distinct(self, sql: Sql) -> Sql:
        return exp.Distinct(expressions=[sql.copy()]) if self.call.distinct else sql.copy()

    @property
    def sure(self) -> bool:
        """Whether every group has a value."""
        return self.grouped and self.test is None and not self.value.nothing


def one_format(value: Value) -> Format | None:
    """Returns the format of the times, if those of all rows have the same."""
    return value.format if value.format is not None and value.format.number is None else None
