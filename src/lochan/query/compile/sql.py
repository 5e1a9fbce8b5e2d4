"""Small pieces of SQL: types, literals, casts. Each is copied into its parent, because a sqlglot node has one
parent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlglot import exp

from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, DURATION, ERROR, FLOAT, INT, IP, JSON, NULL, OBJECT, STRING, TIME
from lochan.pools.layout import DIGITS_MAX, scale_of
from lochan.pools.shape import Array, Object, Type, kind_of
from lochan.query.dialects.neutral import AGGREGATES, Neutral, neutral

Sql = exp.Expr

TRUE, FALSE = exp.true(), exp.false()
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1

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
    return _data_type(_TYPES[kind]).copy()


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
    return _data_type(f"decimal({digits}, {scale})").copy()


@cache
def _data_type(name: str) -> exp.DataType:
    return exp.DataType.build(name)


def null_of(kind: str, element: Type | None = None) -> Sql:
    return exp.Cast(this=exp.Null(), to=sql_type(kind, element))


def cast(value: Sql, kind: str) -> Sql:
    return exp.Cast(this=value.copy(), to=sql_type(kind))


def try_cast(value: Sql, kind: str) -> Sql:
    """Casts, with NULL where that is impossible. It is used only between numbers: texts are checked before, because the
    engines accept different ones."""
    return neutral("try_cast", value, options=(kind,))


def number(value: int | float) -> Sql:
    """Returns the literal of a number. A float is always written as one, so that no engine takes it for a decimal."""
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
    """Returns the time, or NULL for one before the year 1 or after 9999, which no text can express and the engines
    treat differently."""
    return neutral("from_micros", neutral("within_years", micros))


def op(node: type[exp.Binary], left: Sql, right: Sql) -> Sql:
    return node(this=tight(left), expression=tight(right))


def concat(*parts: Sql) -> Sql:
    """Joins texts. The result is NULL if one of them is."""
    whole = parts[0]
    for part in parts[1:]:
        whole = op(exp.DPipe, whole, part)
    return whole


def columns_of(values: Iterable[Sql | None], alias: str) -> dict[str, None]:
    """Returns the names of the relation's columns in these values, in order of first occurrence."""
    found: dict[str, None] = {}
    for value in values:
        if value is not None:
            for column in value.find_all(exp.Column):
                if column.table == alias:
                    found[column.name] = None
    return found


def is_constant(value: Sql) -> bool:
    """Returns whether the value is the same for all rows: it contains neither a column nor an aggregate."""
    if value.find(exp.Column, exp.AggFunc, exp.Window) is not None:
        return False
    return not any(each.this in AGGREGATES for each in value.find_all(Neutral))


def tight(value: Sql) -> Sql:
    return exp.Paren(this=value.copy()) if isinstance(value, _LOOSE) else value.copy()
