"""The forms of the neutral parts of a plan in DuckDB. `TRY` returns NULL instead of an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.pools.kinds import BOOL, FLOAT, INT, JSON, NULL, STRING, TIME
from lochan.pools.shape import kind_of
from lochan.query.dialects import duckdb_text
from lochan.query.dialects.duckdb_text import matches, quote_text
from lochan.query.dialects.neutral import RFC3339, Forms, Words, by_option, call_form, in_years, plain, slice_ends
from lochan.query.dialects.shared_forms import DIVIDE_FLOATS, FLOAT_REMAINDER, NEGATIVE_DECIMAL, shared_forms

TYPES = {
    INT: "BIGINT",
    FLOAT: "DOUBLE",
    STRING: "VARCHAR",
    TIME: "TIMESTAMPTZ",
    BOOL: "BOOLEAN",
    JSON: "VARCHAR",
    NULL: "BOOLEAN",
    "decimal": "VARCHAR",
    "duration": "BIGINT",
    "ip": "VARCHAR",
}

# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"LIST_EXTRACT({arguments[0]}, {at + 1 if at >= 0 else at})"


def _list_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return WORDS.once(arguments[0], lambda many: _slice_of(many, *options))


def _slice_of(many: str, start: int | None, stop: int | None) -> str:
    low, high = slice_ends(start, stop, f"LEN({many})")
    return f"CASE WHEN {high} >= {low} THEN LIST_SLICE({many}, {low}, {high}) ELSE LIST_SLICE({many}, 1, 0) END"


def _firsts(many: str) -> str:
    return f"LIST_FILTER({many}, LAMBDA n, i: LIST_POSITION({many}, n) = i)"


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _number(symbol: str) -> dict[Any, Any]:
    return {INT: plain(f"TRY(({{0}}) {symbol} ({{1}}))"), FLOAT: plain(f"(({{0}}) {symbol} ({{1}}))")}


def _bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, (step, safe) = arguments[0], options
    floored = f"({value} - (({value} % {step}) + {step}) % {step})"
    return floored if safe else f"TRY{floored}"


def _float_bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"(FLOOR({arguments[0]} / {options[0]}) * {options[0]} + 0e0)"


# ── times and addresses ──────────────────────────────────────────────────────────────────────────────────────────────


def _time_text(sql: str) -> str:
    """Returns RFC 3339 in UTC, with a fraction only where there is one."""
    return (
        f"(STRFTIME({sql}, '%Y-%m-%dT%H:%M:%S') || CASE WHEN EPOCH_US({sql}) % 1000000 = 0 THEN '' ELSE "
        f"RTRIM(STRFTIME({sql}, '.%f'), '0') END || 'Z')"
    )


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"STRFTIME({arguments[0]}, {quote_text(options[0])})"


def _strptime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CAST(TRY_STRPTIME({arguments[0]}, {quote_text(options[0])}) AS TIMESTAMPTZ)"


def _rfc3339(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Reads six digits of the fraction; further ones are cut off, not rounded."""
    text = arguments[0]
    cut = f"REGEXP_REPLACE(UPPER({text}), '([.][0-9]{{6}})[0-9]+', '\\1')"
    time = in_years(f"TRY_CAST({cut} AS TIMESTAMPTZ)", text, "EPOCH_US")
    return f"CASE WHEN {matches(text, RFC3339)} THEN {time} END"


def _ipv4_digits(text: str) -> str:
    parts = ", ".join(f"TRY_CAST(SPLIT_PART({text}, '.', {at}) AS INTEGER)" for at in (1, 2, 3, 4))
    return f"PRINTF('4%02x%02x%02x%02x', {parts})"


def _ipv4_text(digits: str) -> str:
    parts = ", ".join(f"TRY_CAST('0x' || SUBSTRING({digits}, {at}, 2) AS INTEGER)" for at in (2, 4, 6, 8))
    return f"PRINTF('%d.%d.%d.%d', {parts})"


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def json_path(steps: Sequence[str | int]) -> str:
    """Returns the path. DuckDB's paths cannot express an empty name, and take `*` for all names; a JSON pointer is used
    for these."""
    if {"", "*"} & set(steps):
        return "".join(map(_pointer, steps))
    return "$" + "".join(map(_step, steps))


def _pointer(step: str | int) -> str:
    return "/" + str(step).replace("~", "~0").replace("/", "~1")


def _step(step: str | int) -> str:
    """Returns a step of a path. `#-1` counts from the end of an array."""
    if isinstance(step, int):
        return f"[#-{-step}]" if step < 0 else f"[{step}]"
    return '."' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CAST(JSON_EXTRACT({arguments[0]}, {quote_text(json_path(options))}) AS VARCHAR)"


def _json_fields(json: str) -> str:
    """Returns the fields of an object, by JSON pointers, which can express any name, even an empty one."""
    pointer = "'/' || REPLACE(REPLACE(k, '~', '~0'), '/', '~1')"
    field = f"{{'k': k, 'v': CAST(JSON_EXTRACT({json}, {pointer}) AS VARCHAR)}}"
    return f"LIST_TRANSFORM(JSON_KEYS({json}), LAMBDA k: {field})"


def _json_length(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    arms = f"WHEN 'OBJECT' THEN LEN(JSON_KEYS({text})) WHEN 'ARRAY' THEN JSON_ARRAY_LENGTH({text})"
    return f"CAST(CASE JSON_TYPE({text}) {arms} END AS BIGINT)"


def _json_text(value: str) -> str:
    return f"CAST(TO_JSON({value}) AS VARCHAR)"


def _array_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    many, element = arguments[0], options[0]
    if element is not None and kind_of(element) == TIME:
        many = WORDS.each(many, "x", _time_text("x"))
    return _json_text(many)


WORDS = Words(
    types=TYPES,
    text="VARCHAR",
    quoted=quote_text,
    pattern=quote_text,
    fail=lambda message: f"ERROR({message})",
    let=lambda name, value, body: f"LIST_TRANSFORM([{value}], LAMBDA {name}: {body})[1]",
    members=lambda fields: "{" + ", ".join(f"'{name}': {value}" for name, value in fields.items()) + "}",
    list_of=lambda items: f"[{', '.join(items)}]",
    size="LEN",
    each=lambda many, name, body: f"LIST_TRANSFORM({many}, LAMBDA {name}: {body})",
    kept=lambda many, name, test: f"LIST_FILTER({many}, LAMBDA {name}: {test})",
    some=lambda many, name, test: f"(LEN(LIST_FILTER({many}, LAMBDA {name}: {test})) > 0)",
    firsts=_firsts,
    last=lambda many: f"{many}[-1]",
    joined=lambda many, between: f"ARRAY_TO_STRING({many}, {between})",
    left_trim=lambda text, letters: f"LTRIM({text}, '{letters}')",
    right_trim=lambda text, letters: f"RTRIM({text}, '{letters}')",
    matches=matches,
    found=lambda text, pattern: f"REGEXP_EXTRACT_ALL({text}, {pattern})",
    first_group=lambda text, pattern: f"REGEXP_REPLACE({text}, {pattern}, '\\1', 'g')",
    split=lambda text, mark: f"STR_SPLIT({text}, {mark})",
    divided=lambda number, by: f"({number} // {by})",
    float_text=_json_text,
    shortest=lambda value: f"CAST({value} AS VARCHAR)",
    micros="EPOCH_US",
    time_text=_time_text,
    ipv4_digits=_ipv4_digits,
    ipv4_text=_ipv4_text,
    json_text=_json_text,
    json_string=plain("JSON_EXTRACT_STRING({0}, '$')"),
    json_get=_json_get,
    json_items=plain("CAST(JSON_EXTRACT({0}, '$[*]') AS VARCHAR[])"),
    json_fields=_json_fields,
    json_checked=plain("CASE WHEN JSON_VALID({0}) THEN CAST(JSON({0}) AS VARCHAR) END"),
)

FORMS: Forms = {
    **shared_forms(WORDS),
    **duckdb_text.FORMS,
    # kinds
    "truncate": plain("TRUNC({0})"),
    # DuckDB 2.0 moves a cast of `b.c` into the reading of the files; if a file has `b` but nothing at `c`, that fails
    # with an internal error. It does not move what is in a TRY.
    "rounded": plain("TRY(CAST({0} AS DOUBLE))"),
    # numbers
    "add": by_option(_number("+")),
    "subtract": by_option(_number("-")),
    "multiply": by_option(_number("*")),
    "safe_divide": plain("(({0}) // ({1}))"),
    "divide": by_option({INT: plain("TRY(({0}) // ({1}))"), FLOAT: DIVIDE_FLOATS}),
    "remainder": by_option({INT: plain("TRY(({0}) % ({1}))"), FLOAT: FLOAT_REMAINDER}),
    "decimal_remainder": plain("TRY(({0}) % ({1}))"),
    "negate": by_option({**dict.fromkeys((INT, FLOAT, "duration"), plain("TRY(-({0}))")), "decimal": NEGATIVE_DECIMAL}),
    "abs": by_option(
        {**dict.fromkeys((INT, FLOAT, "duration"), plain("TRY(ABS({0}))")), "decimal": plain("LTRIM({0}, '-')")}
    ),
    "ceil": plain("(CEIL({0}) + 0e0)"),  # never -0.0
    "floor": plain("(FLOOR({0}) + 0e0)"),
    "pow": plain("POW({0}, {1})"),
    "int_bucket": _bucket,
    "float_bucket": _float_bucket,
    # times
    "from_micros": plain("CAST(TRY(MAKE_TIMESTAMP({0})) AS TIMESTAMPTZ)"),
    "rfc3339": _rfc3339,
    "finer_digits": plain("RTRIM(REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1), '0')"),
    "strftime": _strftime,
    "strptime": _strptime,
    # lists and structs
    "empty_list": lambda arguments, options: f"CAST([] AS {TYPES[options[0]]}[])",
    "list_get": _list_get,
    "list_slice": _list_slice,
    "list_contains": plain("LIST_CONTAINS({0}, {1})"),
    "struct_get": lambda arguments, options: f"STRUCT_EXTRACT({arguments[0]}, {quote_text(options[0])})",
    "each": call_form("UNNEST"),
    # JSON
    "json_strings": plain(
        "LIST_TRANSFORM(CAST(JSON_EXTRACT({0}, '$[*]') AS VARCHAR[]), LAMBDA x: JSON_EXTRACT_STRING(x, '$'))"
    ),
    "json_length": _json_length,
    "array_json": _array_json,
    # rows
    "row_number": plain("ROW_NUMBER() OVER ()"),
    # aggregates
    "sum_of": call_form("SUM"),
    "quantile": plain("QUANTILE_CONT({0}, {o0})"),
    "first_by": call_form("ARG_MIN_NULL"),
    "last_by": call_form("ARG_MAX_NULL"),
    "collect": plain("LIST({0} ORDER BY {1})"),
    "collected": plain("{0}"),
    "value of a query that depends on the row": plain("{0}"),
    "collect_distinct": plain("LIST(DISTINCT {0})"),
    "sorted_list": call_form("LIST_SORT"),
    "collect_keyed": plain("LIST(DISTINCT {{'kind': {0}, 'size': {1}, 'letters': {2}, 'json': {3}}})"),
    "sorted_texts": plain("LIST_TRANSFORM(LIST_SORT({0}), LAMBDA each: each.json)"),
}
