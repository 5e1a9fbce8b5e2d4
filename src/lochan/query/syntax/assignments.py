"""`name := value`, lists of them, and lists of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lochan.query.ast import Assigned, Call, Expr
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import expression, path_of

T = TypeVar("T")


def listed(cursor: Cursor, item: Callable[[Cursor], T]) -> tuple[T, ...]:
    """One or more, separated by commas."""
    items = [item(cursor)]
    while cursor.accept(","):
        items.append(item(cursor))
    return tuple(items)


def assigned(cursor: Cursor) -> Assigned:
    """With a name of its own, or with a value that names it."""
    value = expression(cursor)
    if cursor.symbol(":="):
        return Assigned(_target(cursor, value), expression(cursor))
    if path_of(value) is None and not isinstance(value, Call):
        written = cursor.text[value.span.start : value.span.stop]
        raise cursor.error("this value has no name", value.span, hint=f"give it one: name := {written}")
    return Assigned((), value)


def named(cursor: Cursor) -> Assigned:
    """With a name of its own."""
    left = expression(cursor)
    return Assigned(_target(cursor, left), expression(cursor))


def renamed(cursor: Cursor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`new := old`"""
    new = path(cursor)
    cursor.expect(":=", " between the new name and the old")
    return new, path(cursor)


def path(cursor: Cursor) -> tuple[str, ...]:
    """`a.b.c`"""
    value = expression(cursor)
    found = path_of(value)
    if found is None:
        raise cursor.error("expected a field's name", value.span)
    return found


def path_before(cursor: Cursor, symbol: str) -> tuple[str, ...] | None:
    """`a.b :=` taken whole; None, and nothing taken, where it does not stand here."""
    start = cursor.at
    names = []
    while cursor.is_name():
        names.append(cursor.name())
        if cursor.accept(symbol):
            return tuple(names)
        if not cursor.accept("."):
            break
    cursor.jump(start)
    return None


def _target(cursor: Cursor, left: Expr) -> tuple[str, ...]:
    cursor.expect(":=", " behind the field's name")
    found = path_of(left)
    if found is None:
        raise cursor.error("only a field can be given a value", left.span, hint="write name := value")
    return found
