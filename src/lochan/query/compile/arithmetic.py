"""+ - * / % over the kinds that have them. A result that does not exist is an error value; null with anything is null.

int with int            int; / cuts towards zero, % has the sign of the left side
float with a number     float
decimal with a number   decimal, by + - * with decimals, ints and number literals, if 38 digits hold it; otherwise
                        refused when a row has one
string + string         both texts, one after the other
time ± duration         time, if it lies in the years 1 to 9999; time - time is a duration
duration ± duration     duration; also duration * int, duration / int"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import product
from math import isfinite

from lochan.pools.kinds import DECIMAL, DURATION, ERROR, EVERY_NUMBER, FLOAT, INT, NULL, STRING, TIME
from lochan.query.checkpoint import checkpoint
from lochan.query.compile import decimals, numbers
from lochan.query.compile.logic import all_of, any_of, case, coalesce, flag, is_null, is_set
from lochan.query.compile.scope import check_value
from lochan.query.compile.sql import FALSE, Sql, cast, concat, null_of, text, time_at
from lochan.query.compile.value import MISSING, Alternates, Exact, Value, is_explicit_null, literal, present
from lochan.query.dialects.neutral import neutral

_NAMES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_SAFE = {"/": "safe_divide", "%": "safe_remainder"}
_TOO_LARGE = "the result has more than 64 bits, or is a time before the year 1 or after 9999"
_OVERFLOW = {"/": "division by zero", "%": "division by zero"}


def arithmetic(op: str, left: Value, right: Value) -> Value:
    left, right = as_float(left), as_float(right)
    found: dict[str, list[Sql]] = {}
    done: list[tuple[Sql, Sql] | None] = []
    exact: list[Exact] = []
    for kind, sql, both in _results(op, left, right, exact):
        found.setdefault(kind, []).append(sql)
        done.append(both)
    alts: dict[str, Sql] = {kind: coalesce(*each) for kind, each in found.items()}
    check_value(alts.values())
    null = any_of([all_of([is_explicit_null(left), present(right)]), all_of([is_explicit_null(right), present(left)])])
    if null != FALSE:
        alts[NULL] = flag(null)
    all = _with_error(op, left, right, alts, done)
    if not left.nothing and not right.nothing:
        return Value(all, exact=decimals.one_of(exact))
    there = all_of([present(left), present(right)])
    return Value(all, MISSING, exact=decimals.one_of(exact), there=there)


def as_float(value: Value) -> Value:
    """Returns the nearest float for a literal with more digits than a float has."""
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
        message = case((wrong, text("only a number can be negated")))
        alts[ERROR] = coalesce(alts[ERROR], message) if ERROR in alts else message
    return Value(alts, value.nothing, exact=value.exact and decimals.negate_decimal(value.exact))


def _results(
    op: str, left: Value, right: Value, exact: list[Exact]
) -> Iterator[tuple[str, Sql, tuple[Sql, Sql] | None]]:
    """Yields, for each pair of kinds that can be combined, the kind and the SQL of the result, and the values that must
    be set for a NULL result to be an error; None if the result is never NULL by itself. Adds decimal results to
    `exact`."""
    for one, other in product(*([kind for kind in each.alts if kind not in (NULL, ERROR)] for each in (left, right))):
        checkpoint()
        mine, theirs = left.alts[one], right.alts[other]
        if (one, other) == (INT, INT) and op in _SAFE and _divides_all(right.constant):
            yield INT, neutral(_SAFE[op], mine, theirs), None
            continue
        if DECIMAL in (one, other) and (decimal := decimals.compute(op, one, left, other, right)) is not None:
            exact.append(decimal)
            yield DECIMAL, decimals.decimal_text(decimal), (mine, theirs)
            continue
        if DECIMAL in (one, other) and {one, other} <= set(EVERY_NUMBER):
            yield FLOAT, _nearly(op, one, left, other, right), (mine, theirs)
            continue
        result = _result(op, one, mine, other, theirs)
        if result is not None:
            yield *result, (mine, theirs)


def _nearly(op: str, one: str, left: Value, other: str, right: Value) -> Sql:
    """Computes with two kinds of numbers, one of them a decimal, where the result is not a decimal. A quotient is a
    float, and so is any result with a float, as with ints. A remainder, and anything else, is exact or an error."""
    if op == "/" or (FLOAT in (one, other) and op != "%"):
        mine, theirs = (_near(kind, side, op) for kind, side in ((one, left), (other, right)))
        return neutral(_NAMES[op], mine, theirs, options=(FLOAT,))
    exact, by = (left.alts[one], right.alts[other]) if one == DECIMAL else (right.alts[other], left.alts[one])
    return numbers.refused_where_set(case((is_set(by), exact)), f"`{op}`", FLOAT)


def _near(kind: str, value: Value, op: str) -> Sql:
    """Returns the value as a float. A number beyond all floats ends the query."""
    if kind != DECIMAL:
        return _real(kind, value.alts[kind])
    if value.exact is not None:
        return decimals.nearest(value.exact)
    text = value.alts[DECIMAL]
    near = neutral("finite", numbers.nearest(text))
    return coalesce(near, numbers.refused_where_set(case((is_null(near), text)), f"`{op}`", FLOAT))


def _divides_all(by: object) -> bool:
    """Returns whether every int can be divided by this constant: it is neither 0 nor -1, by which the least int of 64
    bits cannot be divided."""
    return isinstance(by, int) and not isinstance(by, bool) and by not in (0, -1)


def _result(op: str, one: str, mine: Sql, other: str, theirs: Sql) -> tuple[str, Sql] | None:
    match op, one, other:
        case _, "int", "int":
            return INT, neutral(_NAMES[op], mine, theirs, options=(INT,))
        case _, "int" | "float", "int" | "float":
            return FLOAT, neutral(_NAMES[op], _real(one, mine), _real(other, theirs), options=(FLOAT,))
        case "+", "string", "string":
            return STRING, concat(mine, theirs)
        case "+" | "-", "time", "duration":
            return TIME, _shift_time(op, mine, theirs)
        case "+", "duration", "time":
            return TIME, _shift_time(op, theirs, mine)
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


def _shift_time(op: str, time: Sql, by: Sql) -> Sql:
    return time_at(neutral(_NAMES[op], neutral("micros", time), by, options=(INT,)))


Done = list[tuple[Sql, Sql] | None]


def _with_error(op: str, left: Value, right: Value, alts: dict[str, Sql], done: Done) -> Mapping[str, Sql]:
    """Adds the error to the alternates. Whether there may be an error is known now; its message is made only when it is
    needed."""
    comes_in = any(ERROR in each.alts for each in (left, right))
    mixed = not done or _is_mixed(left, right, done)
    if not (comes_in or any(done) or (mixed and _is_there(left) != FALSE and _is_there(right) != FALSE)):
        return alts
    return Alternates(alts, {ERROR: lambda: _failure(op, left, right, alts, done)})


def _failure(op: str, left: Value, right: Value, alts: dict[str, Sql], done: Done) -> Sql:
    """Returns the message of the error: errors of the sides first, then results that do not exist, then kinds that
    cannot be combined."""
    checkpoint()
    errors: list[Sql] = [each.alts[ERROR] for each in (left, right) if ERROR in each.alts]
    some = any_of(all_of([is_set(each[0]), is_set(each[1])]) for each in done if each is not None)
    nothing = [is_null(each) for kind, each in alts.items() if kind != NULL]
    arms = [(all_of([some, *nothing]), text(_OVERFLOW.get(op, _TOO_LARGE)))]
    if not done or _is_mixed(left, right, done):
        both = all_of([_is_there(left), _is_there(right), *nothing])
        arms.append((both, text(f"`{op}` does not work with these kinds")))
    if any(test != FALSE for test, _ in arms):
        errors.append(case(*arms))
    return coalesce(*errors) if errors else null_of(ERROR)


def _is_mixed(left: Value, right: Value, done: Done) -> bool:
    kinds = [len([kind for kind in each.alts if kind not in (NULL, ERROR)]) for each in (left, right)]
    return len(done) < kinds[0] * kinds[1]


def _is_there(value: Value) -> Sql:
    return any_of(is_set(value.alts[kind]) for kind in value.alts if kind not in (NULL, ERROR))
