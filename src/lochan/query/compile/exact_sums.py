"""Sums, averages, least and greatest where decimals are among the numbers (`numbers.py`): exact, or refused.

A sum is of three parts, what is before the point and twice 27 digits behind it, each as wide as the engines' decimals
are. Floats count as what their shortest text says; where one of them is too great or too small for that the sum is a
float's, as it is where all are floats. A decimal that is too long for it ends the query.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from lochan.pools.shape import FLOAT, INT, NULL
from lochan.query.compile import numbers
from lochan.query.compile.aggregated import Aggregated
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
from lochan.query.compile.value import Value
from lochan.query.dialects.neutral import neutral


class _Parts(NamedTuple):
    exact: Sql  # whether the sum is exact: there are decimals, and no float is beyond them
    total: Sql  # its text
    texts: Sql  # of all that are added


def exact_total(each: Aggregated) -> Value:
    parts, value = _parts(each), each.value
    alts: dict[str, Sql] = {DECIMAL: case((parts.exact, parts.total))}
    whole = _sum(each, INT) if INT in value.alts else None
    reals = _sum(each, FLOAT) if FLOAT in value.alts else None
    some_reals = FALSE if reals is None else is_set(reals)
    if whole is not None:
        inexact = all_of([negate(parts.exact), negate(some_reals)])
        alts[INT] = case((inexact, whole))
        some = is_set(each.over(exp.Max(this=value.alts[INT].copy())))
        alts[ERROR] = case((all_of([inexact, some, is_null(whole)]), text("the sum has more than 64 bits")))
    if reals is not None:
        near = each.over(exp.Sum(this=numbers.nearest(value.alts[DECIMAL])))
        rest = [coalesce(near, number(0.0))] + (
            [coalesce(cast(whole, FLOAT), number(0.0))] if whole is not None else []
        )
        for addend in rest:
            reals = op(exp.Add, reals, addend)
        alts[FLOAT] = case((all_of([negate(parts.exact), some_reals]), reals))
    return Value(alts, NULL)


def exact_average(each: Aggregated) -> Value:
    """The exact sum divided once."""
    parts = _parts(each)
    count = cast(each.over(exp.Count(this=parts.texts.copy())), FLOAT)
    exact = op(exp.Div, numbers.nearest(parts.total), count)
    near: list[Sql] = [cast(each.value.alts[INT], FLOAT)] if INT in each.value.alts else []
    near += [each.value.alts[FLOAT]] if FLOAT in each.value.alts else []
    if not near:
        return Value({FLOAT: case((parts.exact, exact))}, NULL)
    near.append(numbers.nearest(each.value.alts[DECIMAL]))
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


def _parts(each: Aggregated) -> _Parts:
    if each.call.distinct:
        raise refused(
            each.scope.query,
            each.call,
            f"`{each.call.name}` of distinct values takes no field that may hold numbers of so many digits",
            "say float64(…) for the nearest floats",
        )
    value = each.value
    texts: list[Sql] = [value.alts[DECIMAL]]
    if INT in value.alts:
        texts.append(numbers.number_text(INT, value.alts[INT]))
    beyond: Sql = FALSE
    if FLOAT in value.alts:
        real = numbers.number_text(FLOAT, value.alts[FLOAT])
        fits = coalesce(neutral("decimal_fits", real), FALSE)
        texts.append(case((fits, real)))
        far = case((all_of([is_set(value.alts[FLOAT]), negate(fits)]), number(1)))
        beyond = is_set(each.over(exp.Max(this=far)))
    added = coalesce(*texts)
    message = f"`{each.call.name}` meets a number with over 38 digits before the point or 54 behind it"
    sums = [
        each.over(exp.Sum(this=neutral(part, added, options=(message,))))
        for part in ("decimal_whole", "decimal_rest", "decimal_tail")
    ]
    some = is_set(each.over(exp.Max(this=value.alts[DECIMAL].copy())))
    return _Parts(all_of([some, negate(beyond)]), neutral("decimal_total", *sums), added)


def _sum(each: Aggregated, kind: str) -> Sql:
    return neutral("sum", each.over(neutral("sum_of", each.value.alts[kind], options=(kind,))), options=(kind,))
