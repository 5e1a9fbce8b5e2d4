"""Numbers that neither 64 bits nor a double hold exactly: the kind `decimal`, whose values are the numbers' own texts.

They take part in every comparison, order, group and sum, exactly. This uses a key, a text with the order of numbers:

    1                            zero
    2, 19 digits, digits         a positive number 0.digits times ten to the power that the 19 digits tell
    0, 19 digits, digits, ~      a negative one, with the digits turned around, so that it descends
    3  4                         infinity, and what is no number

A float counts as the number in its shortest text: 0.1 is 0.1. An operation that cannot be exact is refused when a row
has such a number, and the message names the operation: no answer leaves such numbers out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, EVERY_NUMBER, FLOAT, INT, JSON, STRING
from lochan.query.compile import decimals
from lochan.query.compile.logic import COMPARISONS, all_of, case, coalesce, is_null, is_set, negate
from lochan.query.compile.sql import FALSE, INT_MAX, INT_MIN, Sql, cast, number, op, text
from lochan.query.compile.value import Exact, Value
from lochan.query.dialects.decimals import MIDDLE
from lochan.query.dialects.neutral import neutral

_TURNED = str.maketrans("0123456789", "9876543210")
_WIDE = Context(prec=1_000)
Number = int | float | Decimal


# ── in texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def split(json: Sql, exact: Exact | None = None) -> tuple[Sql, Sql]:
    """Splits a JSON text into that of a number and that of anything else. Each is NULL where the text is of the other
    sort. A number begins with a minus or a digit, and no other JSON value begins with a character between these.
    `exact` is the number itself, if the source has it."""
    if exact is not None:
        return case((is_set(exact.sql), json)), case((is_null(exact.sql), json))
    begins = all_of([op(exp.GTE, json, text("-")), op(exp.LT, json, text(":"))])
    return case((begins, json)), case((negate(exp.Paren(this=begins)), json))


def unsplit(value: Value) -> Value:
    """Joins the parts of a split text again, to be shown: both are written as they are."""
    if DECIMAL not in value.alts or JSON not in value.alts:
        return value
    one, other = value.alts[DECIMAL], value.alts[JSON]
    whole = _split_from(one)
    if whole is None or (one, other) not in (split(whole), split(whole, value.exact)):
        return value
    return replace(value, alts={kind: sql for kind, sql in value.alts.items() if kind != DECIMAL} | {JSON: whole})


def _split_from(sql: Sql) -> Sql | None:
    if not isinstance(sql, exp.Case) or len(sql.args["ifs"]) != 1 or sql.args.get("default") is not None:
        return None
    found: Sql = sql.args["ifs"][0].args["true"]
    return found


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def key(value: Value) -> Sql:
    """Returns the key of a number, which is the same for 1 and 1.0; NULL if the value is not a number."""
    texts = [number_text(kind, value.alts[kind]) for kind in EVERY_NUMBER if kind in value.alts]
    return neutral("number_key", coalesce(*texts))


def number_text(kind: str, sql: Sql) -> Sql:
    if kind == INT:
        return cast(sql, STRING)
    return neutral("scalar_json", sql, options=(FLOAT,)) if kind == FLOAT else sql


def normal(sql: Sql) -> Sql:
    """Returns the normal form of a decimal's text, which is the same for equal numbers."""
    return neutral("number_text", neutral("number_key", sql))


def normalize(value: Value) -> Value:
    """Returns the value with the same text for equal numbers, where values are distinguished by their texts."""
    if DECIMAL not in value.alts:
        return value
    text = normal(value.alts[DECIMAL]) if value.exact is None else decimals.decimal_text(value.exact)
    return replace(value, alts={**value.alts, DECIMAL: text}, text=None)


def constant_key(value: Number) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "4" if math.isnan(value) else "3" if value > 0 else "0"
    exact = exact_decimal(value)
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits)).strip("0")
    if not shown:
        return "1"
    power = exponent + len("".join(map(str, digits)).lstrip("0"))
    return f"0{MIDDLE - power}{shown.translate(_TURNED)}~" if sign else f"2{MIDDLE + power}{shown}"


def exact_decimal(value: Number) -> Decimal:
    """Returns the number as a decimal. A float counts as its shortest text."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────────────────────────


def compare_numbers(op_: str, one: str, left: Value, other: str, right: Value) -> Sql:
    """Compares two kinds of numbers, one of them a decimal."""
    found = None
    if left.exact is not None and one == DECIMAL:
        found = decimals.compare_decimal(op_, left.exact, other, right)
    elif right.exact is not None and other == DECIMAL:
        found = decimals.compare_decimal(_TURN[op_], right.exact, one, left)
    if found is not None:
        return found
    if isinstance(right.constant, Decimal) and one != DECIMAL:
        return against_decimal(op_, one, left.alts[one], right.constant)
    if isinstance(left.constant, Decimal) and other != DECIMAL:
        return against_decimal(_TURN[op_], other, right.alts[other], left.constant)
    return op(COMPARISONS[op_], _side_key(one, left), _side_key(other, right))


def _side_key(kind: str, value: Value) -> Sql:
    constant = value.constant
    if isinstance(constant, int | float | Decimal) and not isinstance(constant, bool):
        return text(constant_key(constant))
    return neutral("number_key", number_text(kind, value.alts[kind]))


_TURN = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def against_decimal(op_: str, kind: str, sql: Sql, by: Decimal) -> Sql:
    """Compares with a decimal literal. It becomes a number of the column's kind, so that objects can be pruned by
    it."""
    below, above = _neighbours(kind, by)
    if below == above and below is not None:
        return op(COMPARISONS[op_], sql, number(below))
    if op_ in ("==", "!="):
        return FALSE if op_ == "==" else negate(is_null(sql))
    if op_[0] == "<":
        return FALSE if below is None else op(exp.LTE, sql, number(below))
    return FALSE if above is None else op(exp.GTE, sql, number(above))


def _neighbours(kind: str, by: Decimal) -> tuple[int | float | None, int | float | None]:
    """Returns the greatest number of that kind that is not above it, and the least that is not below it, or None if
    there is none."""
    if kind == FLOAT:
        near = float(by)
        exact = exact_decimal(near) if math.isfinite(near) else Decimal(near)
        below = near if exact <= by else math.nextafter(near, -math.inf)
        above = near if exact >= by else math.nextafter(near, math.inf)
        return below, above
    if by > INT_MAX:
        return INT_MAX, None
    if by < INT_MIN:
        return None, INT_MIN
    return int(by.to_integral_value(ROUND_FLOOR, _WIDE)), int(by.to_integral_value(ROUND_CEILING, _WIDE))


def equals(sql: Sql, value: Number) -> Sql:
    """Compares the text of a decimal with a number."""
    return op(exp.EQ, neutral("number_key", sql), text(constant_key(value)))


# ── what is not exact ────────────────────────────────────────────────────────────────────────────────────────────────


def nearest(sql: Sql) -> Sql:
    """Returns the float nearest to a decimal, or infinity where it is beyond all floats."""
    return neutral("try_cast", sql, options=(FLOAT,))


def refused_where_set(sql: Sql, what: str, kind: str) -> Sql:
    """Returns NULL if no row has such a number; otherwise the query ends with this message."""
    types = {FLOAT: "DOUBLE", INT: "BIGINT"}
    message = f"{what} does not work with a number of so many digits (float64(…) takes the nearest float)"
    return neutral("refuse", sql, options=(message, types[kind]))
