"""The aggregates, each over the kinds of its argument. Missing and null are skipped; if no value is left the result is
null, or 0 for a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from lochan.pools.kinds import BOOL, DECIMAL, DURATION, ERROR, FLOAT, INT, NULL, SIMPLE, TIME
from lochan.pools.layout import DIGITS_MAX
from lochan.query.compile import decimals, numbers
from lochan.query.compile.calls import Aggregated
from lochan.query.compile.collect import collect, first, fused_type, greatest, last, least, ordering, union
from lochan.query.compile.expressions import value_of
from lochan.query.compile.logic import all_of, case, coalesce, is_null, is_set, negate
from lochan.query.compile.moments import exact_text
from lochan.query.compile.scope import query_error
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, number, op, text
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import NUMBERS, Exact, Value, has_value
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import Digits


def aggregate(each: Aggregated) -> Value:
    return _TABLE[each.call.name](each)


def count(each: Aggregated) -> Value:
    if not each.call.arguments:
        return Value({INT: each.over(exp.Count(this=exp.Star()))})
    if each.call.distinct:
        return count_distinct(each)
    there = has_value(each.value)
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
        raise query_error(each.scope.query, each.call.arguments[1], "the quantile must be a constant between 0 and 1")
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
        counts = [each.over(exp.Count(this=exp.Distinct(expressions=[json_text(value)])), has_value(value))]
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
    """Returns SQL that is equal exactly for equal values of one kind."""
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


# ── exact sums ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Parts(NamedTuple):
    """The parts of a sum over numbers that include decimals (`numbers.py`): the digits before the point, and two groups
    of 27 digits after it, each as wide as a decimal of the engines. A float counts as its shortest text. If a float is
    too large or too small for that, or all numbers are floats, the sum is a float. A decimal with too many digits ends
    the query with an error."""

    exact: Sql  # whether the sum is exact: there are decimals, and no float is beyond them
    total: Sql  # its text
    texts: Sql  # the texts of all numbers that are added
    exact_total: Exact | None = None  # the sum as a decimal, if the engine adds it up


def exact_total(each: Aggregated) -> Value:
    parts, value = _parts(each), each.value
    alts: dict[str, Sql] = {DECIMAL: case((parts.exact, parts.total))}
    exact = parts.exact_total and replace(parts.exact_total, sql=case((parts.exact, parts.exact_total.sql)))
    whole = _sum(each, INT) if INT in value.alts else None
    reals = _sum(each, FLOAT) if FLOAT in value.alts else None
    some_reals = FALSE if reals is None else is_set(reals)
    if whole is not None:
        inexact = all_of([negate(parts.exact), negate(some_reals)])
        alts[INT] = case((inexact, whole))
        some = is_set(each.over(exp.Max(this=value.alts[INT].copy())))
        alts[ERROR] = case((all_of([inexact, some, is_null(whole)]), text("the sum has more than 64 bits")))
    if reals is not None:
        near = each.over(exp.Sum(this=_nearest_float(value)))
        rest = [coalesce(near, number(0.0))] + (
            [coalesce(cast(whole, FLOAT), number(0.0))] if whole is not None else []
        )
        for addend in rest:
            reals = op(exp.Add, reals, addend)
        alts[FLOAT] = case((all_of([negate(parts.exact), some_reals]), reals))
    return Value(alts, NULL, exact=exact)


def exact_average(each: Aggregated) -> Value:
    """Returns the exact sum, divided once."""
    parts = _parts(each)
    count = cast(each.over(exp.Count(this=parts.texts.copy())), FLOAT)
    total = numbers.nearest(parts.total) if parts.exact_total is None else decimals.nearest(parts.exact_total)
    exact = op(exp.Div, total, count)
    near: list[Sql] = [cast(each.value.alts[INT], FLOAT)] if INT in each.value.alts else []
    near += [each.value.alts[FLOAT]] if FLOAT in each.value.alts else []
    if not near:
        return Value({FLOAT: case((parts.exact, exact))}, NULL)
    near.append(_nearest_float(each.value))
    return Value({FLOAT: case((parts.exact, exact), other=each.over(exp.Avg(this=coalesce(*near))))}, NULL)


def _parts(each: Aggregated) -> _Parts:
    if each.call.distinct:
        raise query_error(
            each.scope.query,
            each.call,
            f"`{each.call.name}` of distinct values does not work on a field that may hold numbers of so many digits",
            "use float64(…) for the nearest floats",
        )
    if each.value.exact is not None:
        return _decimal_parts(each, each.value.exact)
    value = each.value
    texts: list[Sql] = [value.alts[DECIMAL]]
    if INT in value.alts:
        texts.append(numbers.number_text(INT, value.alts[INT]))
    beyond: Sql = FALSE
    if FLOAT in value.alts:
        real = numbers.number_text(FLOAT, value.alts[FLOAT])
        texts.append(case((_fits(value.alts[FLOAT]), real)))
        beyond = _beyond(each, value.alts[FLOAT])
    added = coalesce(*texts)
    message = f"`{each.call.name}` meets a number with over 38 digits before the point or 54 behind it"
    sums = [
        each.over(exp.Sum(this=neutral(part, added, options=(message,))))
        for part in ("decimal_whole", "decimal_rest", "decimal_tail")
    ]
    some = is_set(each.over(exp.Max(this=value.alts[DECIMAL].copy())))
    return _Parts(all_of([some, negate(beyond)]), neutral("decimal_total", *sums), added)


def _decimal_parts(each: Aggregated, exact: Exact) -> _Parts:
    value = each.value
    some = is_set(each.over(exp.Max(this=exact.sql.copy())))
    digits = decimals.summable(value)
    if digits is not None:
        added = decimals.addend(exact, value)
        total = Exact(each.over(exp.Sum(this=added.copy())), Digits(DIGITS_MAX - digits.scale, digits.scale))
        return _Parts(some, decimals.decimal_text(total), added, total)
    added = decimals.plain_text(exact, value)
    sums = [each.over(exp.Sum(this=neutral(part, added))) for part in ("plain_whole", "plain_rest", "plain_tail")]
    beyond = _beyond(each, value.alts[FLOAT]) if FLOAT in value.alts else FALSE
    return _Parts(all_of([some, negate(beyond)]), neutral("decimal_total", *sums), added)


def _nearest_float(value: Value) -> Sql:
    return numbers.nearest(value.alts[DECIMAL]) if value.exact is None else decimals.nearest(value.exact)


def _fits(real: Sql) -> Sql:
    """Tests whether a float has at most 38 digits before the point and 38 after it, regardless of how many are
    significant."""
    return coalesce(neutral("float_fits", real), FALSE)


def _beyond(each: Aggregated, real: Sql) -> Sql:
    far = case((all_of([is_set(real), negate(_fits(real))]), number(1)))
    return is_set(each.over(exp.Max(this=far)))


_TABLE: dict[str, Callable[[Aggregated], Value]] = {
    "count": count,
    "sum": total,
    "avg": average,
    "min": least,
    "max": greatest,
    "any": least,  # so that every run and every engine returns the same
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
