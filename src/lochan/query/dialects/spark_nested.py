"""Arrays, structs and JSON texts, as Spark has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orjson import dumps

from lochan.errors import Refused
from lochan.pools.shape import BOOL, FLOAT, INT, TIME, Array, Object, Type, kind_of
from lochan.query.dialects.form import Forms, gone_test, merged_parts, named, plain, slice_ends
from lochan.query.dialects.spark_floats import float_text
from lochan.query.dialects.spark_nets import ip_text
from lochan.query.dialects.spark_times import duration_text, time_text
from lochan.query.dialects.spark_words import TYPES, let, quoted


def _list_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"TRY_ELEMENT_AT({arguments[0]}, {at + 1 if at >= 0 else at})"


def _list_has(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"(SIZE({arguments[0]}) >= {at + 1 if at >= 0 else -at})"


def _list_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], lambda many: _slice_of(many, *options))


def _slice_of(many: str, start: int | None, stop: int | None) -> str:
    low, high = slice_ends(start, stop, f"SIZE({many})")
    return f"SLICE({many}, {low}, GREATEST({high} - {low} + 1, 0))"


def _tagged(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Elements as structs, with NULL in the place of those that other lists have."""
    many, *nulls = arguments
    at, place = options
    nulls[place] = "x"
    return f"TRANSFORM({many}, x -> {_tag(at, nulls)})"


def _tagged_one(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    test, *nulls = arguments
    return f"CASE WHEN {test} THEN ARRAY({_tag(options[0], nulls)}) END"


def _tag(at: int, fields: Sequence[str]) -> str:
    members = "".join(f", 'e{place}', {field}" for place, field in enumerate(fields))
    return f"NAMED_STRUCT('at', {at}{members})"


def _joined_lists(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"FLATTEN(FILTER(ARRAY({', '.join(arguments)}), l -> l IS NOT NULL))"


def _struct_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"({arguments[0]}).`{options[0].replace('`', '``')}`"


def _json_path(steps: Sequence[str | int]) -> str:
    return quoted("$" + "".join(map(_step, steps)))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        if step < 0:
            raise Refused("Spark cannot count from the end of an array that is JSON text", hint="run it on duckdb")
        return f"[{step}]"
    if step in ("", "*") or "'" in step or "\\" in step:
        raise Refused(f"Spark cannot look for the name {step!r} in JSON text", hint="run it on duckdb")
    return f"['{step}']"


def _json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """A variant knows a string from a number, but not how the number was written; the text knows that."""
    path = _json_path(options)

    def found(text: str) -> str:
        variant = f"TO_JSON(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), {path}, 'variant'))"
        number = f"WHEN v IS NOT NULL THEN GET_JSON_OBJECT({text}, {path})"
        return f"TRANSFORM(ARRAY({variant}), v -> CASE WHEN v LIKE '\"%' OR v = 'null' THEN v {number} END)[0]"

    return let(arguments[0], found)


def _json_items(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    variants = f"TRANSFORM(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), '$', 'array<variant>'), v -> TO_JSON(v))"
    texts = f"FROM_JSON({text}, 'array<string>')"
    return (
        f"ZIP_WITH({variants}, {texts}, (v, s) -> CASE WHEN v LIKE '\"%' OR v IS NULL OR s IS NULL THEN v ELSE s END)"
    )


def json_merged(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Values as `_json_items` finds them."""
    texts, gone = merged_parts(arguments, options)
    variants = "TRANSFORM_VALUES(TRY_VARIANT_GET(TRY_PARSE_JSON(o), '$', 'map<string,variant>'), (k, v) -> TO_JSON(v))"
    maps = f"NAMED_STRUCT('v', {variants}, 's', FROM_JSON(o, 'map<string,string>'))"
    value = "CASE WHEN m.v[k] LIKE '\"%' OR m.v[k] IS NULL OR m.s[k] IS NULL THEN m.v[k] ELSE m.s[k] END"
    field = f"NAMED_STRUCT('k', k, 'v', {value})"
    fields = f"TRANSFORM(ARRAY({maps}), m -> TRANSFORM(JSON_OBJECT_KEYS(o), k -> {field}))[0]"
    objects = f"FILTER(ARRAY({', '.join(texts)}), o -> o IS NOT NULL)"
    all_fields = f"FLATTEN(TRANSFORM({objects}, o -> {fields}))"
    if gone:
        all_fields = f"FILTER({all_fields}, x -> {gone_test(gone, quoted)})"
    elif options:
        all_fields = _renamed_field(all_fields, *options[1:])
    one = f"CONCAT({_in_json('n')}, ':', ELEMENT_AT(FILTER(f, y -> y.k = n), -1).v)"
    inside = f"ARRAY_JOIN(TRANSFORM(ARRAY_DISTINCT(TRANSFORM(f, x -> x.k)), n -> {one}), ',')"
    return f"TRANSFORM(ARRAY({all_fields}), f -> CONCAT('{{', {inside}, '}}'))[0]"


def _renamed_field(fields: str, name: str, new: str) -> str:
    """A field that had the new name gives way."""
    others = f"FILTER(e, x -> x.k = {quoted(name)} OR x.k <> {quoted(new)})"
    renamed = f"CASE WHEN x.k = {quoted(name)} THEN {quoted(new)} ELSE x.k END"
    changed = f"TRANSFORM({others}, x -> NAMED_STRUCT('k', {renamed}, 'v', x.v))"
    has = f"EXISTS(e, x -> x.k = {quoted(name)})"
    return f"TRANSFORM(ARRAY({fields}), e -> CASE WHEN {has} THEN {changed} ELSE e END)[0]"


def json_checked(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = f"TRIM({arguments[0]})"
    whole = f"GET_JSON_OBJECT(CONCAT('[', {text}, ']'), '$[0]')"
    return (
        f"CASE WHEN TRY_PARSE_JSON({text}) IS NULL THEN NULL WHEN {text} LIKE '\"%' OR {text} = 'null' THEN {text} "
        f"ELSE {whole} END"
    )


def _json_length(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    return (
        f"CAST(CASE SUBSTRING({text}, 1, 1) WHEN '{{' THEN SIZE(JSON_OBJECT_KEYS({text})) "
        f"WHEN '[' THEN JSON_ARRAY_LENGTH({text}) END AS BIGINT)"
    )


def _in_json(value: str) -> str:
    """A scalar, as it stands in an array of one."""
    return f"REGEXP_REPLACE(TO_JSON(ARRAY({value})), '^\\\\[|\\\\]$', '')"


def _scalar_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, kind = arguments[0], options[0]
    if kind in (TIME, "duration", "ip"):
        text = (
            time_text(value) if kind == TIME else duration_text(value) if kind == "duration" else ip_text([value], ())
        )
        return "('\"' || " + text + " || '\"')"
    if kind in (BOOL, INT):
        return f"CAST({value} AS STRING)"
    if kind == FLOAT:
        return float_text(value)
    if kind == "decimal":
        return value
    return f"CASE WHEN {value} IS NOT NULL THEN {_in_json(value)} END"


def _array_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    element, array = options[0], arguments[0]
    return _json_of(array, None if element is None else Array(element), 0)


def _json_of(value: str, type: Type | None, depth: int) -> str:
    """By Spark's own hand where that writes what DuckDB does: not where a float or a time is in it."""
    if type is None or not _has_own_text(type):
        return f"TO_JSON({value}, MAP('ignoreNullFields', 'false'))"
    if isinstance(type, Array):
        each = f"x{depth}"
        texts = f"TRANSFORM({value}, {each} -> {_inner_json(each, type.of, depth + 1)})"
        return f"CONCAT('[', ARRAY_JOIN({texts}, ','), ']')"
    assert isinstance(type, Object)
    members = [
        f"{quoted(dumps(name).decode() + ':')}, {_inner_json(_struct_get([value], (name,)), each, depth)}"
        for name, each in type.fields
    ]
    inside = ", ',', ".join(members)
    return f"CONCAT('{{', {inside}, '}}')"


def _inner_json(value: str, type: Type | None, depth: int) -> str:
    nested = isinstance(type, Array | Object)
    text = _json_of(value, type, depth) if nested or type is None else _scalar_json([value], (kind_of(type),))
    return f"COALESCE({text}, 'null')"


def _has_own_text(type: Type | None) -> bool:
    if isinstance(type, Array):
        return _has_own_text(type.of)
    if isinstance(type, Object):
        return any(_has_own_text(each) for _, each in type.fields)
    return type is not None and kind_of(type) in (FLOAT, TIME)


FORMS: Forms = {
    "list_of": named("ARRAY"),
    "empty_list": lambda arguments, options: f"CAST(ARRAY() AS ARRAY<{TYPES[options[0]]}>)",
    "list_get": _list_get,
    "list_has": _list_has,
    "list_slice": _list_slice,
    "list_join": lambda arguments, options: f"ARRAY_JOIN({arguments[0]}, {quoted(options[0])})",
    "list_length": plain("CAST(SIZE({0}) AS BIGINT)"),
    "list_contains": named("ARRAY_CONTAINS"),
    "list_some": plain("EXISTS({0}, element -> {1})"),
    "struct_get": _struct_get,
    "each": named("EXPLODE"),
    "tagged": _tagged,
    "tagged_one": _tagged_one,
    "joined_lists": _joined_lists,
    "json_get": _json_get,
    "json_string": plain("GET_JSON_OBJECT(CONCAT('[', {0}, ']'), '$[0]')"),
    "json_items": _json_items,
    "json_strings": plain("FROM_JSON({0}, 'array<string>')"),
    "json_length": _json_length,
    "scalar_json": _scalar_json,
    "array_json": _array_json,
}
