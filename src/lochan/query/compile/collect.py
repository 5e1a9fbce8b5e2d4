"""Aggregates that return values of the rows: the first, the last, the least, the greatest, all of them, or each
once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from lochan.pools.kinds import (
    ARRAY,
    BOOL,
    COMPOSITE,
    DECIMAL,
    DURATION,
    ERROR,
    EVERY_NUMBER,
    FLOAT,
    INT,
    IP,
    JSON,
    NULL,
    SCALARS,
    SIMPLE,
    STRING,
    TIME,
)
from lochan.query.compile import decimals, numbers
from lochan.query.compile.calls import Aggregated, one_format
from lochan.query.compile.comparison import exact, kind_place
from lochan.query.compile.functions.kinds import type_text
from lochan.query.compile.logic import all_of, any_of, case, coalesce, is_null, is_set, negate
from lochan.query.compile.moments import by_moment
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, concat, null_of, number, op, text
from lochan.query.compile.texts import json_text, order_text
from lochan.query.compile.value import NUMBERS, Exact, Value, has_value, present
from lochan.query.dialects.neutral import neutral


def first(each: Aggregated) -> Value:
    return _at_end(each, "first_by")


def last(each: Aggregated) -> Value:
    return _at_end(each, "last_by")


def _at_end(each: Aggregated, name: str) -> Value:
    assert each.place is not None
    value = each.value
    tests = _presence_tests(value)
    if value.kinds <= {*SIMPLE, ARRAY, JSON, NULL, ERROR} and value.original is None:
        kept = {kind: value.alts[kind] for kind in value.alts if kind not in (ERROR, NULL)}
        picked = {kind: each.over(neutral(name, sql, each.place), *tests) for kind, sql in kept.items()}
        return Value(picked, NULL, value.element, None, one_format(value))
    return Value({JSON: each.over(neutral(name, json_text(value), each.place), *tests)}, NULL)


def collect(each: Aggregated) -> Value:
    """Returns an array in the order of the rows. Nulls are kept; missing values are not."""
    assert each.place is not None
    value = each.value
    tests = _presence_tests(value)
    kind = _single(value)
    if kind is not None:
        made = neutral("collected", each.over(neutral("collect", value.alts[kind], each.place), *tests))
        return Value({ARRAY: _or_empty(made, kind)}, "", kind)
    texts = neutral("collected", each.over(neutral("collect", json_text(value), each.place), *tests))
    return Value({JSON: _json_list(texts)})


def union(each: Aggregated) -> Value:
    value = by_moment(numbers.normalize(each.value))
    there = has_value(value)
    tests = [] if there == TRUE else [there]
    kind = _single(value)
    if kind is not None:
        made = neutral("sorted_list", each.over(neutral("collect_distinct", value.alts[kind]), *tests))
        return Value({ARRAY: _or_empty(made, kind)}, "", kind)
    keys = [coalesce(kind_place(value), number(0)), _size(value), _letters(value), json_text(value)]
    texts = neutral("sorted_texts", each.over(neutral("collect_keyed", *keys), *tests))
    return Value({JSON: _json_list(texts)})


def _size(value: Value) -> Sql:
    """Returns what values are sorted by after their kind: their number, for kinds that are numbers."""
    sizes: dict[str, Callable[[Sql], Sql]] = {
        BOOL: lambda sql: cast(cast(sql, INT), FLOAT),
        INT: lambda sql: cast(sql, FLOAT),
        FLOAT: lambda sql: sql,
        DECIMAL: numbers.nearest,
        DURATION: lambda sql: cast(sql, FLOAT),
        TIME: lambda sql: cast(neutral("micros", sql), FLOAT),
    }
    found = [sizes[kind](sql) for kind, sql in value.alts.items() if kind in sizes]
    return coalesce(*found, number(0.0))


def _letters(value: Value) -> Sql:
    """Returns what values are sorted by last: their text, or another text with the same order."""
    exact = [numbers.key(value.only((DECIMAL,)))] if DECIMAL in value.alts else []
    composite = value.only(COMPOSITE)
    nested = [order_text(composite)] if composite.alts else []
    return coalesce(*(value.alts[kind] for kind in (STRING, IP) if kind in value.alts), *exact, *nested, text(""))


def fused_type(each: Aggregated) -> Value:
    """Returns each type that occurs, once."""
    texts = neutral("sorted_list", each.over(neutral("collect_distinct", type_text(each.value)), has_value(each.value)))
    return Value({STRING: neutral("list_join", texts, options=("|",))}, NULL)


def _presence_tests(value: Value) -> list[Sql]:
    """Returns tests for the rows that count. Null is a value here; missing values and errors are skipped."""
    there = present(value)
    tests = [] if there == TRUE else [there]
    return [*tests, is_null(value.alts[ERROR])] if ERROR in value.alts else tests


def _single(value: Value) -> str | None:
    """Returns the only kind, beside null, that an array of such values would have, or None."""
    kinds = value.kinds - {NULL, ERROR}
    if value.original is not None:
        return None
    kind = next(iter(kinds), None)
    return kind if len(kinds) == 1 and kind in SCALARS else None


def _or_empty(made: Sql, kind: str) -> Sql:
    return coalesce(made, neutral("empty_list", null_of(kind), options=(kind,)))


def _json_list(texts: Sql) -> Sql:
    inner = coalesce(neutral("list_join", texts, options=(",",)), text(""))
    return exp.DPipe(this=exp.DPipe(this=text("["), expression=inner), expression=text("]"))


# ── the least and the greatest: by kind, then by value, as `sort` has it ─────────────────────────────────────────────


def least(each: Aggregated) -> Value:
    return _extreme(each, exp.Min, least=True)


def greatest(each: Aggregated) -> Value:
    return _extreme(each, exp.Max, least=False)


def ordering(value: Value, kind: str) -> Sql:
    """Returns what is compared for values of one simple kind."""
    if kind == DECIMAL:
        return numbers.key(value.only((DECIMAL,))) if value.exact is None else value.exact.sql.copy()
    return value.alts[kind].copy()


def _extreme(each: Aggregated, function: type[exp.AggFunc], *, least: bool) -> Value:
    """Returns the least or greatest value. The least belongs to the first kind that occurs, the greatest to the
    last."""
    value = each.value
    ends = {kind: each.over(function(this=ordering(value, kind))) for kind in SIMPLE if kind in value.alts}
    ends, as_decimal = _of_numbers(each, ends, function, least=least)
    composite = value.only(COMPOSITE)
    if composite.alts:
        ends[JSON] = _composite(each, composite, least=least)
    order = list(ends) if least else list(reversed(ends))
    alts: dict[str, Sql] = {}
    for at, kind in enumerate(order):
        others = [ends[other] for other in order[:at] if not {kind, other} <= set(EVERY_NUMBER)]
        alts[kind] = case((all_of(is_null(other) for other in others), ends[kind])) if others else ends[kind]
    if as_decimal is not None and alts[DECIMAL] != ends[DECIMAL]:  # a value of another kind comes before it
        as_decimal = None
    return Value(alts, "" if each.sure and len(value.alts) == 1 else NULL, format=one_format(value), exact=as_decimal)


def _of_numbers(
    each: Aggregated, ends: dict[str, Sql], function: type[exp.AggFunc], *, least: bool
) -> tuple[dict[str, Sql], Exact | None]:
    """Returns the least or greatest number by kind. All kinds are NULL except the one that wins."""
    value = each.value
    if set(NUMBERS) <= set(ends):
        whole, real = ends[INT], ends[FLOAT]
        first = any_of([is_null(real), exact("<=" if least else ">=", whole, real)])
        ends = ends | {
            INT: case((all_of([is_set(whole), first]), whole)),
            FLOAT: case((all_of([is_set(real), any_of([is_null(whole), negate(coalesce(first, exp.false()))])]), real)),
        }
    if value.exact is not None:
        found = _extreme_decimal(ends, value.exact, least=least)
        return ends | found.ends, found.exact
    if DECIMAL in ends:
        return ends | _extreme_number(ends, each.over(function(this=numbers.key(value)))), None
    return ends, None


def _extreme_number(ends: dict[str, Sql], best: Sql) -> dict[str, Sql]:
    """Returns the least or greatest number by kind, for a decimal as its key. All kinds are NULL except the one that
    wins. `best` is the key of the least or greatest of all."""
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


def _extreme_decimal(ends: dict[str, Sql], of: Exact, *, least: bool) -> _Extreme:
    """Does the same where the decimals are decimals of the engine."""
    exact = Exact(ends[DECIMAL], of.digits)
    others = [kind for kind in (INT, FLOAT) if kind in ends]
    if not others:
        return _Extreme({DECIMAL: decimals.decimal_text(exact)}, exact)
    first = decimals.best(exact, [(kind, ends[kind]) for kind in others], least=least)
    found: dict[str, Sql] = {kind: case((negate(first), ends[kind])) for kind in others}
    return _Extreme(
        {**found, DECIMAL: case((first, decimals.decimal_text(exact)))}, Exact(case((first, exact.sql)), of.digits)
    )


def _composite(each: Aggregated, value: Value, *, least: bool) -> Sql:
    """Returns the least or greatest array or record, as JSON text. Equal values that are written differently are
    ordered by their texts, because the text used for ordering marks its own end."""
    written = json_text(value)
    place = concat(order_text(value), written)
    return each.over(neutral("first_by" if least else "last_by", written, place), has_value(value))
