"""The tests that an expression of a query implies for its rows, in the form in which statistics evaluate them
(`pools/row_tests.py`)."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite

from lochan.pools import times
from lochan.pools.kinds import BOOL, DECIMAL, DURATION, FLOAT, INT, NULL, STRING, TIME
from lochan.pools.row_tests import (
    ANY_ROW,
    All,
    AnyRow,
    Compare,
    Either,
    Has,
    IsNull,
    Missing,
    OneOf,
    Scalar,
    Test,
    Unlike,
    Valued,
    both,
)
from lochan.pools.shape import Path
from lochan.pools.times import Moment
from lochan.query import ast
from lochan.query.compile.logic import TURNED

_LAST = chr(0x10FFFF)


def of_expression(e: ast.Expr, now: int | None = None) -> Test:
    """Returns a test that all rows pass for which the expression is true. `now` is when the query began."""
    return _Bounds(now).true(e)


def field(e: ast.Expr) -> Path:
    """Returns the path of a field of the row, or an empty path for any other expression."""
    match e:
        case ast.Name(name):
            return (name,)
        case ast.Dot(of, name):
            if isinstance(of, ast.This):
                return (name,)
            above = field(of)
            return (*above, name) if above else ()
    return ()


class _Bounds:
    def __init__(self, now: int | None) -> None:
        self._now = now

    def true(self, e: ast.Expr) -> Test:
        match e:
            case ast.Binary("and", left, right):
                return both((self.true(left), self.true(right)))
            case ast.Binary("or", left, right):
                return _either((self.true(left), self.true(right)))
            case ast.Unary("not", of):
                return self.false(of)
            case ast.Binary("in", left, ast.ListOf(items)):
                return self._one_of(left, items)
            case ast.Binary("like", left, ast.Literal("string", str(pattern))):
                return both(_like(field(left), pattern)[0])
            case ast.Binary("!=", left, right):
                return self._test_unequal(left, right)
            case ast.Binary(op, left, right) if op in TURNED:
                return self._compare(left, op, right)
            case ast.Between(of, low, high):
                return both((self._compare(of, ">=", low), self._compare(of, "<=", high)))
            case ast.Call("has" | "missing" as name, (of,)) if field(of):
                return Has(field(of)) if name == "has" else Missing(field(of))
            case ast.Name() | ast.Dot():
                return Compare(field(e), "==", BOOL, True) if field(e) else ANY_ROW
        return ANY_ROW

    def false(self, e: ast.Expr) -> Test:
        """Returns a test that all rows pass for which the expression is false: neither true nor null."""
        match e:
            case ast.Binary("and", left, right):
                return _either((self.false(left), self.false(right)))
            case ast.Binary("or", left, right):
                return both((self.false(left), self.false(right)))
            case ast.Unary("not", of):
                return self.true(of)
            case ast.Binary("in", left, ast.ListOf(items)):
                return both(self._unequal(left, each) for each in items)
            case ast.Binary("like", left, ast.Literal("string", str(pattern))):
                tests, exact = _like(field(left), pattern)
                return _either(tuple(map(_unlike, tests))) if exact and tests else ANY_ROW
            case ast.Binary("!=", left, right):
                return ANY_ROW  # values of other kinds are neither equal nor unequal
            case ast.Binary(op, left, right) if op in TURNED:
                return self._unequal(left, right) if op == "==" else _unlike(self._compare(left, op, right))
            case ast.Between(of, low, high):
                tests = [self._compare(of, ">=", low), self._compare(of, "<=", high)]
                return _either(tuple(map(_unlike, tests)))
            case ast.Call("has" | "missing" as name, (of,)) if field(of):
                return Missing(field(of)) if name == "has" else Has(field(of))
            case ast.Name() | ast.Dot():
                return Compare(field(e), "==", BOOL, False) if field(e) else ANY_ROW
        return ANY_ROW

    def _one_of(self, left: ast.Expr, items: tuple[ast.Expr, ...]) -> Test:
        path = field(left)
        values = [value for item in items if (value := self._constant(item)) is not None]
        return OneOf(path, tuple(values)) if path and len(values) == len(items) else ANY_ROW

    def _compare(self, left: ast.Expr, op: str, right: ast.Expr) -> Test:
        path, value = field(left), self._constant(right)
        if not path:
            return self._compare(right, TURNED[op], left) if field(right) else ANY_ROW
        if op == "==" and _is_null(right):
            return IsNull(path)
        if value is None:
            return ANY_ROW
        if op == "<" and isinstance(value[1], Moment):  # a value that is known in microseconds may be just before it
            op = "<="
        return Compare(path, op, *value)

    def _test_unequal(self, left: ast.Expr, right: ast.Expr) -> Test:
        equal = self._compare(left, "==", right)
        match equal:
            case IsNull(path):
                return Valued(path)
            case Compare(path):
                return All((Has(path), Unlike(equal)))
        return ANY_ROW

    def _unequal(self, left: ast.Expr, right: ast.Expr) -> Test:
        """Returns a test of the rows for which it is false that the two are equal."""
        equal = self._compare(left, "==", right)
        return Either((Valued(equal.path), Missing(equal.path))) if isinstance(equal, IsNull) else _unlike(equal)

    def _constant(self, e: ast.Expr) -> Constant | None:
        return constant(e, self._now)


def _is_null(e: ast.Expr) -> bool:
    return isinstance(e, ast.Literal) and e.kind == NULL


def _unlike(test: Test) -> Test:
    return Unlike(test) if isinstance(test, Compare) else ANY_ROW


def _either(tests: tuple[Test, ...]) -> Test:
    return ANY_ROW if any(isinstance(test, AnyRow) for test in tests) else Either(tests)


def _like(path: Path, pattern: str) -> tuple[list[Test], bool]:
    """Returns tests that a matching text passes, by how it begins, and whether they are all that the pattern
    demands."""
    if not path:
        return [], False
    begin, rest = _beginning(pattern)
    if not rest:
        return [Compare(path, "==", STRING, begin)], True
    found: list[Test] = [Compare(path, ">=", STRING, begin)]
    if end := _least_after(begin):
        found.append(Compare(path, "<", STRING, end))
    return found, rest == "%"


def _beginning(pattern: str) -> tuple[str, str]:
    """Returns the letters before the first of % and _, and the rest of the pattern."""
    found, at = "", 0
    while at < len(pattern) and pattern[at] not in "%_":
        at += pattern[at] == "\\"
        found += pattern[at : at + 1]
        at += 1
    return found, pattern[at:]


def _least_after(begin: str) -> str:
    """Returns the least text that is greater than all with this beginning, or an empty text if there is none."""
    begin = begin.rstrip(_LAST)
    if not begin:
        return ""
    next = ord(begin[-1]) + 1
    return begin[:-1] + chr(0xE000 if next == 0xD800 else next)  # halves of a pair are not characters


# ── constants ────────────────────────────────────────────────────────────────────────────────────────────────────────


Constant = tuple[str, Scalar]  # kind, value; a time is microseconds since 1970

_KINDS = (BOOL, INT, FLOAT, STRING, TIME, DURATION, DECIMAL)
_NUMBERS = (INT, FLOAT)
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


def constant(e: ast.Expr, now: int | None = None) -> Constant | None:
    """Returns the value of an expression without fields, if it is known before anything is read: `now() - 1h`, `2 + 3`,
    `time("2026-11-01")`. It computes only what every engine computes alike. `now` is when the query began, in
    microseconds since 1970."""
    found = _fold_constant(e, now)
    return None if found is None or found[0] == DURATION else found


def _fold_constant(e: ast.Expr, now: int | None) -> Constant | None:
    match e:
        case ast.Literal(kind, value) if kind in _KINDS and value is not None:
            return kind, value
        case ast.Unary("-", of):
            return _negative(_fold_constant(of, now))
        case ast.Binary("+" | "-" | "*" as op, left, right):
            one, other = _fold_constant(left, now), _fold_constant(right, now)
            return None if one is None or other is None else _compute(op, one, other)
        case ast.Call("now", ()):
            return None if now is None else (TIME, now)
        case ast.Call(name, (of,)) if name in _CASTS:
            inner = _fold_constant(of, now)
            return None if inner is None else _cast(name, *inner)
    return None


def _negative(of: Constant | None) -> Constant | None:
    if of is None or isinstance(of[1], bool | str) or of[0] == TIME:
        return None
    if isinstance(of[1], Decimal):
        return DECIMAL, -of[1]
    return _fit_constant(of[0], -of[1])


def _compute(op: str, one: Constant, other: Constant) -> Constant | None:
    (left, mine), (right, theirs) = one, other
    if isinstance(mine, bool | str | Decimal) or isinstance(theirs, bool | str | Decimal):
        return None
    if left in _NUMBERS and right in _NUMBERS:
        return _number(op, mine, theirs)
    if op == "*" or right != DURATION or left not in (TIME, DURATION):
        return None
    return _fit_constant(left, mine + theirs if op == "+" else mine - theirs)


def _number(op: str, mine: float, theirs: float) -> Constant | None:
    whole = isinstance(mine, int) and isinstance(theirs, int)
    one, other = (mine, theirs) if whole else (float(mine), float(theirs))
    result = one + other if op == "+" else one - other if op == "-" else one * other
    return _fit_constant(INT if whole else FLOAT, result)


def _fit_constant(kind: str, value: float) -> Constant | None:
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
            return _fit_constant(INT, int(value))
        if to == FLOAT and _REAL.fullmatch(value):
            return _fit_constant(FLOAT, float(value))
        if to == TIME and _MOMENT.fullmatch(value):
            return TIME, times.parse(value)
    except (ValueError, OverflowError):
        pass
    return None


_CASTS = {"int64": INT, "float64": FLOAT, "string": STRING, "time": TIME}
