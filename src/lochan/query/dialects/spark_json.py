"""JSON texts, as Spark reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.errors import Refused
from lochan.query.dialects.spark_words import let, quoted
from lochan.query.dialects.words import once


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


def json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """A variant knows a string from a number, but not how the number was written; the text knows that."""
    path = _json_path(options)

    def found(text: str) -> str:
        variant = f"TO_JSON(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), {path}, 'variant'))"
        number = f"WHEN v IS NOT NULL THEN GET_JSON_OBJECT({text}, {path})"
        return f"TRANSFORM(ARRAY({variant}), v -> CASE WHEN v LIKE '\"%' OR v = 'null' THEN v {number} END)[0]"

    return once(let, arguments[0], found)


def json_items(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    variants = f"TRANSFORM(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), '$', 'array<variant>'), v -> TO_JSON(v))"
    texts = f"FROM_JSON({text}, 'array<string>')"
    return (
        f"ZIP_WITH({variants}, {texts}, (v, s) -> CASE WHEN v LIKE '\"%' OR v IS NULL OR s IS NULL THEN v ELSE s END)"
    )


def json_fields(json: str) -> str:
    """Values as `json_items` finds them."""
    variants = f"TRY_VARIANT_GET(TRY_PARSE_JSON({json}), '$', 'map<string,variant>')"
    texts = f"TRANSFORM_VALUES({variants}, (k, v) -> TO_JSON(v))"
    maps = f"NAMED_STRUCT('v', {texts}, 's', FROM_JSON({json}, 'map<string,string>'))"
    value = "CASE WHEN m.v[k] LIKE '\"%' OR m.v[k] IS NULL OR m.s[k] IS NULL THEN m.v[k] ELSE m.s[k] END"
    field = f"NAMED_STRUCT('k', k, 'v', {value})"
    return let("m", maps, f"TRANSFORM(JSON_OBJECT_KEYS({json}), k -> {field})")


def json_checked(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = f"TRIM({arguments[0]})"
    whole = f"GET_JSON_OBJECT(CONCAT('[', {text}, ']'), '$[0]')"
    return (
        f"CASE WHEN TRY_PARSE_JSON({text}) IS NULL THEN NULL WHEN {text} LIKE '\"%' OR {text} = 'null' THEN {text} "
        f"ELSE {whole} END"
    )


def json_length(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    return (
        f"CAST(CASE SUBSTRING({text}, 1, 1) WHEN '{{' THEN SIZE(JSON_OBJECT_KEYS({text})) "
        f"WHEN '[' THEN JSON_ARRAY_LENGTH({text}) END AS BIGINT)"
    )


def json_text(value: str) -> str:
    """Of a string, as it stands in an array of one."""
    return f"CASE WHEN {value} IS NOT NULL THEN REGEXP_REPLACE(TO_JSON(ARRAY({value})), '^\\\\[|\\\\]$', '') END"
