"""Filters of Spark as tests of the query language. They select objects; Spark itself tests the rows.

A column is named only if its values are of one kind and the filter's value is of that kind too. Otherwise the two have
different meanings: a field of several kinds is a text of JSON in a frame, and a text equals no number in a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import reduce
from typing import Any

from lochan.query import ast
from lochan.query.syntax.unparse import text_of

Filter = Mapping[str, Any]  # as JSON: {"op": "=", "column": "n", "value": {"int": 3}}
Kinds = Mapping[str, Set[str]]  # the kinds of the values of each column

_OPERATORS = {"=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NUMBERS = frozenset(("int", "float"))
_FITS = {"string": {"string"}, "bool": {"bool"}, "int": _NUMBERS, "float": _NUMBERS, "time": {"time"}}


def pruning_tests(filters: Sequence[Filter], kinds: Kinds) -> list[ast.Expr]:
    """Returns the tests by which objects can be skipped. All of them hold for every row that Spark keeps."""
    found = (_test(each, kinds) for each in filters)
    return [each for each in found if each is not None]


def where_text(filters: Sequence[Filter], kinds: Kinds) -> str | None:
    """Returns a test of the query language that is true for exactly the rows that pass the filters, or None if there is
    none."""
    if not all(_is_exact(each, kinds) for each in filters):
        return None
    return " and ".join(f"({text_of(test)})" for test in pruning_tests(filters, kinds)) or "true"


def _test(given: Filter, kinds: Kinds) -> ast.Expr | None:
    op = given["op"]
    if op in ("and", "or"):
        return _pair(op, _test(given["left"], kinds), _test(given["right"], kinds))
    if op == "in":
        tests = [_comparison("==", given["column"], each, kinds) for each in given["values"]]
        return reduce(lambda left, right: _pair("or", left, right), tests) if tests else None
    if op in _OPERATORS:
        return _comparison(_OPERATORS[op], given["column"], given["value"], kinds)
    return None


def _is_exact(given: Filter, kinds: Kinds) -> bool:
    op = given["op"]
    if op in ("and", "or"):
        return _is_exact(given["left"], kinds) and _is_exact(given["right"], kinds)
    if op in (">", ">=") and "float" in kinds.get(given["column"], ()):
        return False  # NaN is greater than every number in Spark, and greater than none in a query
    return op == "true" or _test(given, kinds) is not None


def _pair(op: str, left: ast.Expr | None, right: ast.Expr | None) -> ast.Expr | None:
    """Joins two tests. One side of an `and` can be used alone; one side of an `or` would leave out too much."""
    if left is None or right is None:
        return (left or right) if op == "and" else None
    return ast.Binary(op, left, right)


def _comparison(op: str, column: str, value: Mapping[str, Any], kinds: Kinds) -> ast.Expr | None:
    [(kind, literal)] = value.items()
    found = kinds.get(column, frozenset())
    if not found or not found <= _FITS.get(kind, set()):
        return None
    return _at(op, column, literal) if kind == "time" else _binary(op, column, kind, literal)


def _at(op: str, column: str, time_us: int) -> ast.Expr:
    """Compares times. In a frame a time is cut to microseconds, so a finer one counts as its microsecond."""
    before_next = _binary("<", column, "time", time_us + 1)
    if op == "==":
        return ast.Binary("and", _binary(">=", column, "time", time_us), before_next)
    if op == "<=":
        return before_next
    return _binary(">=", column, "time", time_us + 1) if op == ">" else _binary(op, column, "time", time_us)


def _binary(op: str, column: str, kind: str, literal: Any) -> ast.Expr:
    return ast.Binary(op, ast.Name(column), ast.Literal(kind, literal))
