"""+ - * / % over the kinds that have them. What has no result is an error value; null with anything is null.

int with int            int; / cuts towards zero, % has the sign of the left side
float with a number     float
decimal with a number   refused when a row has one: the engines' decimals have too few digits to be exact
string + string         the one behind the other
time ± duration         time; time - time is a duration
duration ± duration     duration; also duration * int, duration / int
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import isfinite

from lochan.pools.shape import FLOAT, INT, NULL, STRING, TIME
from lochan.query.compile import numbers
from lochan.query.compile.sql import (
    DECIMAL,
    DURATION,
    ERROR,
    FALSE,
    Sql,
    all_of,
    any_of,
    case,
    cast,
    coalesce,
    concat,
    flag,
    is_null,
    is_set,
    text,
)
from lochan.query.compile.value import EVERY_NUMBER, MISSING, Value, literal, nulled, present
from lochan.query.dialects.neutral import neutral

_NAMES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_SAFE = {"/": "safe_divide", "%": "safe_remainder"}
_OVERFLOW = {"/": "division by zero", "%": "division by zero"}


def arithmetic(op: str, left: Value, right: Value) -> Value:
    left, right = as_float(left), as_float(right)
    found: dict[str, list[Sql]] = {}
    done: list[Sql] = []
    for kind, sql, both in _results(op, left, right):
        found.setdefault(kind, []).append(sql)
        done.append(both)
    alts = {kind: coalesce(*each) for kind, each in found.items()}
    null = any_of([all_of([nulled(left), present(right)]), all_of([nulled(right), present(left)])])
    if null != FALSE:
        alts[NULL] = flag(null)
    failed = _failed(op, left, right, alts, done)
    if failed is not None:
        alts[ERROR] = failed
    if not left.nothing and not right.nothing:
        return Value(alts)
    return Value(alts, MISSING, there=all_of([present(left), present(right)]))


def as_float(value: Value) -> Value:
    """A number that the query says with more digits than a float has is computed with as the nearest float."""
    if isinstance(value.constant, Decimal) and isfinite(float(value.constant)):
        return literal(FLOAT, float(value.constant))
    return value


def negative(value: Value) -> Value:
    if isinstance(value.constant, Decimal):
        return literal(DECIMAL, -value.constant)
    some = value.only((INT, FLOAT, DECIMAL, DURATION, NULL, ERROR))
    alts: dict[str, Sql] = {}
    for kind, sql in some.alts.items():
        alts[kind] = neutral("negate", sql, options=(kind,)) if kind in (INT, FLOAT, DECIMAL, DURATION) else sql
    others = [kind for kind in value.alts if kind not in some.alts]
    wrong = any_of([is_set(value.alts[kind]) for kind in others])
    if wrong != FALSE:
        message = case((wrong, text("no number to turn the sign of")))
        alts[ERROR] = coalesce(alts[ERROR], message) if ERROR in alts else message
    return Value(alts, value.nothing)


def _results(op: str, left: Value, right: Value) -> Iterator[tuple[str, Sql, Sql]]:
    """For each pair of kinds that go together: the kind and the SQL of the result, and where it should not be NULL."""
    for one, mine in left.alts.items():
        for other, theirs in right.alts.items():
            if (one, other) == (INT, INT) and op in _SAFE and _divides_all(right.constant):
                yield INT, neutral(_SAFE[op], mine, theirs), FALSE
                continue
            result = _result(op, one, mine, other, theirs)
            if result is not None:
                yield *result, all_of([is_set(mine), is_set(theirs)])


def _divides_all(by: object) -> bool:
    """Neither 0, nor -1, by which the least of 64 bits cannot be divided."""
    return isinstance(by, int) and not isinstance(by, bool) and by not in (0, -1)


def _result(op: str, one: str, mine: Sql, other: str, theirs: Sql) -> tuple[str, Sql] | None:
    if DECIMAL in (one, other) and {one, other} <= set(EVERY_NUMBER):
        exact, by = (mine, theirs) if one == DECIMAL else (theirs, mine)
        return FLOAT, numbers.refused_where_set(case((is_set(by), exact)), f"`{op}`", FLOAT)
    match op, one, other:
        case _, "int", "int":
            return INT, neutral(_NAMES[op], mine, theirs, options=(INT,))
        case _, "int" | "float", "int" | "float":
            return FLOAT, neutral(_NAMES[op], _real(one, mine), _real(other, theirs), options=(FLOAT,))
        case "+", "string", "string":
            return STRING, concat(mine, theirs)
        case "+" | "-", "time", "duration":
            return TIME, _moved(op, mine, theirs)
        case "+", "duration", "time":
            return TIME, _moved(op, theirs, mine)
        case "-", "time", "time":
            between = neutral("subtract", neutral("micros", mine), neutral("micros", theirs), options=(INT,))
            return DURATION, between
        case ("+", "duration", "duration") | ("-", "duration", "duration"):
            return DURATION, neutral(_NAMES[op], mine, theirs, options=(INT,))
        case ("*", "duration", "int") | ("*", "int", "duration") | ("/", "duration", "int"):
            return DURATION, neutral(_NAMES[op], mine, theirs, options=(INT,))
    return None


def _real(kind: str, sql: Sql) -> Sql:
    return cast(sql, FLOAT) if kind == INT else sql


def _moved(op: str, time: Sql, by: Sql) -> Sql:
    return neutral("from_micros", neutral(_NAMES[op], neutral("micros", time), by, options=(INT,)))


def _failed(op: str, left: Value, right: Value, alts: dict[str, Sql], done: list[Sql]) -> Sql | None:
    """Errors that come in, then results that there are not, then kinds that do not go together."""
    errors: list[Sql] = [each.alts[ERROR] for each in (left, right) if ERROR in each.alts]
    some = any_of(done)
    nothing = [is_null(each) for kind, each in alts.items() if kind != NULL]
    arms = [(all_of([some, *nothing]), text(_OVERFLOW.get(op, "the result has more than 64 bits")))]
    if not done or _mixed(left, right, done):
        both = all_of([_there(left), _there(right), *nothing])
        arms.append((both, text(f"`{op}` does not go with these kinds")))
    if any(test != FALSE for test, _ in arms):
        errors.append(case(*arms))
    return coalesce(*errors) if errors else None


def _mixed(left: Value, right: Value, done: list[Sql]) -> bool:
    kinds = [len([kind for kind in each.alts if kind not in (NULL, ERROR)]) for each in (left, right)]
    return len(done) < kinds[0] * kinds[1]


def _there(value: Value) -> Sql:
    return any_of(is_set(each) for kind, each in value.alts.items() if kind not in (NULL, ERROR))
