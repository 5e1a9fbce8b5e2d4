"""Functions of numbers, times and durations. A result that does not exist, such as the root of -1, is an error
value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from lochan.pools.kinds import DECIMAL, DURATION, FLOAT, INT, STRING, TIME
from lochan.pools.times import MICROS_MIN
from lochan.query.compile import decimals
from lochan.query.compile.arithmetic import as_float
from lochan.query.compile.calls import Function, FunctionCall, by_kind
from lochan.query.compile.fields import member
from lochan.query.compile.functions.casts import cast_value, time_of
from lochan.query.compile.logic import case, coalesce
from lochan.query.compile.numbers import nearest
from lochan.query.compile.patterns import quote_pattern
from lochan.query.compile.sql import Sql, cast, moment, time_at
from lochan.query.compile.value import MISSING, Value
from lochan.query.dialects.neutral import YEAR, neutral


def absolute(call: FunctionCall) -> Value:
    handlers = {kind: (kind, _absolute_of(kind)) for kind in (INT, FLOAT, DURATION)}
    handlers[DECIMAL] = (DECIMAL, lambda sql: neutral("abs", sql, options=(DECIMAL,)))
    return by_kind(call, call[0], handlers, may_fail="the result has more than 64 bits")


def _whole(name: str) -> Function:
    """Returns a function that makes numbers whole. An int stays the same, and a float stays a float."""

    def function(call: FunctionCall) -> Value:
        return _make_whole(call, name, 0, lambda sql: neutral(name, sql))

    return function


def _make_whole(call: FunctionCall, name: str, digits: int, of_float: Callable[[Sql], Sql]) -> Value:
    handlers: dict[str, tuple[str, Callable[[Sql], Sql]]] = {INT: (INT, lambda sql: sql), FLOAT: (FLOAT, of_float)}
    exact = call[0].exact and decimals.round_decimal(call[0].exact, name, digits)
    if exact is not None:
        handlers[DECIMAL] = (DECIMAL, lambda sql: decimals.decimal_text(exact))
    return replace(by_kind(call, call[0], handlers), exact=exact)


def round_number(call: FunctionCall) -> Value:
    digits = 0
    if len(call) == 2:
        digits = call.constant(1, int, "a number of digits")
        if not 0 <= digits <= 15:
            call.refuse("`round` takes 0 to 15 digits", at=1)
    return _make_whole(call, "round", digits, lambda sql: neutral("round", sql, options=(digits,)))


def power(call: FunctionCall) -> Value:
    exponent = as_float(call[1]).only((INT, FLOAT))
    real = _real(exponent)
    if real is None:
        call.refuse("`pow` takes numbers", at=1)
    made = by_kind(
        call,
        call[0],
        {
            INT: (FLOAT, lambda sql: neutral("pow", cast(sql, FLOAT), real)),
            FLOAT: (FLOAT, lambda sql: neutral("pow", sql, real)),
            DECIMAL: (FLOAT, lambda sql: neutral("pow", nearest(sql), real)),
        },
    )
    return made if not call[1].nothing and len(call[1].alts) == 1 else Value(made.alts, MISSING)


def _of_real(name: str, failure: str) -> Function:
    def function(call: FunctionCall) -> Value:
        return by_kind(
            call,
            call[0],
            {
                INT: (FLOAT, lambda sql: neutral(name, cast(sql, FLOAT))),
                FLOAT: (FLOAT, lambda sql: neutral(name, sql)),
                DECIMAL: (FLOAT, lambda sql: neutral(name, nearest(sql))),
            },
            may_fail=failure,
        )

    return function


def _absolute_of(kind: str) -> Callable[[Sql], Sql]:
    return lambda sql: neutral("abs", sql, options=(kind,))


def _real(value: Value) -> Sql | None:
    found = [cast(value.alts[INT], FLOAT)] if INT in value.alts else []
    if FLOAT in value.alts:
        found.append(value.alts[FLOAT])
    return coalesce(*found) if found else None


# ── times and durations, in microseconds and UTC ─────────────────────────────────────────────────────────────────────


# The letters that both engines write and read alike; other letters of strftime differ between them.
LETTERS = {"Y", "m", "d", "H", "M", "S", "f", "j", "y", "b", "B", "a", "A", "p", "I", "%"}
_TOO_LOW = "the span begins before the least number, or before the year 1"
PARSED = {"Y", "m", "d", "H", "M", "S", "f"}


def now(call: FunctionCall) -> Value:
    at = call.scope.query.now
    if at is None:
        call.refuse("`now` is not available here")
    return Value({TIME: moment(at)}, constant=at)


def bucket(call: FunctionCall) -> Value:
    step = call[1].constant
    kind = next(iter(call[1].alts), "")
    if kind not in (DURATION, INT) or step <= 0:
        call.refuse("`bucket` takes a constant duration or number above zero", at=1)
    return bucket_value(call, call[0], step, of_times=kind == DURATION)


def every(call: FunctionCall) -> Value:
    step = call.constant(0, int, "a duration")
    if DURATION not in call[0].alts or step <= 0:
        call.refuse("`every` takes a duration above zero", "such as every(1h)", at=0)
    return bucket_value(call, clock_field(call), step, of_times=True)


def clock_field(call: FunctionCall) -> Value:
    """Returns the field `ts`, or the pool's key."""
    this, key = call.scope.this, call.scope.key
    found = member(this, "ts")
    if not found.alts and key:
        found = this
        for name in key:
            found = member(found, name)
    return found


def bucket_value(call: FunctionCall, value: Value, step: int, *, of_times: bool) -> Value:
    if not of_times:
        floats = lambda sql: neutral("float_bucket", sql, options=(step,))  # noqa: E731
        handlers = {INT: (INT, lambda sql: _floor(sql, step)), FLOAT: (FLOAT, floats)}
        return by_kind(call, value, handlers, may_fail=_TOO_LOW if INT in value.alts else "")
    may_fail = DURATION in value.alts or MICROS_MIN % step
    return by_kind(
        call,
        value,
        {
            TIME: (TIME, lambda sql: _span_start(_floor(neutral("micros", sql), step, safe=True), step)),
            DURATION: (DURATION, lambda sql: _floor(sql, step)),
        },
        may_fail=_TOO_LOW if may_fail else "",
    )


def _span_start(micros: Sql, step: int) -> Sql:
    """Returns the time. If no span begins with the year 1, the first one begins before it, and has no time."""
    return time_at(micros) if MICROS_MIN % step else neutral("from_micros", micros)


def format_time(call: FunctionCall) -> Value:
    format = checked_format(call, 0, LETTERS)
    return by_kind(call, call[1], {TIME: (STRING, lambda sql: neutral("strftime", sql, options=(format,)))})


def parse_time(call: FunctionCall) -> Value:
    """Parses a time. It is null where the text is not a time."""
    if len(call) == 1:
        return time_of(call)
    format = checked_format(call, 1, PARSED)
    return cast_value(call[0], TIME, {TIME: lambda sql: sql, STRING: lambda sql: _parse_digits(sql, format)})


def _parse_digits(sql: Sql, format: str) -> Sql:
    """Parses texts that have all their digits: one engine would accept fewer."""
    digits = {"%Y": YEAR, "%f": "[0-9]{6}", "%%": "%"}
    pieces = re.findall("%.|[^%]+", format)
    regexp = "".join(digits.get(each, "[0-9]{2}") if each[0] == "%" else quote_pattern(each) for each in pieces)
    return case((neutral("matches", sql, options=(f"^{regexp}\\z",)), neutral("strptime", sql, options=(format,))))


def checked_format(call: FunctionCall, at: int, letters: set[str]) -> str:
    format = call.text(at, "a format")
    pieces = format.split("%%")
    wrong = [f"%{part[:1]}" for piece in pieces for part in piece.split("%")[1:] if part[:1] not in letters]
    if wrong:
        shown = ", ".join(f"%{letter}" for letter in sorted(letters))
        call.refuse(f"`{call.name}` does not support `{wrong[0]}`", f"it supports {shown}", at=at)
    return format


def _floor(sql: Sql, step: int, *, safe: bool = False) -> Sql:
    """Returns the start of the span. Times are never so close to the ends of 64 bits that this could fail."""
    return neutral("int_bucket", sql, options=(step, safe))


TABLE: dict[str, Function] = {
    "abs": absolute,
    "ceil": _whole("ceil"),
    "floor": _whole("floor"),
    "round": round_number,
    "pow": power,
    "sqrt": _of_real("sqrt", "a negative number has no square root"),
    "log": _of_real("log", "only a number above zero has a logarithm"),
    "now": now,
    "bucket": bucket,
    "every": every,
    "strftime": format_time,
    "parse_time": parse_time,
}
