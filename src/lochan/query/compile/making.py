"""Arrays and objects that a query makes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lochan.pools.shape import ARRAY, JSON, NULL, OBJECT
from lochan.query.compile.sql import TRUE, cast
from lochan.query.compile.texts import json_array, json_text
from lochan.query.compile.value import Value, fixed
from lochan.query.dialects.neutral import neutral

_PLAIN = ("bool", "int", "float", "string", "time")


def array_of(items: Sequence[Value]) -> Value:
    """Typed where all items are of one kind and surely there; else JSON text, without the items that are missing."""
    kinds = {kind for item in items for kind in item.alts}
    if not items:
        return Value({JSON: exp.Literal.string("[]")})
    plain = all(len(item.alts) == 1 and not item.nothing for item in items)
    values = kinds - {NULL}
    if plain and len(values) == 1 and (kind := next(iter(values))) in _PLAIN:
        sqls = [item.alts.get(kind) or cast(exp.Null(), kind) for item in items]
        return Value({ARRAY: neutral("list_of", *sqls)}, element=kind, constant=[item.constant for item in items])
    return Value({JSON: json_array([json_text(item) for item in items])})


def record_of(fields: Sequence[tuple[str | None, Value]]) -> Value:
    """Later fields win; a spread brings all of an object's."""
    members: dict[str, Value] = {}
    for name, value in fields:
        if name is not None:
            members[name] = value
        elif value.record is not None:
            members |= {each: _spread(value, each) for each in value.record.names}
    return fixed(members)


def _spread(value: Value, name: str) -> Value:
    from lochan.query.compile.fields import member

    return member(value, name)


def is_object(value: Value) -> bool:
    return not value.nothing and value.kinds == {OBJECT} and value.alts[OBJECT] == TRUE
