"""Comparisons as SQL has them: NULL where one side is. Values of different kinds are unequal, and never an error.

A text that denotes a time counts as one where it is compared with times, because SQL has no other way to write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from lochan.pools.kinds import INT, SIMPLE, STRING, TIME
from lochan.query.compile.comparison import compare as compared_by_kind
from lochan.query.compile.logic import all_of, any_of, case, negate, surely
from lochan.query.compile.sql import FALSE, Sql, moment
from lochan.query.compile.value import MISSING, Value, has_value
from lochan.query.sql.table_tests import time_of


def compare(op_: str, left: Value, right: Value, *, sure: bool) -> Sql:
    left, right = _unlike_null(_as_time(left, right)), _unlike_null(_as_time(right, left))
    if _are_alike(left, right):
        return compared_by_kind(op_, left, right)
    if op_ == "!=":
        equal = surely(compared_by_kind("==", left, right))
        return _where_both(negate(equal), left, right)
    test = compared_by_kind(op_, left, right)
    return test if sure else _where_both(surely(test), left, right)


def same(left: Value, right: Value) -> Sql:
    """Compiles IS NOT DISTINCT FROM, which is never NULL."""
    neither = all_of([negate(has_value(left)), negate(has_value(right))])
    return any_of([neither, surely(compare("==", left, right, sure=True))])


def one_of(value: Value, items: Sequence[Value], *, sure: bool) -> Sql:
    """Compiles `IN (…)`. For values of one kind it stays an IN, which engines look up at once."""
    kind = next(iter(value.alts), "")
    plain = len(value.alts) == 1 and kind in (INT, STRING) and not isinstance(value.alts[kind], exp.Case)
    if plain and all(item.constant is not None and set(item.alts) == {kind} for item in items):
        return exp.In(this=value.alts[kind].copy(), expressions=[item.alts[kind].copy() for item in items])
    return any_of(compare("==", value, item, sure=sure) for item in items)


def _are_alike(left: Value, right: Value) -> bool:
    """Returns whether both values have the same single kind: then the engine's own comparison has all three
    outcomes."""
    return len(left.alts) == 1 and left.kinds == right.kinds and left.kinds <= set(SIMPLE)


def _unlike_null(value: Value) -> Value:
    """Makes NULLs unequal to each other, as missing values are in the pipe language."""
    return replace(value, nothing=MISSING) if value.nothing else value


def _where_both(test: Sql, left: Value, right: Value) -> Sql:
    """Returns the test, with NULL where one of the values is NULL."""
    both = all_of([has_value(left), has_value(right)])
    if both == FALSE:
        return exp.Cast(this=exp.Null(), to=exp.DataType.build("boolean"))
    return case((both, test))


def _as_time(value: Value, other: Value) -> Value:
    if TIME not in other.alts or STRING not in value.alts or not isinstance(value.constant, str):
        return value
    micros = time_of(value.constant)
    if micros is None:
        return value
    if STRING in other.alts and other.original is None:
        return replace(value, alts={**value.alts, TIME: moment(micros)})
    return Value({TIME: moment(micros)}, constant=micros)
