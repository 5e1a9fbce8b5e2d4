"""Arrays and objects that a query makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from lochan.pools.shape import ARRAY, JSON, NULL, OBJECT
from lochan.query.compile.cases import chosen
from lochan.query.compile.sql import ERROR, TRUE, Sql, case, cast, coalesce, eq, text
from lochan.query.compile.texts import json_array, json_text
from lochan.query.compile.value import MISSING, Value, absent, fixed, present
from lochan.query.dialects.neutral import neutral

_PLAIN = ("bool", "int", "float", "string", "time")


def array_of(items: Sequence[Value]) -> Value:
    """Typed where all items are of one kind; else JSON text. An item that is missing is null, so that all others keep
    their places."""
    if not items:
        return Value({JSON: exp.Literal.string("[]")})
    kinds = {kind for item in items for kind in item.alts} - {NULL, ERROR}
    if len(kinds) == 1 and (kind := next(iter(kinds))) in _PLAIN and all(item.original is None for item in items):
        sqls = [item.alts.get(kind) or cast(exp.Null(), kind) for item in items]
        return Value({ARRAY: neutral("list_of", *sqls)}, element=kind, constant=[item.constant for item in items])
    return Value({JSON: json_array([_in_place(item) for item in items])})


def _in_place(item: Value) -> Sql:
    return coalesce(json_text(item), text("null")) if item.nothing == MISSING else json_text(item)


def record_of(fields: Sequence[tuple[str | None, Value]]) -> Value:
    """Later fields win, in the place of the first; a spread brings all of an object's, and of what is none nothing."""
    if any(name is None and _has_unknown_names(value) for name, value in fields):
        return Value({JSON: neutral("json_merged", *_texts(fields))})
    members: dict[str, Value] = {}
    for name, value in fields:
        if name is not None:
            members[name] = value
        elif value.record is not None:
            members |= {each: _spread(value, each, members.get(each)) for each in value.record.names}
    return fixed(members)


def _spread(value: Value, name: str, before: Value | None) -> Value:
    """A row whose object has no such field keeps what it had."""
    from lochan.query.compile.fields import member

    found = member(value, name)
    return found if before is None else chosen([(present(found), found), (absent(found), before)])


def _has_unknown_names(value: Value) -> bool:
    """Whether some of its objects are text, so that only the rows tell which fields they have."""
    open_row = value.record is not None and value.record.body is not None and not value.record.names
    return JSON in value.alts or open_row


def _texts(fields: Sequence[tuple[str | None, Value]]) -> Iterator[Sql]:
    """An object's text for each run of named fields, and for each spread."""
    named: dict[str, Value] = {}
    for name, value in fields:
        if name is not None:
            named[name] = value
            continue
        if named:
            yield json_text(fixed(named))
            named = {}
        objects = value.only((OBJECT, JSON))
        if JSON in objects.alts:
            written = objects.alts[JSON]
            is_object = eq(neutral("first_character", written), text("{"))
            objects = replace(objects, alts={**objects.alts, JSON: case((is_object, written))})
        yield json_text(objects)
    if named:
        yield json_text(fixed(named))


def is_object(value: Value) -> bool:
    return not value.nothing and value.kinds == {OBJECT} and value.alts[OBJECT] == TRUE
