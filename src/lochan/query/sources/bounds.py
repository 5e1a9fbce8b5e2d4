"""Tests that rows must pass, reduced to what can be judged by an object's statistics: comparisons of a field with a
value, joined by and/or. Everything else may be true of any row.

    status >= 500 and (host == "a" or f(x))    ──▶    All(status >= 500, Any(host == "a", ANY_ROW))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lochan.pools.shape import BOOL, FLOAT, INT, STRING, TIME
from lochan.query import ast

Path = tuple[str, ...]
Scalar = bool | int | float | str

_TURNED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_KINDS = (BOOL, INT, FLOAT, STRING, TIME)


class Compare(NamedTuple):
    """`op` is ==, <, <=, > or >=. A time is microseconds since 1970."""

    path: Path
    op: str
    kind: str
    value: Scalar


class OneOf(NamedTuple):
    path: Path
    values: tuple[tuple[str, Scalar], ...]  # kind, value


class All(NamedTuple):
    tests: tuple[Test, ...]


class Either(NamedTuple):
    tests: tuple[Test, ...]


class AnyRow(NamedTuple):
    """Nothing is known of it."""


Test = Compare | OneOf | All | Either | AnyRow
ANY_ROW = AnyRow()


def of_expression(e: ast.Expr) -> Test:
    """What is known of the rows for which it is true."""
    match e:
        case ast.Binary("and", left, right):
            return both((of_expression(left), of_expression(right)))
        case ast.Binary("or", left, right):
            return _either((of_expression(left), of_expression(right)))
        case ast.Binary("in", left, ast.ListOf(items)):
            return _one_of(left, items)
        case ast.Binary(op, left, right) if op in _TURNED:
            return _compared(left, op, right) or _compared(right, _TURNED[op], left) or ANY_ROW
        case ast.Between(of, low, high):
            return both((_compared(of, ">=", low) or ANY_ROW, _compared(of, "<=", high) or ANY_ROW))
    return ANY_ROW


def both(tests: Iterable[Test]) -> Test:
    known = [test for test in tests if not isinstance(test, AnyRow)]
    parts = [part for test in known for part in (test.tests if isinstance(test, All) else (test,))]
    return All(tuple(parts)) if len(parts) > 1 else parts[0] if parts else ANY_ROW


def _either(tests: tuple[Test, ...]) -> Test:
    return ANY_ROW if any(isinstance(test, AnyRow) for test in tests) else Either(tests)


def _one_of(left: ast.Expr, items: tuple[ast.Expr, ...]) -> Test:
    path = field(left)
    values = tuple(value for item in items if (value := constant(item)) is not None)
    return OneOf(path, values) if path and len(values) == len(items) else ANY_ROW


def _compared(left: ast.Expr, op: str, right: ast.Expr) -> Compare | None:
    path, value = field(left), constant(right)
    return Compare(path, op, *value) if path and value is not None else None


def field(e: ast.Expr) -> Path:
    """The path of a field of the row; empty: it is something else."""
    match e:
        case ast.Name(name):
            return (name,)
        case ast.Dot(of, name):
            if isinstance(of, ast.This):
                return (name,)
            above = field(of)
            return (*above, name) if above else ()
    return ()


def constant(e: ast.Expr) -> tuple[str, Scalar] | None:
    match e:
        case ast.Literal(kind, value) if kind in _KINDS and value is not None:
            return kind, value
        case ast.Unary("-", ast.Literal("int" | "float" as kind, value)) if isinstance(value, int | float):
            return kind, -value
    return None
