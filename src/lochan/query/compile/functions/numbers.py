"""Numbers. What has no result, such as the root of -1, is an error value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lochan.pools.shape import FLOAT, INT
from lochan.query.compile import decimals
from lochan.query.compile.arithmetic import as_float
from lochan.query.compile.functions.call import Function, FunctionCall, by_kind
from lochan.query.compile.numbers import nearest
from lochan.query.compile.sql import DECIMAL, DURATION, Sql, cast, coalesce
from lochan.query.compile.value import MISSING, Value
from lochan.query.dialects.neutral import neutral


def absolute(call: FunctionCall) -> Value:
    handlers = {kind: (kind, _absolute(kind)) for kind in (INT, FLOAT, DURATION)}
    handlers[DECIMAL] = (DECIMAL, lambda sql: neutral("abs", sql, options=(DECIMAL,)))
    return by_kind(call, call[0], handlers, may_fail="the result has more than 64 bits")


def _whole(name: str) -> Function:
    """An int is what it is; a float stays one."""

    def function(call: FunctionCall) -> Value:
        return _made_whole(call, name, 0, lambda sql: neutral(name, sql))

    return function


def _made_whole(call: FunctionCall, name: str, digits: int, of_float: Callable[[Sql], Sql]) -> Value:
    handlers: dict[str, tuple[str, Callable[[Sql], Sql]]] = {INT: (INT, lambda sql: sql), FLOAT: (FLOAT, of_float)}
    exact = call[0].exact and decimals.rounded(call[0].exact, name, digits)
    if exact is not None:
        handlers[DECIMAL] = (DECIMAL, lambda sql: decimals.shown(exact))
    return replace(by_kind(call, call[0], handlers), exact=exact)


def rounded(call: FunctionCall) -> Value:
    digits = 0
    if len(call) == 2:
        given = call.constant(1, int, "a number of digits")
        assert isinstance(given, int)
        digits = given
        if not 0 <= digits <= 15:
            call.refuse("`round` takes 0 to 15 digits", at=1)
    return _made_whole(call, "round", digits, lambda sql: neutral("round", sql, options=(digits,)))


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


def _absolute(kind: str) -> Callable[[Sql], Sql]:
    return lambda sql: neutral("abs", sql, options=(kind,))


def _real(value: Value) -> Sql | None:
    found = [cast(value.alts[INT], FLOAT)] if INT in value.alts else []
    if FLOAT in value.alts:
        found.append(value.alts[FLOAT])
    return coalesce(*found) if found else None


TABLE: dict[str, Function] = {
    "abs": absolute,
    "ceil": _whole("ceil"),
    "floor": _whole("floor"),
    "round": rounded,
    "pow": power,
    "sqrt": _of_real("sqrt", "a negative number has no square root"),
    "log": _of_real("log", "only a number above zero has a logarithm"),
}
