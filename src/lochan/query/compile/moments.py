"""Strings that are times, in fields that a pool declares as times: they become times, value by value.

A file has every time as a timestamp. If that does not reproduce the text (an offset, more than six digits after the
second), the text is stored beside it, to be shown, and to order times within one microsecond. In files of earlier
versions such times are strings; here they become times again."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from lochan.pools.kinds import TIME
from lochan.query.compile.logic import COMPARISONS, all_of, any_of, case, coalesce, is_null, is_set
from lochan.query.compile.sql import Sql, concat, op, text
from lochan.query.compile.value import Value
from lochan.query.dialects.neutral import neutral

_MOMENT = "%Y-%m-%dT%H:%M:%S.%f"


class Split(NamedTuple):
    """The parts of a string. Each is NULL if the string does not belong to it."""

    time: Sql
    rest: Sql  # strings that are not times
    original: Sql  # the text of strings that are times


def split(string: Sql) -> Split:
    time = neutral("rfc3339", string)
    return Split(time, case((is_null(time), string)), case((is_set(time), string)))


def finer(original: Sql) -> Sql:
    """Returns the digits after the sixth, without zeros at the end. They order as texts, and are empty where there are
    none."""
    return coalesce(neutral("finer_digits", original), text(""))


def finer_of(value: Value) -> Sql:
    digits = getattr(value.constant, "finer", "")
    return text(digits) if digits or value.original is None else finer(value.original)


def is_fine(value: Value) -> bool:
    return value.original is not None or bool(getattr(value.constant, "finer", ""))


def compare_times(op_: str, left: Value, right: Value) -> Sql:
    """Compares times that may be more precise than microseconds."""
    one, other = left.alts[TIME], right.alts[TIME]
    mine, theirs = finer_of(left), finer_of(right)
    same = op(exp.EQ, one, other)
    if op_ == "==":
        return all_of([same, op(exp.EQ, mine, theirs)])
    if op_ == "!=":
        return any_of([op(exp.NEQ, one, other), all_of([same, op(exp.NEQ, mine, theirs)])])
    near = op(COMPARISONS[f"{op_[0]}="], one, other)  # redundant, but engines and plans prune by it
    return all_of([near, any_of([op(COMPARISONS[op_[0]], one, other), op(COMPARISONS[op_], mine, theirs)])])


def by_moment(value: Value) -> Value:
    """Normalizes times where values are distinguished: one moment is one value, in whatever format it was written and
    whatever its row's shape is."""
    if value.original is not None:
        value = replace(value, original=exact_text(value), text=None)
    varies = value.format is not None and value.format.number is not None
    return replace(value, format=None) if varies else value


def exact_text(value: Value) -> Sql | None:
    """Returns a text that is the same for the same time, in whatever format it was written. It is NULL where
    microseconds are exact, and None if they always are."""
    if value.original is None:
        return None
    digits = finer(value.original)
    shown = concat(neutral("strftime", value.alts[TIME], options=(_MOMENT,)), digits, text("Z"))
    return case((op(exp.NEQ, digits, text("")), shown))
