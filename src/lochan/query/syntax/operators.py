"""Parsers of the operators that take rows and return rows, one function for each. It is called after the operator's
name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from lochan.query.ast import (
    Aggregate,
    Assigned,
    Call,
    Cut,
    Drop,
    Expr,
    From,
    Fuse,
    Head,
    Operator,
    Over,
    Put,
    Rename,
    Sample,
    Sort,
    SortKey,
    Tail,
    Top,
    Uniq,
    Where,
    Yield,
)
from lochan.query.functions import AGGREGATES
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import expression, path_of
from lochan.query.syntax.search import ended, search
from lochan.query.syntax.sources import load, source


def _from(cursor: Cursor, start: int) -> From:
    return From(parse_list(cursor, source), span=cursor.since(start))


def _where(cursor: Cursor, start: int) -> Where:
    return Where(expression(cursor), span=cursor.since(start))


def _search(cursor: Cursor, start: int) -> Where:
    return Where(search(cursor), span=cursor.since(start))


def _cut(cursor: Cursor, start: int) -> Cut:
    return Cut(parse_list(cursor, parse_assigned), span=cursor.since(start))


def put(cursor: Cursor, start: int) -> Put:
    return Put(parse_list(cursor, parse_named), span=cursor.since(start))


def _drop(cursor: Cursor, start: int) -> Drop:
    return Drop(parse_list(cursor, path), span=cursor.since(start))


def _rename(cursor: Cursor, start: int) -> Rename:
    return Rename(parse_list(cursor, parse_renamed), span=cursor.since(start))


def _sort(cursor: Cursor, start: int) -> Sort:
    reverse = cursor.accept_flag("r")
    behind = cursor.after_next()
    if cursor.word("by") and behind.isidentifier() and behind not in ("asc", "desc", "nulls"):
        raise cursor.unexpected("what to sort by", hint=f"leave it out: sort {behind}")
    keys = () if ended(cursor) else parse_list(cursor, lambda at: _sort_key(at, reverse))
    return Sort(keys, reverse=reverse and not keys, span=cursor.since(start))


def _sort_key(cursor: Cursor, descending: bool) -> SortKey:
    value = expression(cursor)
    if cursor.word("asc", "desc"):
        descending = cursor.take().text == "desc"
    nulls_first = False
    if cursor.accept_word("nulls"):
        if not cursor.word("first", "last"):
            raise cursor.unexpected("`first` or `last` after `nulls`")
        nulls_first = cursor.take().text == "first"
    return SortKey(value, descending, nulls_first)


def _head(cursor: Cursor, start: int) -> Head:
    return Head(_count(cursor), span=cursor.since(start))


def _tail(cursor: Cursor, start: int) -> Tail:
    return Tail(_count(cursor), span=cursor.since(start))


def _sample(cursor: Cursor, start: int) -> Sample:
    return Sample(_count(cursor), span=cursor.since(start))


def _count(cursor: Cursor) -> int:
    """Parses a number of rows, which is one by default."""
    if ended(cursor):
        return 1
    value = cursor.literal("int", "how many rows").value
    assert isinstance(value, int)
    return value


def _top(cursor: Cursor, start: int) -> Top:
    count = cursor.literal("int", "how many rows: `top n value`").value
    assert isinstance(count, int)
    keys = parse_list(cursor, lambda at: _sort_key(at, True))
    return Top(count, keys, span=cursor.since(start))


def _uniq(cursor: Cursor, start: int) -> Uniq:
    return Uniq(cursor.accept_flag("c"), span=cursor.since(start))


def _summarize(cursor: Cursor, start: int) -> Operator:
    return aggregate(cursor)


def _by(cursor: Cursor, start: int) -> Operator:
    cursor.jump(start)
    return aggregate(cursor)


def _yield(cursor: Cursor, start: int) -> Yield:
    return Yield(parse_list(cursor, expression), span=cursor.since(start))


def _over(cursor: Cursor, start: int) -> Over:
    return Over(parse_list(cursor, expression), span=cursor.since(start))


def _fuse(cursor: Cursor, start: int) -> Fuse:
    return Fuse(span=cursor.since(start))


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def is_aggregate(cursor: Cursor) -> bool:
    """Returns whether an aggregate is called next, with or without a name before it. It takes nothing."""
    start = cursor.at
    path_before(cursor, ":=")
    found = cursor.word(*AGGREGATES) and cursor.text.startswith("(", cursor.peek().stop)
    cursor.jump(start)
    return found


def aggregate(cursor: Cursor) -> Aggregate:
    """Parses `count() where ok, total := sum(x) by k, day := bucket(ts, 1d) every 1h`, without the optional `summarize`
    before it."""
    start = cursor.at
    values: tuple[Assigned, ...] = ()
    if not _keys_begin(cursor):
        values = parse_list(cursor, _value)
    keys: tuple[Assigned, ...] = ()
    every: int | None = None
    while _keys_begin(cursor):
        if cursor.word("by") and not keys:
            cursor.take()
            keys = parse_list(cursor, parse_assigned)
        elif cursor.word("every") and every is None:
            cursor.take()
            every = _duration(cursor)
        else:
            raise cursor.error(f"`{cursor.peek().text}` is given twice", cursor.peek().span)
    return Aggregate(values, keys, every, span=cursor.since(start))


def _keys_begin(cursor: Cursor) -> bool:
    """Returns whether keys begin here. A name before a := may be any word, also `by` or `every`."""
    if not cursor.word("by", "every") or cursor.text.startswith("(", cursor.peek().stop):
        return False
    return cursor.after_next() not in (":=", ".")


def _value(cursor: Cursor) -> Assigned:
    path = path_before(cursor, ":=") or ()
    start = cursor.at
    with cursor.aggregates_allowed():
        value = expression(cursor)
    if not isinstance(value, Call) or value.name not in AGGREGATES:
        hint = "compute with the result afterwards: total:=sum(x) | put half:=total/2"
        raise cursor.error("expected an aggregate by itself", value.span, hint=hint)
    where: Expr | None = expression(cursor) if cursor.accept_word("where") else None
    return Assigned(path, replace(value, where=where, span=cursor.since(start)))


def _duration(cursor: Cursor) -> int:
    at = cursor.at
    literal = cursor.literal("duration", "a duration, such as 1h")
    assert isinstance(literal.value, int)
    if literal.value <= 0:
        raise cursor.error("the duration must be above zero", cursor.since(at))
    return literal.value


# ── assignments: `name := value`, lists of them, lists of names ──────────────────────────────────────────────────────


T = TypeVar("T")


def parse_list(cursor: Cursor, item: Callable[[Cursor], T]) -> tuple[T, ...]:
    """Parses one or more items, separated by commas."""
    items = [item(cursor)]
    while cursor.accept(","):
        items.append(item(cursor))
    return tuple(items)


def parse_assigned(cursor: Cursor) -> Assigned:
    """Parses a value with a name of its own, or one that names itself."""
    value = expression(cursor)
    if cursor.symbol(":="):
        return Assigned(_target(cursor, value), expression(cursor))
    if path_of(value) is None and not isinstance(value, Call):
        written = cursor.text[value.span.start : value.span.stop]
        raise cursor.error("this value has no name", value.span, hint=f"give it one: name := {written}")
    return Assigned((), value)


def parse_named(cursor: Cursor) -> Assigned:
    """Parses a value with a name of its own."""
    left = expression(cursor)
    return Assigned(_target(cursor, left), expression(cursor))


def parse_renamed(cursor: Cursor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parses `new := old`."""
    new = path(cursor)
    cursor.expect(":=", " between the new name and the old")
    return new, path(cursor)


def path(cursor: Cursor) -> tuple[str, ...]:
    """Parses `a.b.c`."""
    value = expression(cursor)
    found = path_of(value)
    if found is None:
        raise cursor.error("expected a field's name", value.span)
    return found


def path_before(cursor: Cursor, symbol: str) -> tuple[str, ...] | None:
    """Takes `a.b :=`. If that is not next, it takes nothing and returns None."""
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
    cursor.expect(":=", " after the field's name")
    found = path_of(left)
    if found is None:
        raise cursor.error("only a field can be given a value", left.span, hint="write name := value")
    return found


SIMPLE: dict[str, Callable[[Cursor, int], Operator]] = {
    "from": _from,
    "where": _where,
    "search": _search,
    "cut": _cut,
    "select": _cut,
    "put": put,
    "drop": _drop,
    "rename": _rename,
    "sort": _sort,
    "head": _head,
    "tail": _tail,
    "top": _top,
    "uniq": _uniq,
    "sample": _sample,
    "summarize": _summarize,
    "aggregate": _summarize,
    "by": _by,
    "yield": _yield,
    "values": _yield,
    "over": _over,
    "unnest": _over,
    "fuse": _fuse,
    "load": load,
}
