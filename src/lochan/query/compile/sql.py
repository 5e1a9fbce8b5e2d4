"""Small pieces of SQL. Every piece is copied into the one around it: a node of a sqlglot tree has one parent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlglot import exp

from lochan.pools import shape
from lochan.pools.layout import DIGITS_MAX, scale_of
from lochan.pools.shape import (
    ARRAY,
    BOOL,
    DURATION,
    FLOAT,
    INT,
    IP,
    JSON,
    NULL,
    OBJECT,
    STRING,
    TIME,
    Array,
    Object,
    Type,
    kind_of,
)
from lochan.query.dialects.neutral import AGGREGATES, Neutral, neutral

Sql = exp.Expr

TRUE, FALSE = exp.true(), exp.false()
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
DECIMAL = shape.DECIMAL  # of a value: the text of a number that neither 64 bits nor a double hold (`numbers.py`)
ERROR = "error"  # the kind of what has no result: its value is a message

_TYPES = {
    NULL: "boolean",
    OBJECT: "boolean",
    BOOL: "boolean",
    INT: "bigint",
    FLOAT: "double",
    STRING: "varchar",
    TIME: "timestamptz",
    JSON: "varchar",
    DECIMAL: "varchar",
    DURATION: "bigint",
    IP: "varchar",
    ERROR: "varchar",
}
COMPARISONS: dict[str, type[exp.Binary]] = {
    "==": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # with the sides exchanged
_TOTAL = (exp.Is, exp.Boolean)  # tests that are never NULL
_LOOSE = (exp.Binary, exp.Connector, exp.Not, exp.Neg, exp.Is, exp.Between, exp.In, exp.Case)


def sql_type(kind: str, element: Type | None = None) -> exp.DataType:
    if kind == ARRAY:
        return exp.DataType(
            this=exp.DataType.Type.ARRAY,
            expressions=[element_type(element if element is not None else JSON)],
            nested=True,
        )
    if kind == DECIMAL and isinstance(element, str) and element != NULL:
        return decimal_type(scale_of(element))
    return _parsed(_TYPES[kind]).copy()


def element_type(element: Type) -> exp.DataType:
    if isinstance(element, Object):
        members = [
            exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=element_type(each))
            for name, each in element.fields
        ]
        return exp.DataType(this=exp.DataType.Type.STRUCT, expressions=members, nested=True)
    if isinstance(element, Array):
        return sql_type(ARRAY, element.of)
    return sql_type(kind_of(element), element)


def decimal_type(scale: int, digits: int = DIGITS_MAX) -> exp.DataType:
    return _parsed(f"decimal({digits}, {scale})").copy()


@cache
def _parsed(name: str) -> exp.DataType:
    return exp.DataType.build(name)


def null_of(kind: str, element: Type | None = None) -> Sql:
    return exp.Cast(this=exp.Null(), to=sql_type(kind, element))


def cast(value: Sql, kind: str) -> Sql:
    return exp.Cast(this=value.copy(), to=sql_type(kind))


def try_cast(value: Sql, kind: str) -> Sql:
    """NULL where it cannot be. Only between numbers: texts are checked before, as engines take different ones."""
    return neutral("try_cast", value, options=(kind,))


def number(value: int | float) -> Sql:
    """A float is always written as one, so that no engine takes it for a decimal."""
    if isinstance(value, float):
        return exp.Cast(this=exp.Literal.string(repr(value)), to=sql_type(FLOAT))
    if value == INT_MIN:
        return exp.Cast(this=exp.Literal.string(str(value)), to=sql_type(INT))
    literal: Sql = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def text(value: str) -> Sql:
    return exp.Literal.string(value)


def moment(micros: int) -> Sql:
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return neutral("from_micros", number(micros))
    return exp.Cast(this=exp.Literal.string(f"{at:%Y-%m-%d %H:%M:%S.%f}+00:00".rjust(32, "0")), to=sql_type(TIME))


def time_at(micros: Sql) -> Sql:
    """NULL where that lies before the year 1 or after 9999: no text could say it, and the engines differ."""
    return neutral("from_micros", neutral("within_years", micros))


def op(node: type[exp.Binary], left: Sql, right: Sql) -> Sql:
    return node(this=_tight(left), expression=_tight(right))


def eq(left: Sql, right: Sql) -> Sql:
    return op(exp.EQ, left, right)


def is_null(value: Sql) -> Sql:
    if _is_said(value):
        return FALSE
    return exp.Is(this=_tight(value), expression=exp.Null())


def is_set(value: Sql) -> Sql:
    return negate(is_null(value))


def negate(value: Sql) -> Sql:
    if isinstance(value, exp.Boolean):
        return exp.false() if value.this else exp.true()
    return exp.Not(this=_tight(value))


def all_of(tests: Iterable[Sql]) -> Sql:
    return _joined(exp.And, [test for test in tests if test != TRUE], TRUE)


def any_of(tests: Iterable[Sql]) -> Sql:
    return _joined(exp.Or, [test for test in tests if test != FALSE], FALSE)


def surely(test: Sql) -> Sql:
    """The same test, false where it would be NULL."""
    return test if isinstance(test, exp.Boolean) else coalesce(test, FALSE)


def coalesce(*values: Sql) -> Sql:
    """One within another is the same as all of them in a row, and less deep."""
    flat: list[Sql] = []
    for each in values:
        flat += [each.this, *each.expressions] if isinstance(each, exp.Coalesce) else [each]
    if len(flat) == 1:
        return flat[0]
    return exp.Coalesce(this=flat[0].copy(), expressions=[each.copy() for each in flat[1:]])


def case(*arms: tuple[Sql, Sql], other: Sql | None = None) -> Sql:
    """`CASE WHEN test THEN value … ELSE other END`; arms that never hold are left out."""
    kept = [(test, value) for test, value in arms if test != FALSE]
    if kept and kept[0][0] == TRUE:
        return kept[0][1]
    if not kept:
        return other if other is not None else exp.Null()
    ifs = [exp.If(this=test.copy(), true=value.copy()) for test, value in kept]
    return exp.Case(ifs=ifs, default=None if other is None else other.copy())


def flag(test: Sql) -> Sql:
    """TRUE or NULL, as the columns of the kinds null and object are."""
    if test == FALSE:
        return null_of(NULL)
    return test if test == TRUE else case((test, TRUE))


def flagged(value: Sql) -> Sql:
    """Whether a flag is set: the test that it was made of, if that is never NULL."""
    if isinstance(value, exp.Case) and len(value.args["ifs"]) == 1 and value.args.get("default") is None:
        arm = value.args["ifs"][0]
        if arm.args["true"] == TRUE and all(isinstance(each, _TOTAL) for each in _connected(arm.this)):
            test: Sql = arm.this
            return test
    return is_set(value)


def _connected(test: Sql) -> list[Sql]:
    """What `and`, `or` and `not` join."""
    found, left = [], [test]
    while left:
        each = left.pop()
        if isinstance(each, exp.And | exp.Or):
            left += [each.this, each.expression]
        elif isinstance(each, exp.Not | exp.Paren):
            left.append(each.this)
        else:
            found.append(each)
    return found


def concat(*parts: Sql) -> Sql:
    """NULL if one of them is."""
    whole = parts[0]
    for part in parts[1:]:
        whole = op(exp.DPipe, whole, part)
    return whole


def columns_of(values: Iterable[Sql | None], alias: str) -> dict[str, None]:
    """The names of one relation's columns in these, in order of first sight."""
    found: dict[str, None] = {}
    for value in values:
        if value is not None:
            for column in value.find_all(exp.Column):
                if column.table == alias:
                    found[column.name] = None
    return found


def is_constant(value: Sql) -> bool:
    """The same for all rows: neither a column nor an aggregate is in it."""
    if value.find(exp.Column, exp.AggFunc, exp.Window) is not None:
        return False
    return not any(each.this in AGGREGATES for each in value.find_all(Neutral))


def _is_said(value: Sql) -> bool:
    """A constant of the query, which is never NULL."""
    if isinstance(value, exp.Cast | exp.Neg | exp.Paren):
        value = value.this
    return isinstance(value, exp.Literal | exp.Boolean)


def _tight(value: Sql) -> Sql:
    return exp.Paren(this=value.copy()) if isinstance(value, _LOOSE) else value.copy()


def _joined(node: type[exp.Connector], parts: list[Sql], nothing: Sql) -> Sql:
    """Balanced, so that a thousand parts are ten levels; parts that are joined themselves are taken apart first."""
    parts = list(dict.fromkeys(each for part in parts for each in _apart(node, part)))
    return _balanced(node, parts, nothing)


def _apart(node: type[exp.Connector], part: Sql) -> list[Sql]:
    found: list[Sql] = []
    left = [part]
    while left:
        each = left.pop()
        inner = each.this if isinstance(each, exp.Paren) else each
        if isinstance(inner, node):
            left += [inner.expression, inner.this]
        else:
            found.append(each)
    return found


def _balanced(node: type[exp.Connector], parts: list[Sql], nothing: Sql) -> Sql:
    if any(part == negate(nothing) for part in parts):
        return negate(nothing)
    if not parts:
        return nothing.copy()
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return op(node, _balanced(node, parts[:middle], nothing), _balanced(node, parts[middle:], nothing))
