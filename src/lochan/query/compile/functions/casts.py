"""Casts. A cast that fails returns null; `is_error` of the cast finds these rows. A pattern checks which texts are
accepted, because the engines accept different ones (`1_000`, `0x10`, ` 1 `).

    int64      true, false; floats cut towards zero; digits, with a sign
    float64    ints; digits with a fraction or an exponent
    string     all but floats, whose digits the engines write differently
    time       RFC 3339 texts, a date alone too; ints as microseconds since 1970; of the years 1 to 9999
    duration   texts such as 1h30m; ints as microseconds
    bool       the texts true and false; numbers: not zero
    ip         dotted IPv4 texts
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lochan.pools.kinds import BOOL, DECIMAL, DURATION, FLOAT, INT, IP, JSON, NULL, STRING, TIME
from lochan.query.compile.calls import Function, FunctionCall
from lochan.query.compile.logic import all_of, any_of, case, coalesce, eq, is_null, is_set, negate
from lochan.query.compile.numbers import equals, nearest, normal
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, number, text, time_at, try_cast
from lochan.query.compile.sql import op as binary
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import MISSING, Value, is_explicit_null, present
from lochan.query.dialects.neutral import YEAR, neutral

Make = Callable[[Sql], Sql]

_FROM_TEXT = {
    INT: r"^[+-]?[0-9]+\z",
    FLOAT: r"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?\z",
}
_TIME = (
    rf"^{YEAR}-[0-9]{{2}}-[0-9]{{2}}"
    + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?\z"
)


def _int_of_float(sql: Sql) -> Sql:
    """Cuts a float towards zero."""
    return try_cast(neutral("truncate", sql), INT)


def _text_as(kind: str) -> Make:
    return lambda sql: case((neutral("matches", sql, options=(_FROM_TEXT[kind],)), try_cast(sql, kind)))


def _time_of_text(sql: Sql) -> Sql:
    """Returns the time, or NULL for one before the year 1 or after 9999, where an offset may lead."""
    time = neutral("in_years", try_cast(sql, TIME), sql)
    return case((neutral("matches", sql, options=(_TIME,)), time))


def _bool_of_text(sql: Sql) -> Sql:
    return case((eq(sql, text("true")), TRUE), (eq(sql, text("false")), FALSE))


def _keep_value(sql: Sql) -> Sql:
    return sql


def _int_of_decimal(sql: Sql) -> Sql:
    """Cuts a decimal towards zero. The result is NULL where it has more than 64 bits."""
    return neutral("whole_int", sql)


def _is_some(sql: Sql) -> Sql:
    return negate(equals(sql, 0))


def _not_zero(sql: Sql) -> Sql:
    return binary(exp.NEQ, sql, number(0))


CASTS: dict[str, tuple[str, dict[str, Make]]] = {
    "int64": (
        INT,
        {
            INT: _keep_value,
            FLOAT: _int_of_float,
            DECIMAL: _int_of_decimal,
            STRING: _text_as(INT),
            BOOL: lambda sql: cast(sql, INT),
            TIME: lambda sql: neutral("micros", sql),
            DURATION: _keep_value,
        },
    ),
    "float64": (
        FLOAT,
        {
            FLOAT: _keep_value,
            INT: lambda sql: cast(sql, FLOAT),
            DECIMAL: lambda sql: neutral("finite", nearest(sql)),
            STRING: _text_as(FLOAT),
            BOOL: lambda sql: cast(cast(sql, INT), FLOAT),
            DURATION: lambda sql: cast(sql, FLOAT),
        },
    ),
    "time": (TIME, {TIME: _keep_value, STRING: _time_of_text, INT: time_at}),
    "duration": (
        DURATION,
        {DURATION: _keep_value, INT: _keep_value, STRING: lambda sql: neutral("parse_duration", sql)},
    ),
    "bool": (BOOL, {BOOL: _keep_value, STRING: _bool_of_text, INT: _not_zero, FLOAT: _not_zero, DECIMAL: _is_some}),
    "ip": (IP, {IP: _keep_value, STRING: lambda sql: neutral("ip_digits", sql)}),
}


def _cast(name: str) -> Function:
    return lambda call: cast_value(call[0], *CASTS[name])


def cast_value(value: Value, kind: str, ways: dict[str, Make]) -> Value:
    found = [ways[each](sql) for each, sql in value.alts.items() if each in ways]
    if not found:
        return Value(
            {NULL: exp.Case(ifs=[exp.If(this=present(value), true=TRUE)])}, MISSING if value.nothing == MISSING else ""
        )
    result = coalesce(*found)
    if value.kinds <= {kind} and not value.nothing:
        return Value({kind: result}, format=value.format)
    if value.nothing != MISSING:
        return Value({kind: result}, NULL, format=value.format)
    null = case((all_of([present(value), is_null(result)]), TRUE))
    return Value({kind: result, NULL: null}, MISSING, format=value.format)


def string_of(call: FunctionCall) -> Value:
    value = call[0]
    if FLOAT in value.alts:
        call.refuse(
            "a query cannot convert floats to strings: the engines write their digits differently",
            "convert it to an int first, or leave the number as it is",
        )
    ways: dict[str, Make] = {
        STRING: _keep_value,
        BOOL: lambda sql: case((sql, text("true")), (negate(sql), text("false"))),
        INT: lambda sql: cast(sql, STRING),
        TIME: lambda sql: neutral("time_text", sql),
        IP: lambda sql: neutral("ip_text", sql),
        DURATION: lambda sql: neutral("duration_text", sql),
        DECIMAL: normal,
        JSON: _keep_value,
    }
    composite = {kind: sql for kind, sql in value.alts.items() if kind in ("object", "array")}
    if composite:
        rest = Value({k: v for k, v in value.alts.items() if k not in composite}, MISSING)
        whole = json_text(Value(composite, MISSING, value.element, value.record))
        plain = cast_value(rest, STRING, ways) if rest.alts else None
        parts = [whole] + ([plain.alts[STRING]] if plain is not None and STRING in plain.alts else [])
        alts: dict[str, Sql] = {STRING: coalesce(*parts)}
        if is_explicit_null(value) != FALSE:
            alts[NULL] = case((is_explicit_null(value), TRUE))
        return Value(alts, value.nothing)
    return cast_value(value, STRING, ways)


def time_of(call: FunctionCall) -> Value:
    return cast_value(call[0], *CASTS["time"])


def fails(call: FunctionCall) -> Sql:
    """Tests whether the cast has no result for a value that exists and is not null."""
    value, result = call[0], TABLE[call.name](call)
    kind = CASTS[call.name][0] if call.name in CASTS else STRING
    done = [is_null(result.alts[kind])] if kind in result.alts else []
    there = any_of([is_set(sql) for each, sql in value.alts.items() if each != NULL])
    return all_of([there, *done])


TABLE: dict[str, Function] = {name: _cast(name) for name in CASTS} | {"string": string_of}
