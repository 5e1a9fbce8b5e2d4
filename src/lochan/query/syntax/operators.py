"""The operators that take rows and give rows, one function each; it is called behind the operator's name."""

from __future__ import annotations

from collections.abc import Callable

from lochan.query.ast import (
    Cut,
    Drop,
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
from lochan.query.syntax.aggregates import aggregate
from lochan.query.syntax.assignments import assigned, listed, named, path, renamed
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import expression
from lochan.query.syntax.search import ended, search
from lochan.query.syntax.sources import load, source


def _from(cursor: Cursor, start: int) -> From:
    return From(listed(cursor, source), span=cursor.since(start))


def _where(cursor: Cursor, start: int) -> Where:
    return Where(expression(cursor), span=cursor.since(start))


def _search(cursor: Cursor, start: int) -> Where:
    return Where(search(cursor), span=cursor.since(start))


def _cut(cursor: Cursor, start: int) -> Cut:
    return Cut(listed(cursor, assigned), span=cursor.since(start))


def put(cursor: Cursor, start: int) -> Put:
    return Put(listed(cursor, named), span=cursor.since(start))


def _drop(cursor: Cursor, start: int) -> Drop:
    return Drop(listed(cursor, path), span=cursor.since(start))


def _rename(cursor: Cursor, start: int) -> Rename:
    return Rename(listed(cursor, renamed), span=cursor.since(start))


def _sort(cursor: Cursor, start: int) -> Sort:
    reverse = cursor.accept_flag("r")
    behind = cursor.after_next()
    if cursor.word("by") and behind.isidentifier() and behind not in ("asc", "desc", "nulls"):
        raise cursor.unexpected("what to sort by", hint=f"leave it out: sort {behind}")
    keys = () if ended(cursor) else listed(cursor, lambda at: _sort_key(at, reverse))
    return Sort(keys, reverse=reverse and not keys, span=cursor.since(start))


def _sort_key(cursor: Cursor, descending: bool) -> SortKey:
    value = expression(cursor)
    if cursor.word("asc", "desc"):
        descending = cursor.take().text == "desc"
    nulls_first = False
    if cursor.accept_word("nulls"):
        if not cursor.word("first", "last"):
            raise cursor.unexpected("`first` or `last` behind `nulls`")
        nulls_first = cursor.take().text == "first"
    return SortKey(value, descending, nulls_first)


def _head(cursor: Cursor, start: int) -> Head:
    return Head(_count(cursor), span=cursor.since(start))


def _tail(cursor: Cursor, start: int) -> Tail:
    return Tail(_count(cursor), span=cursor.since(start))


def _sample(cursor: Cursor, start: int) -> Sample:
    return Sample(_count(cursor), span=cursor.since(start))


def _count(cursor: Cursor) -> int:
    """One, unless it is said."""
    if ended(cursor):
        return 1
    value = cursor.literal("int", "how many rows").value
    assert isinstance(value, int)
    return value


def _top(cursor: Cursor, start: int) -> Top:
    count = cursor.literal("int", "how many rows: `top n value`").value
    assert isinstance(count, int)
    keys = listed(cursor, lambda at: _sort_key(at, True))
    return Top(count, keys, span=cursor.since(start))


def _uniq(cursor: Cursor, start: int) -> Uniq:
    return Uniq(cursor.accept_flag("c"), span=cursor.since(start))


def _summarize(cursor: Cursor, start: int) -> Operator:
    return aggregate(cursor)


def _by(cursor: Cursor, start: int) -> Operator:
    cursor.jump(start)
    return aggregate(cursor)


def _yield(cursor: Cursor, start: int) -> Yield:
    return Yield(listed(cursor, expression), span=cursor.since(start))


def _over(cursor: Cursor, start: int) -> Over:
    return Over(listed(cursor, expression), span=cursor.since(start))


def _fuse(cursor: Cursor, start: int) -> Fuse:
    return Fuse(span=cursor.since(start))


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
