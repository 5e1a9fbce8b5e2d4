"""`count() where ok, total := sum(x) by k, day := bucket(ts, 1d) every 1h`, with or without `summarize` before it."""

from __future__ import annotations

from msgspec.structs import replace

from lochan.query.ast import Aggregate, Assigned, Call, Expr
from lochan.query.functions import AGGREGATES
from lochan.query.syntax.assignments import assigned, listed, path_before
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import expression


def begins(cursor: Cursor) -> bool:
    """Whether an aggregate is called here, with a name before it or not. Takes nothing."""
    start = cursor.at
    path_before(cursor, ":=")
    found = cursor.word(*AGGREGATES) and cursor.text.startswith("(", cursor.peek().stop)
    cursor.jump(start)
    return found


def aggregate(cursor: Cursor) -> Aggregate:
    start = cursor.at
    values: tuple[Assigned, ...] = ()
    if not _keys_begin(cursor):
        values = listed(cursor, _value)
    keys: tuple[Assigned, ...] = ()
    every: int | None = None
    while _keys_begin(cursor):
        if cursor.word("by") and not keys:
            cursor.take()
            keys = listed(cursor, assigned)
        elif cursor.word("every") and every is None:
            cursor.take()
            every = _duration(cursor)
        else:
            raise cursor.error(f"`{cursor.peek().text}` is said twice", cursor.peek().span)
    return Aggregate(values, keys, every, span=cursor.since(start))


def _keys_begin(cursor: Cursor) -> bool:
    """A name before a := may be any."""
    if not cursor.word("by", "every") or cursor.text.startswith("(", cursor.peek().stop):
        return False
    return cursor.after_next() not in (":=", ".")


def _value(cursor: Cursor) -> Assigned:
    path = path_before(cursor, ":=") or ()
    start = cursor.at
    with cursor.aggregates_allowed():
        value = expression(cursor)
    if not isinstance(value, Call) or value.name not in AGGREGATES:
        hint = "compute with the result behind it: total:=sum(x) | put half:=total/2"
        raise cursor.error("expected an aggregate by itself", value.span, hint=hint)
    where: Expr | None = expression(cursor) if cursor.accept_word("where") else None
    return Assigned(path, replace(value, where=where, span=cursor.since(start)))


def _duration(cursor: Cursor) -> int:
    at = cursor.at
    literal = cursor.literal("duration", "a duration, such as 1h")
    assert isinstance(literal.value, int)
    if literal.value <= 0:
        raise cursor.error("this duration is nothing", cursor.since(at))
    return literal.value
