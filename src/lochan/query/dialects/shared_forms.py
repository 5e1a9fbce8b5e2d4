"""The forms that are the same on both engines, except for a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.pools.kinds import BOOL, FLOAT, INT, TIME
from lochan.query.dialects import decimals
from lochan.query.dialects.neutral import (
    CAPITALS,
    SMALL,
    Forms,
    Words,
    by_option,
    call_form,
    in_years,
    plain,
    round_half_away,
    slice_ends,
    within_years,
)
from lochan.query.dialects.shared_texts import duration_text, ip_digits, ip_text, json_order, parse_duration

NEGATIVE_DECIMAL = plain("CASE WHEN SUBSTRING({0}, 1, 1) = '-' THEN SUBSTRING({0}, 2) ELSE '-' || {0} END")
DIVIDE_FLOATS = plain("CASE WHEN {1} <> 0 THEN ({0}) / ({1}) END")
FLOAT_REMAINDER = plain("CASE WHEN {1} <> 0 THEN ({0}) % ({1}) END")

_SUM = plain("TRY_CAST({0} AS BIGINT)")
_PLAIN: Forms = {
    "safe_remainder": plain("(({0}) % ({1}))"),
    "round": round_half_away,
    "sqrt": plain("CASE WHEN {0} >= 0 THEN SQRT({0}) END"),
    "log": plain("CASE WHEN {0} > 0 THEN LN({0}) END"),
    "first_character": plain("SUBSTRING({0}, 1, 1)"),
    "lower": plain(f"TRANSLATE({{0}}, '{CAPITALS}', '{SMALL}')"),
    "upper": plain(f"TRANSLATE({{0}}, '{SMALL}', '{CAPITALS}')"),
    "replace": call_form("REPLACE"),
    "text_length": plain("CAST(LENGTH({0}) AS BIGINT)"),
    "sum": by_option({INT: _SUM, "duration": _SUM, FLOAT: plain("{0}")}),
}


def shared_forms(words: Words) -> Forms:
    return {
        **_PLAIN,
        **decimals.forms(words),
        **_scalars(words),
        **_lists(words),
        "join_texts": lambda texts, options: f"CONCAT_WS({words.quoted(options[0])}, {', '.join(texts)})",
        "text_slice": _text_slice,
        "groups": lambda arguments, options: _groups(words, arguments[0], *options),
        "json_get": words.json_get,
        "json_string": words.json_string,
        "json_items": words.json_items,
        "json_order": lambda arguments, options: json_order(words, arguments[0], decimals.number_key(words)),
        "scalar_json": lambda arguments, options: scalar_json(words, arguments[0], options[0]),
    }


def scalar_json(words: Words, value: str, kind: str) -> str:
    if kind in (TIME, "duration", "ip"):
        text = words.time_text(value) if kind == TIME else _SCALAR_TEXTS[kind](words, value)
        return "('\"' || " + text + " || '\"')"
    if kind in (BOOL, INT):
        return f"CAST({value} AS {words.text})"
    if kind == FLOAT:
        return words.float_text(value)
    return value if kind == "decimal" else words.json_text(value)


_SCALAR_TEXTS = {"duration": duration_text, "ip": ip_text}


def _scalars(words: Words) -> Forms:
    return {
        "try_cast": lambda arguments, options: f"TRY_CAST({arguments[0]} AS {words.types[options[0]]})",
        "micros": call_form(words.micros),
        "within_years": lambda arguments, options: words.once(arguments[0], within_years),
        "in_years": lambda arguments, options: in_years(arguments[0], arguments[1], words.micros),
        "time_text": lambda arguments, options: words.time_text(arguments[0]),
        "duration_text": lambda arguments, options: duration_text(words, arguments[0]),
        "parse_duration": lambda arguments, options: parse_duration(words, arguments[0]),
        "ip_digits": lambda arguments, options: ip_digits(words, arguments[0]),
        "ip_text": lambda arguments, options: ip_text(words, arguments[0]),
    }


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _text_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    low, high = slice_ends(options[0], options[1], f"LENGTH({arguments[0]})")
    return f"SUBSTRING({arguments[0]}, {low}, GREATEST({high} - {low} + 1, 0))"


def _groups(words: Words, text: str, regexp: str, count: int) -> str:
    parts = [f"REGEXP_EXTRACT({text}, {words.pattern(regexp)}, {at})" for at in range(count)]
    return f"CASE WHEN {words.matches(text, regexp)} THEN {words.list_of(parts)} END"


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lists(words: Words) -> Forms:
    return {
        "list_of": lambda arguments, options: words.list_of(arguments),
        "list_has": lambda arguments, options: _list_has(words, arguments[0], options[0]),
        "list_join": lambda arguments, options: words.joined(arguments[0], words.quoted(options[0])),
        "list_length": plain(f"CAST({words.size}({{0}}) AS BIGINT)"),
        "list_some": lambda arguments, options: words.some(arguments[0], "element", arguments[1]),
        "tagged": lambda arguments, options: _tag_elements(words, arguments, *options),
        "tagged_one": lambda arguments, options: _tag_one(words, arguments, options[0]),
        "joined_lists": lambda lists, options: f"FLATTEN({words.kept(words.list_of(lists), 'l', 'l IS NOT NULL')})",
    }


def _list_has(words: Words, many: str, at: int) -> str:
    return f"({words.size}({many}) >= {at + 1 if at >= 0 else -at})"


def _tag_elements(words: Words, arguments: Sequence[str], at: int, place: int) -> str:
    """Returns the elements as structs, with NULL in the fields of the other lists."""
    many, *nulls = arguments
    nulls[place] = "x"
    return words.each(many, "x", _tag(words, at, nulls))


def _tag_one(words: Words, arguments: Sequence[str], at: int) -> str:
    test, *nulls = arguments
    return f"CASE WHEN {test} THEN {words.list_of([_tag(words, at, nulls)])} END"


def _tag(words: Words, at: int, fields: Sequence[str]) -> str:
    return words.members({"at": str(at), **{f"e{place}": field for place, field in enumerate(fields)}})
