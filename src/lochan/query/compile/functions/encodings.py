"""Texts that stand for other texts, and JSON."""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.shape import JSON, NULL, STRING
from lochan.query.compile.fields import opened
from lochan.query.compile.functions.call import Function, FunctionCall, by_kind
from lochan.query.compile.sql import TRUE, any_of, case, is_set
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import MISSING, Value, absent
from lochan.query.dialects.neutral import neutral


def _of_bytes(name: str) -> Function:
    return lambda call: by_kind(call, call[0], {STRING: (STRING, lambda sql: neutral(name, sql))})


def parse_json(call: FunctionCall) -> Value:
    """Null where the text is no JSON."""
    value = call[0]
    if STRING not in value.alts:
        return by_kind(call, value, {JSON: (JSON, lambda sql: sql)})
    parsed = neutral("json_checked", value.alts[STRING])
    made = opened(parsed)
    values = [is_set(each) for kind, each in made.alts.items() if kind != NULL]
    null = case((any_of([absent(value), *values]), exp.Null()), other=TRUE)
    return Value({**made.alts, NULL: null}, MISSING if value.nothing == MISSING else "", text=parsed)


def to_json(call: FunctionCall) -> Value:
    value = call[0]
    return Value({STRING: json_text(value)}, MISSING if value.nothing == MISSING else "")


TABLE: dict[str, Function] = {
    "base64": _of_bytes("base64"),
    "hex": _of_bytes("hex"),
    "parse_json": parse_json,
    "to_json": to_json,
}
