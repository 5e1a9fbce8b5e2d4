"""Comparisons: within a kind, and between whole numbers and floats, exactly. Values of different kinds are never equal,
smaller or greater. There is only one null."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator

from sqlglot import exp

from lochan.pools.kinds import (
    ARRAY,
    BOOL,
    COMPOSITE,
    DECIMAL,
    EVERY_NUMBER,
    FLOAT,
    INT,
    IP,
    NULL,
    OBJECT,
    PLACES,
    SIMPLE,
    STRING,
    TIME,
)
from lochan.query.compile import decimals, moments, numbers
from lochan.query.compile.logic import (
    COMPARISONS,
    TURNED,
    all_of,
    any_of,
    case,
    coalesce,
    eq,
    is_null,
    is_set,
    negate,
    surely,
)
from lochan.query.compile.sql import FALSE, INT_MAX, INT_MIN, TRUE, Sql, cast, number, op, text, try_cast
from lochan.query.compile.texts import json_text, order_text
from lochan.query.compile.value import NUMBERS, Value, address_digits, errors_as_null, has_value, is_explicit_null
from lochan.query.dialects.neutral import neutral


def compare(op_: str, left: Value, right: Value) -> Sql:
    """Returns a test in which NULL counts as false. A caller that negates it must make it `total` first."""
    pairs = [_pair(op_, one, left, other, right) for one, other in _pairs(left, right)]
    if op_ == "==":
        pairs.append(all_of([is_explicit_null(left), is_explicit_null(right)]))
    if op_ == "!=":  # null is of another kind than everything else, and unequal to it
        pairs += [
            all_of([is_explicit_null(left), has_value(right)]),
            all_of([has_value(left), is_explicit_null(right)]),
        ]
    if op_ in ("==", "!=") and left.kinds & COMPOSITE and right.kinds & COMPOSITE:
        pairs.append(_as_texts(op_, left, right))
    return any_of(pairs)


def total(op_: str, left: Value, right: Value) -> Sql:
    """Returns a test that is never NULL."""
    test = compare(op_, left, right)
    certain = all(not each.nothing and len(each.alts) == 1 for each in (left, right))
    return test if certain else surely(test)


def exact(op_: str, whole: Sql, real: Sql) -> Sql:
    """Compares a whole number with a float exactly. Rounding keeps the order, so only if both round to the same float,
    which is whole then, is that compared as a whole number. A float that is too large for an int is above all ints."""
    rounded = neutral("rounded", whole) if isinstance(whole, exp.Column) else cast(whole, FLOAT)
    node = COMPARISONS[op_]
    if op_ == "==":
        return all_of([eq(rounded, real), eq(whole, try_cast(real, INT))])
    if op_ == "!=":
        same = all_of([eq(rounded, real), eq(whole, try_cast(real, INT))])
        return all_of([is_set(whole), is_set(real), negate(coalesce(same, FALSE))])
    strict = COMPARISONS[op_[0]]
    above = TRUE if op_[0] == "<" else FALSE
    ties = all_of([eq(rounded, real), coalesce(op(node, whole, try_cast(real, INT)), above)])
    return any_of([op(strict, rounded, real), ties])


def order_keys(value: Value, *, descending: bool, nulls_first: bool) -> list[exp.Ordered]:
    """Returns keys that order values by kind, then by value. Null and missing values are together at one end, null
    before missing. An error counts as null."""
    value = errors_as_null(value)
    keys: list[exp.Ordered] = []
    simple = [kind for kind in SIMPLE if kind in value.alts]
    rest = [kind for kind in value.alts if kind in COMPOSITE]
    if len(set(simple) - set(EVERY_NUMBER)) + bool(set(simple) & set(EVERY_NUMBER)) + bool(rest) > 1:
        keys.append(_order_term(kind_place(value), descending, nulls_first))
    if DECIMAL in simple:
        by_number = decimals.keys(value) or [numbers.key(value)]
        keys.extend(_order_term(each, descending, nulls_first) for each in by_number)
        simple = [kind for kind in simple if kind not in EVERY_NUMBER]
    elif set(NUMBERS) <= set(simple):
        keys.extend(
            _order_term(each, descending, nulls_first) for each in number_keys(value.alts[INT], value.alts[FLOAT])
        )
        simple = [kind for kind in simple if kind not in NUMBERS]
    for kind in simple:
        keys.append(_order_term(value.alts[kind], descending, nulls_first))
        if kind == TIME and value.original is not None:
            keys.append(_order_term(moments.finer(value.original), descending, nulls_first))
    if rest:
        keys.append(_order_term(order_text(value.only(rest)), descending, nulls_first))
    if NULL in value.alts and value.alts[NULL] != TRUE and value.nothing:
        keys.append(_order_term(value.alts[NULL], False, False))
    return keys


def kind_place(value: Value) -> Sql:
    """Returns a number by which values of different kinds are ordered."""
    return case(*((is_set(sql), number(PLACES[kind])) for kind, sql in value.alts.items() if kind in PLACES))


def number_keys(whole: Sql, real: Sql) -> tuple[Sql, ...]:
    """Returns columns that order ints and floats among each other: first as doubles, then, for ints and floats that are
    the same double, as ints. A float may be just above the greatest int."""
    beyond = op(exp.GTE, real, number(_BEYOND_INTS))
    return (
        coalesce(cast(whole, FLOAT), real),
        coalesce(whole, try_cast(real, INT), case((is_set(real), number(INT_MAX)))),
        case((beyond, number(1)), (any_of([is_set(whole), is_set(real)]), number(0))),
    )


def _as_texts(op_: str, left: Value, right: Value) -> Sql:
    """Compares texts. Arrays are equal element by element, and objects field by field, with the fields in the same
    order; numbers within them compare as numbers."""
    if left.kinds & COMPOSITE == right.kinds & COMPOSITE == {ARRAY} and left.element == right.element:
        return op(COMPARISONS[op_], left.alts[ARRAY], right.alts[ARRAY])
    one, other = left.only(COMPOSITE), right.only(COMPOSITE)
    test = op(COMPARISONS[op_], order_text(one), order_text(other))
    if op_ == "==" or (one.kinds == other.kinds and one.kinds in ({ARRAY}, {OBJECT})):
        return test
    kinds = [neutral("first_character", json_text(each)) for each in (one, other)]  # an array is not a record
    return all_of([test, eq(*kinds)])


def _pairs(left: Value, right: Value) -> Iterator[tuple[str, str]]:
    for one in left.alts:
        for other in right.alts:
            if one in SIMPLE and (one == other or {one, other} <= set(EVERY_NUMBER)):
                yield one, other


def _pair(op_: str, one: str, left: Value, other: str, right: Value) -> Sql:
    mine, theirs = left.alts[one], right.alts[other]
    if DECIMAL in (one, other):
        return numbers.compare_numbers(op_, one, left, other, right)
    if one == TIME and (moments.is_fine(left) or moments.is_fine(right)):
        return moments.compare_times(op_, left, right)
    if one == other:
        return _compare_simple(op_, one, mine, theirs)
    if one == INT:
        if isinstance(right.constant, float):
            return _against_float(op_, mine, right.constant)
        return exact(op_, mine, theirs)
    if isinstance(left.constant, float):
        return _against_float(TURNED[op_], theirs, left.constant)
    return exact(TURNED[op_], theirs, mine)


def _compare_simple(op_: str, kind: str, left: Sql, right: Sql) -> Sql:
    if kind == BOOL and op_ == "==" and right in (TRUE, FALSE):
        return left if right == TRUE else negate(left)
    return op(COMPARISONS[op_], left, right)


_BEYOND_INTS = float(INT_MAX)  # the least double that is greater than every int


def _against_float(op_: str, whole: Sql, real: float) -> Sql:
    """Compares with a float literal. It becomes a whole number, so that objects can be pruned by it."""
    if math.isnan(real) or math.isinf(real):
        return exact(op_, whole, number(real))
    if real.is_integer() and INT_MIN <= real <= INT_MAX:
        return op(COMPARISONS[op_], whole, number(int(real)))
    if not INT_MIN <= real <= INT_MAX:
        below = real > 0
        return all_of(
            [negate(is_null(whole)), TRUE if op_ == "!=" or ((op_[0] == "<") == below and op_ != "==") else FALSE]
        )
    if op_ in ("==", "!="):
        return FALSE if op_ == "==" else negate(is_null(whole))
    if op_[0] == "<":
        return op(exp.LTE, whole, number(math.floor(real)))
    return op(exp.GTE, whole, number(math.ceil(real)))


def _order_term(value: Sql, descending: bool, nulls_first: bool) -> exp.Ordered:
    return exp.Ordered(this=value.copy(), desc=descending, nulls_first=nulls_first)


# ── addresses in networks ────────────────────────────────────────────────────────────────────────────────────────────


def in_network(network: str, value: Value) -> Sql:
    """Tests whether an address is between the first and the last address of the network. Addresses are kept as digits
    that have the same order."""
    net = ipaddress.ip_network(network, strict=False)
    tests = []
    for address in _addresses(value):
        low, high = (text(address_digits(str(each))) for each in (net.network_address, net.broadcast_address))
        tests.append(all_of([op(exp.GTE, address, low), op(exp.LTE, address, high)]))
    return any_of(tests)


def _addresses(value: Value) -> list[Sql]:
    found = [value.alts[IP]] if IP in value.alts else []
    if STRING in value.alts:
        found.append(neutral("ip_digits", value.alts[STRING]))
    return found
