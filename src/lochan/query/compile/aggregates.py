"""The aggregates, each over the kinds of its argument. Missing and null are skipped; where nothing is left the result
is null, or 0 for a count."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lochan.pools.kind_order import DURATION, SIMPLE
from lochan.pools.shape import BOOL, FLOAT, INT, NULL, TIME
from lochan.query.compile import decimals, numbers
from lochan.query.compile.calls import Aggregated
from lochan.query.compile.collect import collect, first, fused_type, greatest, last, least, ordering, union
from lochan.query.compile.exact_sums import exact_average, exact_total
from lochan.query.compile.expressions import value_of
from lochan.query.compile.moments import exact_text
from lochan.query.compile.scope import refused
from lochan.query.compile.sql import (
    DECIMAL,
    ERROR,
    TRUE,
    Sql,
    all_of,
    case,
    cast,
    coalesce,
    is_null,
    is_set,
    negate,
    number,
    op,
    text,
)
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import NUMBERS, Value, valued
from lochan.query.dialects.neutral import neutral


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
    if DECIMAL in value.alts:
        return exact_total(each)
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
    if DECIMAL in each.value.alts:
        return exact_average(each)
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


def count_distinct(each: Aggregated) -> Value:
    value = each.value
    if value.kinds <= {*SIMPLE, NULL, ERROR}:
        kinds = [kind for kind in value.alts if kind in SIMPLE]
        counts = [each.over(exp.Count(this=exp.Distinct(expressions=[_identity(value, kind)]))) for kind in kinds]
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


def _identity(value: Value, kind: str) -> Sql:
    """What tells values of one kind apart."""
    exact = exact_text(value) if kind == TIME else None
    if exact is not None:
        return coalesce(exact, neutral("time_text", value.alts[TIME]))
    return ordering(value, kind)


def _reals(value: Value) -> Sql | None:
    found = [value.alts[INT]] if INT in value.alts else []
    if FLOAT in value.alts or DECIMAL in value.alts:
        found = [cast(each, FLOAT) for each in found]
    if FLOAT in value.alts:
        found.append(value.alts[FLOAT])
    if DECIMAL in value.alts:
        found.append(numbers.nearest(value.alts[DECIMAL]) if value.exact is None else decimals.nearest(value.exact))
    return coalesce(*found) if found else None


_TABLE: dict[str, Callable[[Aggregated], Value]] = {
    "count": count,
    "sum": total,
    "avg": average,
    "min": least,
    "max": greatest,
    "any": least,  # so that every run and every engine gives the same
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
