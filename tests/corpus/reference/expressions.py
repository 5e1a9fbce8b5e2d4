"""Expressions over one row."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lochan.query import ast
from tests.corpus.reference import functions
from tests.corpus.reference.values import (
    ERROR,
    MISSING,
    Duration,
    Time,
    equal,
    exact,
    is_number,
    kind,
    same_kind,
    time_at,
)

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def evaluate(expr: ast.Expr, row: Any) -> Any:
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.Regexp() | ast.Glob():
            return expr
        case ast.This():
            return row
        case ast.Name(name):
            return _member(row, name)
        case ast.Dot(of, name):
            return _member(evaluate(of, row), name)
        case ast.Index(of, at):
            return _element(evaluate(of, row), evaluate(at, row))
        case ast.Slice(of, start, stop):
            return _slice(evaluate(of, row), start and evaluate(start, row), stop and evaluate(stop, row))
        case ast.Unary(op, of):
            return _unary(op, evaluate(of, row))
        case ast.Binary(op, left, right):
            return _binary(op, left, right, row)
        case ast.Between(of, low, high):
            value = evaluate(of, row)
            return _compare(">=", value, evaluate(low, row)) and _compare("<=", value, evaluate(high, row))
        case ast.Conditional(test, then, other):
            return evaluate(then if evaluate(test, row) is True else other, row)
        case ast.Call(name, arguments):
            return functions.call(name, arguments, row, evaluate)
        case ast.ListOf(items):
            return [_kept(evaluate(item, row)) for item in items]
        case ast.RecordOf(fields):
            return _record(fields, row)
        case ast.Term(what):
            return found_in(what, row)
    raise AssertionError(expr)


def _literal(literal: ast.Literal) -> Any:
    match literal.kind:
        case "time":
            assert isinstance(literal.value, int)
            return Time(literal.value)
        case "duration":
            assert isinstance(literal.value, int)
            return Duration(literal.value)
        case "ip":
            return ipaddress.ip_address(str(literal.value))
        case "net":
            return ipaddress.ip_network(str(literal.value))
    return literal.value


def _kept(value: Any) -> Any:
    """Inside of a list nothing is missing."""
    return None if value is MISSING or value is ERROR else value


def _member(of: Any, name: str) -> Any:
    return of.get(name, MISSING) if isinstance(of, dict) else MISSING


def _element(of: Any, at: Any) -> Any:
    if isinstance(of, dict) and isinstance(at, str):
        return of.get(at, MISSING)
    if isinstance(of, list) and kind(at) == "int":
        return of[at] if -len(of) <= at < len(of) else MISSING
    return MISSING


def _slice(of: Any, start: Any, stop: Any) -> Any:
    if of is None:
        return None
    return of[start:stop] if isinstance(of, list | str) else MISSING


def _record(fields: tuple[tuple[str | None, ast.Expr], ...], row: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, expr in fields:
        value = evaluate(expr, row)
        if name is not None:
            made[name] = value
        elif isinstance(value, dict):
            made.update(value)
    return {name: value for name, value in made.items() if value is not MISSING}


def _unary(op: str, value: Any) -> Any:
    if op == "not":
        return not value if isinstance(value, bool) else None
    if value is None or value is MISSING:
        return value
    if kind(value) == "duration":
        return Duration(-value.us)
    return _in_range(-value) if is_number(value) else ERROR


def _binary(op: str, left: ast.Expr, right: ast.Expr, row: Any) -> Any:
    one = evaluate(left, row)
    if op in ("and", "or"):
        return _logic(op, one, evaluate(right, row))
    other = evaluate(right, row)
    match op:
        case "in":
            return _is_in(one, other)
        case "like":
            return isinstance(one, str) and isinstance(other, str) and _like(other).fullmatch(one) is not None
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _compare(op, one, other)
    return _arithmetic(op, one, other)


def _is_in(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one in other
    return isinstance(other, list) and any(equal(one, each) for each in other)


def _logic(op: str, one: Any, other: Any) -> bool | None:
    """A value that is not a boolean leaves the result to the other side; it is unknown if that does not decide."""
    decides: bool = op == "or"
    if any(side is decides for side in (one, other)):
        return decides
    return not decides if isinstance(one, bool) and isinstance(other, bool) else None


def _compare(op: str, one: Any, other: Any) -> bool:
    if one is MISSING or other is MISSING or one is ERROR or other is ERROR:
        return False
    if op == "==":
        return equal(one, other)
    if op == "!=":
        return not equal(one, other) and (same_kind(one, other) or one is None or other is None)
    if not same_kind(one, other) or one is None or isinstance(one, dict | list | bool):
        return False
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    if Decimal in (type(one), type(other)):
        one, other = exact(one), exact(other)
    results: dict[str, Callable[[], bool]] = {
        "<": lambda: one < other,
        "<=": lambda: one <= other,
        ">": lambda: one > other,
        ">=": lambda: one >= other,
    }
    return bool(results[op]())


def _arithmetic(op: str, one: Any, other: Any) -> Any:
    if one is MISSING or other is MISSING:
        return MISSING
    if one is None or other is None:
        return None
    one, other = (float(each) if isinstance(each, Decimal) else each for each in (one, other))  # the query says them
    kinds = (kind(one), kind(other))
    if op == "+" and kinds == ("string", "string"):
        return one + other
    match kinds, op:
        case (("time", "duration"), "+" | "-"):
            return time_at(one.us + other.us if op == "+" else one.us - other.us)
        case (("duration", "time"), "+"):
            return time_at(one.us + other.us)
        case (("time", "time"), "-"):
            return Duration(one.us - other.us)
        case (("duration", "duration"), "+" | "-"):
            return Duration(one.us + other.us if op == "+" else one.us - other.us)
    if not (is_number(one) and is_number(other)):
        return ERROR
    return _numbers(op, one, other)


def _numbers(op: str, one: float, other: float) -> Any:
    whole = isinstance(one, int) and isinstance(other, int)
    match op:
        case "+":
            return _in_range(one + other)
        case "-":
            return _in_range(one - other)
        case "*":
            return _in_range(one * other)
    if other == 0:
        return ERROR
    if op == "/":
        return _whole(one, other) if whole and "decimal" not in (kind(one), kind(other)) else float(one) / float(other)
    if not whole:
        return math.fmod(one, other)
    return int(abs(one) % abs(other)) * (1 if one >= 0 else -1)  # the sign of the left side, as SQL has it


def _whole(one: float, other: float) -> Any:
    """Towards zero."""
    quotient = abs(int(one)) // abs(int(other))
    return _in_range(quotient if (one < 0) == (other < 0) else -quotient)


def _in_range(value: float) -> Any:
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        return ERROR
    return value


def _like(pattern: str) -> re.Pattern[str]:
    translated = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.compile(translated, re.DOTALL)


def found_in(what: str | ast.Regexp | ast.Glob, value: Any) -> bool:
    """Anywhere in the row: in a text, a field's name, or how a number or a time is written."""
    match value:
        case dict():
            return any(_in_text(what, name) or found_in(what, each) for name, each in value.items())
        case list():
            return any(found_in(what, each) for each in value)
    return isinstance(value, str) and _in_text(what, value)


def _in_text(what: str | ast.Regexp | ast.Glob, text: str) -> bool:
    match what:
        case ast.Regexp(pattern):
            return re.search(pattern, text) is not None
        case ast.Glob(pattern):
            return glob(pattern).search(text) is not None
    return fold(what) in fold(text)


def glob(pattern: str) -> re.Pattern[str]:
    translated = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.compile(translated, re.DOTALL | re.IGNORECASE | re.ASCII)


def fold(text: str) -> str:
    """ASCII only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
