"""Sums, averages, least and greatest where decimals are among the numbers (`numbers.py`): exact, or refused.

A sum is of three parts, what is before the point and twice 27 digits behind it, each as wide as the engines' decimals
are. Floats count as what their shortest text says; where one of them is too great or too small for that the sum is a
float's, as it is where all are floats. A decimal that is too long for it ends the query.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from lochan.pools.decimals import DIGITS_MAX
from lochan.pools.shape import FLOAT, INT, NULL
from lochan.query.compile import decimals, numbers
from lochan.query.compile.calls import Aggregated
from lochan.query.compile.scope import refused
from lochan.query.compile.sql import (
    DECIMAL,
    ERROR,
    FALSE,
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
from lochan.query.compile.value import Exact, Value
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import Digits


class _Parts(NamedTuple):
    exact: Sql  # whether the sum is exact: there are decimals, and no float is beyond them
    total: Sql  # its text
    texts: Sql  # of all that are added
    exact_total: Exact | None = None  # likewise, where the engine adds it up


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
        near = each.over(exp.Sum(this=_nearest(value)))
        rest = [coalesce(near, number(0.0))] + (
            [coalesce(cast(whole, FLOAT), number(0.0))] if whole is not None else []
        )
        for addend in rest:
            reals = op(exp.Add, reals, addend)
        alts[FLOAT] = case((all_of([negate(parts.exact), some_reals]), reals))
    return Value(alts, NULL, exact=exact)


def exact_average(each: Aggregated) -> Value:
    """The exact sum divided once."""
    parts = _parts(each)
    count = cast(each.over(exp.Count(this=parts.texts.copy())), FLOAT)
    total = numbers.nearest(parts.total) if parts.exact_total is None else decimals.nearest(parts.exact_total)
    exact = op(exp.Div, total, count)
    near: list[Sql] = [cast(each.value.alts[INT], FLOAT)] if INT in each.value.alts else []
    near += [each.value.alts[FLOAT]] if FLOAT in each.value.alts else []
    if not near:
        return Value({FLOAT: case((parts.exact, exact))}, NULL)
    near.append(_nearest(each.value))
    return Value({FLOAT: case((parts.exact, exact), other=each.over(exp.Avg(this=coalesce(*near))))}, NULL)


def extreme_number(ends: dict[str, Sql], best: Sql) -> dict[str, Sql]:
    """Of the least or greatest of each kind of number, a decimal's as its key: each NULL but the one that is it. `best`
    is the key of the least or greatest of all."""
    key = ends[DECIMAL]
    others = [kind for kind in (INT, FLOAT) if kind in ends]
    if not others:
        return {DECIMAL: neutral("number_text", key)}
    first = coalesce(op(exp.EQ, key, best), FALSE)
    found: dict[str, Sql] = {kind: case((negate(first), ends[kind])) for kind in others}
    return {**found, DECIMAL: case((first, neutral("number_text", key)))}


class _Extreme(NamedTuple):
    ends: dict[str, Sql]
    exact: Exact


def extreme_decimal(ends: dict[str, Sql], of: Exact, *, least: bool) -> _Extreme:
    """The same where the decimal is one."""
    exact = Exact(ends[DECIMAL], of.digits)
    others = [kind for kind in (INT, FLOAT) if kind in ends]
    if not others:
        return _Extreme({DECIMAL: decimals.shown(exact)}, exact)
    first = decimals.best(exact, [(kind, ends[kind]) for kind in others], least=least)
    found: dict[str, Sql] = {kind: case((negate(first), ends[kind])) for kind in others}
    return _Extreme(
        {**found, DECIMAL: case((first, decimals.shown(exact)))}, Exact(case((first, exact.sql)), of.digits)
    )


def _parts(each: Aggregated) -> _Parts:
    if each.call.distinct:
        raise refused(
            each.scope.query,
            each.call,
            f"`{each.call.name}` of distinct values takes no field that may hold numbers of so many digits",
            "say float64(…) for the nearest floats",
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
        return _Parts(some, decimals.shown(total), added, total)
    added = decimals.plain_text(exact, value)
    sums = [each.over(exp.Sum(this=neutral(part, added))) for part in ("plain_whole", "plain_rest", "plain_tail")]
    beyond = _beyond(each, value.alts[FLOAT]) if FLOAT in value.alts else FALSE
    return _Parts(all_of([some, negate(beyond)]), neutral("decimal_total", *sums), added)


def _nearest(value: Value) -> Sql:
    return numbers.nearest(value.alts[DECIMAL]) if value.exact is None else decimals.nearest(value.exact)


def _fits(real: Sql) -> Sql:
    """Of a float: whether it has at most 38 digits before the point and 38 behind it, however many say which it is."""
    return coalesce(neutral("float_fits", real), FALSE)


def _beyond(each: Aggregated, real: Sql) -> Sql:
    far = case((all_of([is_set(real), negate(_fits(real))]), number(1)))
    return is_set(each.over(exp.Max(this=far)))


def _sum(each: Aggregated, kind: str) -> Sql:
    return neutral("sum", each.over(neutral("sum_of", each.value.alts[kind], options=(kind,))), options=(kind,))
