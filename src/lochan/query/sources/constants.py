"""What an expression is that has no field in it, where that is known before anything is read: `now() - 1h`, `2 + 3`,
`time("2026-11-01")`. Only what every engine computes alike is; the rest is left to them."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite

from lochan.pools import times
from lochan.pools.row_tests import Scalar
from lochan.pools.shape import BOOL, FLOAT, INT, STRING, TIME
from lochan.query import ast

Constant = tuple[str, Scalar]  # kind, value; a time is microseconds since 1970

_DURATION = "duration"
DECIMAL = "decimal"
_KINDS = (BOOL, INT, FLOAT, STRING, TIME, _DURATION, DECIMAL)
_NUMBERS = (INT, FLOAT)
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


def constant(e: ast.Expr, now: int | None = None) -> Constant | None:
    """`now` is when the query began, in microseconds since 1970."""
    found = _folded(e, now)
    return None if found is None or found[0] == _DURATION else found


def _folded(e: ast.Expr, now: int | None) -> Constant | None:
    match e:
        case ast.Literal(kind, value) if kind in _KINDS and value is not None:
            return kind, value
        case ast.Unary("-", of):
            return _negative(_folded(of, now))
        case ast.Binary("+" | "-" | "*" as op, left, right):
            one, other = _folded(left, now), _folded(right, now)
            return None if one is None or other is None else _computed(op, one, other)
        case ast.Call("now", ()):
            return None if now is None else (TIME, now)
        case ast.Call(name, (of,)) if name in _CASTS:
            inner = _folded(of, now)
            return None if inner is None else _cast(name, *inner)
    return None


def _negative(of: Constant | None) -> Constant | None:
    if of is None or isinstance(of[1], bool | str) or of[0] == TIME:
        return None
    if isinstance(of[1], Decimal):
        return DECIMAL, -of[1]
    return _fitting(of[0], -of[1])


def _computed(op: str, one: Constant, other: Constant) -> Constant | None:
    (left, mine), (right, theirs) = one, other
    if isinstance(mine, bool | str | Decimal) or isinstance(theirs, bool | str | Decimal):
        return None
    if left in _NUMBERS and right in _NUMBERS:
        return _number(op, mine, theirs)
    if op == "*" or right != _DURATION or left not in (TIME, _DURATION):
        return None
    return _fitting(left, mine + theirs if op == "+" else mine - theirs)


def _number(op: str, mine: float, theirs: float) -> Constant | None:
    whole = isinstance(mine, int) and isinstance(theirs, int)
    one, other = (mine, theirs) if whole else (float(mine), float(theirs))
    result = one + other if op == "+" else one - other if op == "-" else one * other
    return _fitting(INT if whole else FLOAT, result)


def _fitting(kind: str, value: float) -> Constant | None:
    low, high = (times.MICROS_MIN, times.MICROS_MAX) if kind == TIME else (_INT_MIN, _INT_MAX)
    fits = isfinite(value) if kind == FLOAT else low <= value <= high
    return (kind, value) if fits else None


def _cast(name: str, kind: str, value: Scalar) -> Constant | None:
    to = _CASTS[name]
    if kind == to:
        return kind, value
    if kind == DECIMAL:
        return None
    if kind != STRING or not isinstance(value, str):
        return (FLOAT, float(value)) if (kind, to) == (INT, FLOAT) else None
    try:
        if to == INT and _WHOLE.fullmatch(value):
            return _fitting(INT, int(value))
        if to == FLOAT and _REAL.fullmatch(value):
            return _fitting(FLOAT, float(value))
        if to == TIME and _MOMENT.fullmatch(value):
            return TIME, times.parse(value)
    except (ValueError, OverflowError):
        pass
    return None


_CASTS = {"int64": INT, "float64": FLOAT, "string": STRING, "time": TIME}
