"""The least and the greatest of values of any kinds, in the order that `sort` has: by kind, then by value."""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.shape import ARRAY, FLOAT, INT, JSON, NULL, OBJECT
from lochan.query.compile import numbers
from lochan.query.compile.aggregated import Aggregated, one_format
from lochan.query.compile.comparison import exact
from lochan.query.compile.exact_sums import extreme_decimal, extreme_number
from lochan.query.compile.sql import (
    DECIMAL,
    Sql,
    all_of,
    any_of,
    case,
    coalesce,
    concat,
    is_null,
    is_set,
    negate,
)
from lochan.query.compile.texts import json_text, order_text
from lochan.query.compile.value import EVERY_NUMBER, NUMBERS, SIMPLE, Exact, Value, valued
from lochan.query.dialects.neutral import neutral


def least(each: Aggregated) -> Value:
    return _extreme(each, exp.Min, least=True)


def greatest(each: Aggregated) -> Value:
    return _extreme(each, exp.Max, least=False)


def ordering(value: Value, kind: str) -> Sql:
    """What is compared of the values of one simple kind."""
    if kind == DECIMAL:
        return numbers.key(value.only((DECIMAL,))) if value.exact is None else value.exact.sql.copy()
    return value.alts[kind].copy()


def _extreme(each: Aggregated, function: type[exp.AggFunc], *, least: bool) -> Value:
    """The least is of the first kind that there is, the greatest of the last."""
    value = each.value
    ends = {kind: each.over(function(this=ordering(value, kind))) for kind in SIMPLE if kind in value.alts}
    ends, as_decimal = _of_numbers(each, ends, function, least=least)
    composite = value.only((ARRAY, OBJECT, JSON))
    if composite.alts:
        ends[JSON] = _composite(each, composite, least=least)
    order = list(ends) if least else list(reversed(ends))
    alts: dict[str, Sql] = {}
    for at, kind in enumerate(order):
        others = [ends[other] for other in order[:at] if not {kind, other} <= set(EVERY_NUMBER)]
        alts[kind] = case((all_of(is_null(other) for other in others), ends[kind])) if others else ends[kind]
    if as_decimal is not None and alts[DECIMAL] != ends[DECIMAL]:  # something of another kind comes before it
        as_decimal = None
    return Value(alts, "" if each.sure and len(value.alts) == 1 else NULL, format=one_format(value), exact=as_decimal)


def _of_numbers(
    each: Aggregated, ends: dict[str, Sql], function: type[exp.AggFunc], *, least: bool
) -> tuple[dict[str, Sql], Exact | None]:
    """Of the least or greatest of each kind of number, each NULL but the one that is it."""
    value = each.value
    if set(NUMBERS) <= set(ends):
        whole, real = ends[INT], ends[FLOAT]
        first = any_of([is_null(real), exact("<=" if least else ">=", whole, real)])
        ends = ends | {
            INT: case((all_of([is_set(whole), first]), whole)),
            FLOAT: case((all_of([is_set(real), any_of([is_null(whole), negate(coalesce(first, exp.false()))])]), real)),
        }
    if value.exact is not None:
        found = extreme_decimal(ends, value.exact, least=least)
        return ends | found.ends, found.exact
    if DECIMAL in ends:
        return ends | extreme_number(ends, each.over(function(this=numbers.key(value)))), None
    return ends, None


def _composite(each: Aggregated, value: Value, *, least: bool) -> Sql:
    """Of arrays and records, as JSON text. Those that are written differently and yet equal go by their texts: the text
    that orders them says itself where it ends."""
    written = json_text(value)
    place = concat(order_text(value), written)
    return each.over(neutral("first_by" if least else "last_by", written, place), valued(value))
