"""Bounds of a test in SQL over a source's leaves, as a plan has it: see `bounds.py`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from lochan.pools.kinds import BOOL, DECIMAL, FLOAT, INT, STRING, TIME
from lochan.pools.row_tests import ANY_ROW, Compare, Either, OneOf, Scalar, Test, both
from lochan.pools.shape import Leaf
from lochan.query.compile.logic import COMPARISONS, TURNED
from lochan.query.compile.sql import sql_type

_OPERATORS: dict[type[exp.Expr], str] = {node: op for op, node in COMPARISONS.items() if op != "!="}
_SCALARS = (BOOL, INT, FLOAT, STRING, TIME)
_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def of_sql(test: exp.Expr) -> Test:
    """Returns a test that all rows pass for which the SQL test is true."""
    match test:
        case exp.Paren():
            return of_sql(test.this)
        case exp.Coalesce() if test.expressions == [exp.false()]:
            return of_sql(test.this)
        case exp.And():
            return both((of_sql(test.left), of_sql(test.right)))
        case exp.Or():
            arms = of_sql(test.left), of_sql(test.right)
            return ANY_ROW if ANY_ROW in arms else Either(arms)
        case exp.Between():
            ends = (_comparison(test.this, ">=", test.args["low"]), _comparison(test.this, "<=", test.args["high"]))
            return both(each or ANY_ROW for each in ends)
        case exp.In() if test.expressions:
            return _one_of(test)
    op = _OPERATORS.get(type(test))
    if op is None or not isinstance(test, exp.Binary):
        return ANY_ROW
    return _comparison(test.left, op, test.right) or _comparison(test.right, TURNED[op], test.left) or ANY_ROW


def _comparison(left: exp.Expr, op: str, right: exp.Expr) -> Compare | None:
    (path, kind), value = _leaf(left), _constant(right)
    return Compare(path, op, *value) if value is not None and _class(kind) == _class(value[0]) else None


def _one_of(test: exp.In) -> Test:
    path, kind = _leaf(test.this)
    values = [_constant(each) for each in test.expressions]
    comparable = tuple(value for value in values if value is not None and _class(kind) == _class(value[0]))
    return OneOf(path, comparable) if len(comparable) == len(values) else ANY_ROW


def _leaf(column: exp.Expr) -> Leaf:
    """Returns the leaf of a column. For any other expression it returns a leaf without a kind."""
    if isinstance(column, exp.Paren):
        return _leaf(column.this)
    if isinstance(column, exp.Cast):  # a cast to its own type, as columns of a UNION have
        leaf = _leaf(column.this)
        return leaf if leaf.kind in _SCALARS and sql_type(leaf.kind) == column.to else Leaf((), "")
    if not isinstance(column, exp.Column):
        return Leaf((), "")
    return Leaf.of_column(column.name)


def _class(kind: str) -> str:
    return FLOAT if kind in (INT, DECIMAL) else kind


def _constant(value: exp.Expr) -> tuple[str, Scalar] | None:
    match value:
        case exp.Paren():
            return _constant(value.this)
        case exp.Neg():
            inner = _constant(value.this)
            return (inner[0], -inner[1]) if inner and isinstance(inner[1], int | float) else None
        case exp.Boolean():
            return BOOL, bool(value.this)
        case exp.Literal():
            return _literal(value)
        case exp.Cast() if isinstance(value.this, exp.Literal) and value.this.is_string:
            return _cast(value.this.name, value.to.this)
    return None


def _literal(value: exp.Literal) -> tuple[str, Scalar] | None:
    if value.is_string:
        return STRING, value.name
    return (INT, int(value.name)) if value.name.isdigit() else None


def _cast(text: str, to: Any) -> tuple[str, Scalar] | None:
    try:
        match to:
            case exp.DataType.Type.BIGINT:
                return INT, int(text)
            case exp.DataType.Type.DOUBLE:
                return FLOAT, float(text)
            case exp.DataType.Type.DECIMAL:
                return DECIMAL, Decimal(text)
            case exp.DataType.Type.TIMESTAMPTZ:
                return TIME, (datetime.fromisoformat(text) - _1970) // timedelta(microseconds=1)
    except (ValueError, TypeError, ArithmeticError):
        pass
    return None
