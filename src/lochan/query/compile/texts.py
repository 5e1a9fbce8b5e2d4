"""Values as JSON text, made by the engine where several values become one column, such as a key or an element.

The two engines may write numbers differently; a reader of the text takes them for the same value."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlglot import exp

from lochan.pools.kinds import ARRAY, ERROR, JSON, NULL, OBJECT, STRING, TIME
from lochan.query.compile.logic import case, coalesce, is_set
from lochan.query.compile.sql import TRUE, Sql, concat, text
from lochan.query.compile.value import Value, is_explicit_null
from lochan.query.dialects.neutral import neutral


def json_text(value: Value) -> Sql:
    """Returns the JSON text, or NULL where the value is missing."""
    texts = [_of_kind(kind, sql, value) for kind, sql in value.alts.items() if kind != NULL]
    null = is_explicit_null(value)
    if null != exp.false():
        texts.append(case((null, text("null"))))
    if len(texts) == 1:
        return texts[0]
    return coalesce(*texts) if texts else exp.Cast(this=exp.Null(), to=exp.DataType.build("varchar"))


def order_text(value: Value) -> Sql:
    """Returns a text for arrays and records with the same order, element by element and field by field."""
    return neutral("json_order", json_text(value))


def json_array(texts: Sequence[Sql]) -> Sql:
    """Joins JSON texts to a JSON array."""
    return concat(text("["), neutral("join_texts", *texts, options=(",",)), text("]"))


def _of_kind(kind: str, sql: Sql, value: Value) -> Sql:
    if kind == OBJECT:
        body = _object(value)
        return body if sql == TRUE else case((is_set(sql), body))
    if kind == JSON:
        return sql
    if kind == ARRAY:
        return neutral("array_json", sql, options=(value.element,))
    if kind == TIME and value.original is not None:
        return coalesce(neutral("scalar_json", value.original, options=(STRING,)), _plain_time(sql))
    if kind == ERROR:
        return case((is_set(sql), text("null")))
    return neutral("scalar_json", sql, options=(kind,))


def _plain_time(sql: Sql) -> Sql:
    return neutral("scalar_json", sql, options=(TIME,))


def _object(value: Value) -> Sql:
    """Returns the text of an object. The order of fields is that of the union of all rows, so two rows with the same
    fields have the same text."""
    assert value.record is not None
    body = value.record.body
    if body is not None and not value.record.names and not body.made:  # only the text knows its fields
        return body.text
    members = []
    for name, each in value.record.items():
        found = json_text(each)
        members.append(concat(text(orjson.dumps(name).decode() + ":"), found))
    if not members:
        return text("{}")
    return concat(text("{"), neutral("join_texts", *members, options=(",",)), text("}"))
