"""The aggregates, each over the kinds of its argument. Missing and null are skipped; where nothing is left the result
is null, or 0 for a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from lochan.pools.shape import ARRAY, BOOL, FLOAT, INT, JSON, NULL, OBJECT, STRING, TIME
from lochan.query import ast
from lochan.query.compile.comparing import exact
from lochan.query.compile.expressions import test_of, value_of
from lochan.query.compile.functions.kinds import type_text
from lochan.query.compile.scope import Scope, refused
from lochan.query.compile.sql import (
    DURATION,
    ERROR,
    IP,
    TRUE,
    Sql,
    all_of,
    any_of,
    case,
    cast,
    coalesce,
    is_null,
    is_set,
    negate,
    null_of,
    number,
    op,
    text,
)
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import NUMBERS, SIMPLE, Format, Value, present, valued
from lochan.query.dialects.neutral import neutral

_TYPED = (BOOL, INT, FLOAT, STRING, TIME)


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


def aggregate(each: Aggregated) -> Value:
    return _TABLE[each.call.name](each)


def count(each: Aggregated) -> Value:
    if not each.call.arguments:
        return Value({INT: each.over(exp.Count(this=exp.Star()))})
    if each.call.distinct:
        return count_distinct(each)
    there = valued(each.value)
    return Value({INT: each.over(exp.Count(this=exp.Star()), *([] if there == TRUE else [there]))})


def total(each: Aggregated) -> Value:
    alts: dict[str, Sql] = {}
    value = each.value
    sums = {kind: _sum(each, kind) for kind in (INT, FLOAT, DURATION) if kind in value.alts}
    if DURATION in sums and not set(NUMBERS) & set(sums):
        alts[DURATION] = sums[DURATION]
    elif set(NUMBERS) <= set(sums):
        floats = is_set(sums[FLOAT])
        alts[INT] = case((negate(floats), sums[INT]))
        alts[FLOAT] = case((floats, op(exp.Add, sums[FLOAT], coalesce(cast(sums[INT], FLOAT), number(0.0)))))
    else:
        alts |= {kind: sql for kind, sql in sums.items() if kind in NUMBERS}
    if INT in sums:
        some = is_set(each.over(exp.Max(this=each.distinct(value.alts[INT]))))
        alts[ERROR] = case((all_of([some, is_null(sums[INT])]), text("the sum has more than 64 bits")))
    return Value(alts, NULL)


def _sum(each: Aggregated, kind: str) -> Sql:
    return neutral(
        "sum", each.over(neutral("sum_of", each.distinct(each.value.alts[kind]), options=(kind,))), options=(kind,)
    )


def average(each: Aggregated) -> Value:
    real = _reals(each.value)
    if real is None:
        return Value({NULL: TRUE})
    return Value({FLOAT: each.over(exp.Avg(this=each.distinct(real)))}, NULL)


def deviation(each: Aggregated) -> Value:
    real = _reals(each.value)
    if real is None:
        return Value({NULL: TRUE})
    return Value({FLOAT: each.over(exp.StddevSamp(this=each.distinct(real)))}, NULL)


def quantile(each: Aggregated) -> Value:
    share = value_of(each.call.arguments[1], each.scope).constant
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise refused(
            each.scope.query,
            each.call.arguments[1],
            "a quantile is a number between 0 and 1 that the query itself says",
        )
    real = _reals(each.value)
    if real is None:
        return Value({NULL: TRUE})
    return Value({FLOAT: each.over(neutral("quantile", real, options=(float(share),)))}, NULL)


def least(each: Aggregated) -> Value:
    return _extreme(each, exp.Min, least=True)


def greatest(each: Aggregated) -> Value:
    return _extreme(each, exp.Max, least=False)


def _extreme(each: Aggregated, function: type[exp.AggFunc], *, least: bool) -> Value:
    """By kind first: the least is of the first kind that there is, the greatest of the last."""
    value = each.value
    ends = {kind: each.over(function(this=value.alts[kind].copy())) for kind in SIMPLE if kind in value.alts}
    for kind in (JSON, ARRAY, OBJECT):
        if kind in value.alts and not ends:
            raise refused(each.scope.query, each.call, f"`{each.call.name}` takes no arrays and no records")
    if set(NUMBERS) <= set(ends):
        whole, real = ends[INT], ends[FLOAT]
        first = any_of([is_null(real), exact("<=" if least else ">=", whole, real)])
        ends[INT], ends[FLOAT] = (
            case((all_of([is_set(whole), first]), whole)),
            case((all_of([is_set(real), any_of([is_null(whole), negate(coalesce(first, exp.false()))])]), real)),
        )
    order = list(ends) if least else list(reversed(ends))
    alts: dict[str, Sql] = {}
    for at, kind in enumerate(order):
        others = [ends[other] for other in order[:at] if not {kind, other} <= set(NUMBERS)]
        alts[kind] = case((all_of(is_null(other) for other in others), ends[kind])) if others else ends[kind]
    return Value(alts, "" if each.sure and len(value.alts) == 1 else NULL, format=_one_format(value))


def _one_format(value: Value) -> Format | None:
    return value.format if value.format is not None and value.format.number is None else None


def whichever(each: Aggregated) -> Value:
    """The least, so that every run and every engine gives the same."""
    if each.value.kinds <= {*SIMPLE, NULL, ERROR}:
        return least(each)
    return Value({JSON: each.over(exp.Min(this=json_text(each.value)), valued(each.value))}, NULL)


def first(each: Aggregated) -> Value:
    return _at_end(each, "first_by")


def last(each: Aggregated) -> Value:
    return _at_end(each, "last_by")


def _at_end(each: Aggregated, name: str) -> Value:
    assert each.place is not None
    value = each.value
    tests = _there(value)
    if value.kinds <= {*SIMPLE, ARRAY, JSON, NULL, ERROR}:
        kept = {kind: sql for kind, sql in value.alts.items() if kind not in (ERROR, NULL)}
        picked = {kind: each.over(neutral(name, sql, each.place), *tests) for kind, sql in kept.items()}
        return Value(picked, NULL, value.element, None, _one_format(value))
    return Value({JSON: each.over(neutral(name, json_text(value), each.place), *tests)}, NULL)


def collect(each: Aggregated) -> Value:
    """An array in the order of the rows; nulls are kept, what is missing is not."""
    assert each.place is not None
    value = each.value
    tests = _there(value)
    kind = _single(value)
    if kind is not None:
        made = neutral("collected", each.over(neutral("collect", value.alts[kind], each.place), *tests))
        return Value({ARRAY: _or_empty(made, kind)}, "", kind)
    texts = neutral("collected", each.over(neutral("collect", json_text(value), each.place), *tests))
    return Value({JSON: _json_list(texts)})


def union(each: Aggregated) -> Value:
    value = each.value
    there = valued(value)
    tests = [] if there == TRUE else [there]
    kind = _single(value)
    if kind is not None:
        made = neutral("sorted_list", each.over(neutral("collect_distinct", value.alts[kind]), *tests))
        return Value({ARRAY: _or_empty(made, kind)}, "", kind)
    keys = [_class(value), _size(value), _letters(value), json_text(value)]
    texts = neutral("sorted_texts", each.over(neutral("collect_keyed", *keys), *tests))
    return Value({JSON: _json_list(texts)})


def _class(value: Value) -> Sql:
    """What a value is sorted by before all else: its kind."""
    places = {kind: at for at, kind in enumerate(SIMPLE)} | {FLOAT: SIMPLE.index(INT)}
    arms = [(is_set(sql), number(places.get(kind, len(places)))) for kind, sql in value.alts.items() if kind != NULL]
    return coalesce(case(*arms), number(0))


def _size(value: Value) -> Sql:
    """Then, if it is one, its number."""
    sizes: dict[str, Callable[[Sql], Sql]] = {
        BOOL: lambda sql: cast(cast(sql, INT), FLOAT),
        INT: lambda sql: cast(sql, FLOAT),
        FLOAT: lambda sql: sql,
        DURATION: lambda sql: cast(sql, FLOAT),
        TIME: lambda sql: cast(neutral("micros", sql), FLOAT),
    }
    found = [sizes[kind](sql) for kind, sql in value.alts.items() if kind in sizes]
    return coalesce(*found, number(0.0))


def _letters(value: Value) -> Sql:
    """Then its text."""
    return coalesce(*(value.alts[kind] for kind in (STRING, IP) if kind in value.alts), text(""))


def count_distinct(each: Aggregated) -> Value:
    value = each.value
    if value.kinds <= {*SIMPLE, NULL, ERROR}:
        kinds = [kind for kind in value.alts if kind in SIMPLE]
        counts = [each.over(exp.Count(this=exp.Distinct(expressions=[value.alts[kind].copy()]))) for kind in kinds]
    else:
        counts = [each.over(exp.Count(this=exp.Distinct(expressions=[json_text(value)])), valued(value))]
    whole: Sql = counts[0] if counts else number(0)
    for another in counts[1:]:
        whole = op(exp.Add, whole, another)
    return Value({INT: whole})


def conjunction(each: Aggregated) -> Value:
    return _of_bools(each, exp.LogicalAnd)


def disjunction(each: Aggregated) -> Value:
    return _of_bools(each, exp.LogicalOr)


def _of_bools(each: Aggregated, function: type[exp.AggFunc]) -> Value:
    if BOOL not in each.value.alts:
        return Value({NULL: TRUE})
    return Value({BOOL: each.over(function(this=each.value.alts[BOOL].copy()))}, NULL)


def fused_type(each: Aggregated) -> Value:
    """Each type that there is, once."""
    texts = neutral("sorted_list", each.over(neutral("collect_distinct", type_text(each.value)), valued(each.value)))
    return Value({STRING: neutral("list_join", texts, options=("|",))}, NULL)


def _there(value: Value) -> list[Sql]:
    """Null is a value here; what is missing or an error is passed over."""
    there = present(value)
    tests = [] if there == TRUE else [there]
    return [*tests, is_null(value.alts[ERROR])] if ERROR in value.alts else tests


def _single(value: Value) -> str | None:
    """The one kind that an array of such values would have, beside null."""
    kinds = value.kinds - {NULL, ERROR}
    kind = next(iter(kinds), None)
    return kind if len(kinds) == 1 and kind in _TYPED else None


def _or_empty(made: Sql, kind: str) -> Sql:
    return coalesce(made, cast_empty(kind))


def cast_empty(kind: str) -> Sql:
    return neutral("empty_list", null_of(kind), options=(kind,))


def _json_list(texts: Sql) -> Sql:
    inner = coalesce(neutral("list_join", texts, options=(",",)), text(""))
    return exp.DPipe(this=exp.DPipe(this=text("["), expression=inner), expression=text("]"))


def _reals(value: Value) -> Sql | None:
    found = [value.alts[INT]] if INT in value.alts else []
    if FLOAT in value.alts:
        found = [cast(each, FLOAT) for each in found] + [value.alts[FLOAT]]
    return coalesce(*found) if found else None


_TABLE: dict[str, Callable[[Aggregated], Value]] = {
    "count": count,
    "sum": total,
    "avg": average,
    "min": least,
    "max": greatest,
    "any": whichever,
    "first": first,
    "last": last,
    "collect": collect,
    "union": union,
    "dcount": count_distinct,
    "countdistinct": count_distinct,
    "stddev": deviation,
    "quantile": quantile,
    "and": conjunction,
    "or": disjunction,
    "fuse": fused_type,
}
