"""Times, floats and JSON as texts, as Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.errors import Refused
from lochan.pools import times
from lochan.query.dialects.neutral import RFC3339, Forms, call_form, in_years, once, plain
from lochan.query.dialects.spark_words import let, matches, quote_text

_LETTERS = {
    "Y": "yyyy",
    "m": "MM",
    "d": "dd",
    "H": "HH",
    "M": "mm",
    "S": "ss",
    "f": "SSSSSS",
    "j": "DDD",
    "y": "yy",
    "b": "MMM",
    "B": "MMMM",
    "a": "EEE",
    "A": "EEEE",
    "p": "a",
    "I": "hh",
}


def time_text(sql: str) -> str:
    """Returns RFC 3339 in UTC, with a fraction only where there is one."""
    return f"(REPLACE({_utc_text(sql)}, ' ', 'T') || 'Z')"


def time_in_format(sql: str, format: str) -> str:
    """Renders a time as `pools/times.py` does."""
    text = _utc_text(sql)
    if format == times.NATIVE or not format:
        return time_text(sql)
    if "HH" not in format:
        return f"SUBSTRING({text}, 1, 10)"
    mark, digits, zone = times.parts(format)
    fraction = f" || '.' || RPAD(SUBSTRING({text}, 21), {digits}, '0')" if digits else ""
    return f"(SUBSTRING({text}, 1, 10) || '{mark}' || SUBSTRING({text}, 12, 8){fraction} || '{zone}')"


def _utc_text(sql: str) -> str:
    """Formats a time in UTC, whatever the session's time zone is. A zone that is set after the query was planned would
    otherwise shift it."""
    seconds = f"CAST(CAST(UNIX_MICROS({sql}) AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))"
    return f"CAST(TIMESTAMP_NTZ '1970-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, {seconds}) AS STRING)"


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"DATE_FORMAT({arguments[0]}, {_java(options[0])})"


def _rfc3339(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Reads six digits of the fraction; further ones are cut off, not rounded."""
    text = arguments[0]
    cut = f"REGEXP_REPLACE(UPPER({text}), '([.][0-9]{{6}})[0-9]+', '$1')"
    zoned = matches(text, r"([Zz]|[+-][0-9]{2}:[0-9]{2})\z")
    rest = f"CASE WHEN {zoned} THEN '' WHEN LENGTH({text}) = 10 THEN 'T00:00:00Z' ELSE 'Z' END"
    time = in_years(f"TRY_CAST({cut} || {rest} AS TIMESTAMP)", text, "UNIX_MICROS")
    return f"CASE WHEN {matches(text, RFC3339)} THEN {time} END"


def _strptime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"TRY_TO_TIMESTAMP({arguments[0]}, {_java(options[0])})"


def _java(format: str) -> str:
    """Converts the letters of strftime to those of Java, with the text between them in quotes."""
    out, plain_text, at = "", "", 0
    while at < len(format):
        letter = format[at + 1] if format[at] == "%" else ""
        if letter and letter != "%":
            out += _java_text(plain_text) + _LETTERS[letter]
            plain_text = ""
        else:
            plain_text += letter or format[at]
        at += 2 if letter else 1
    return quote_text(out + _java_text(plain_text))


def _java_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else ""


FORMS: Forms = {
    "from_micros": call_form("TIMESTAMP_MICROS"),
    "strftime": _strftime,
    "strptime": _strptime,
    "rfc3339": _rfc3339,
    "finer_digits": plain("TRIM(TRAILING '0' FROM REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1))"),
}


# ── floats ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def float_text(value: str) -> str:
    """Returns the float as JSON in DuckDB's notation, with the fewest digits that identify it, or NULL for NULL.

        1e7       10000000.0      up to 1e20
        1.25e-5   0.0000125       down to 1e-6
        1.5e300   1.5e300         beyond

    Java has another notation, and before version 19 more digits than it needs for some: 1.9999999999999998E23 for 2e23.
    Fifteen digits are enough for what people write, seventeen for all.
    """
    return f"CASE WHEN {value} IS NOT NULL THEN {let('it', shortest(value), _of_text('it'))} END"


def shortest(value: str) -> str:
    """Returns the shortest digits, always with a power of ten, and zeros after the digits."""
    arms = [f"WHEN TRY_CAST({text} AS DOUBLE) = {value} THEN {text}" for text in map(_digits(value), (15, 16))]
    return f"CASE {' '.join(arms)} ELSE {_digits(value)(17)} END"


def _digits(value: str) -> Callable[[int], str]:
    return lambda count: f"FORMAT_STRING('%.{count - 1}e', {value})"


def _of_text(java: str) -> str:
    """Writes a text such as 1.50000000000000e+300 as a plain number. Infinity and NaN have no exponent, and stay
    unchanged."""
    sign = f"CASE WHEN {java} LIKE '-%' THEN '-' ELSE '' END"
    digits = f"REGEXP_REPLACE(REGEXP_REPLACE(SPLIT_PART({java}, 'e', 1), '[-.]', ''), '0+$', '')"
    power = f"TRY_CAST(SPLIT_PART({java}, 'e', 2) AS INT)"
    large = (
        f"CASE WHEN LENGTH({digits}) > {power} + 1 "
        f"THEN CONCAT(SUBSTRING({digits}, 1, {power} + 1), '.', SUBSTRING({digits}, {power} + 2)) "
        f"ELSE CONCAT(RPAD({digits}, {power} + 1, '0'), '.0') END"
    )
    small = f"CONCAT('0.', REPEAT('0', -{power} - 1), {digits})"
    rest = f"CASE WHEN LENGTH({digits}) > 1 THEN CONCAT('.', SUBSTRING({digits}, 2)) ELSE '' END"
    other = f"CONCAT(SUBSTRING({digits}, 1, 1), {rest}, 'e', {power})"
    near = f"WHEN {power} BETWEEN 0 AND 20 THEN {large} WHEN {power} BETWEEN -6 AND -1 THEN {small}"
    return f"CASE WHEN {power} IS NULL THEN {java} ELSE CONCAT({sign}, CASE {near} ELSE {other} END) END"


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _json_path(steps: Sequence[str | int]) -> str:
    return quote_text("$" + "".join(map(_step, steps)))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        if step < 0:
            raise Refused("Spark cannot count from the end of an array that is JSON text", hint="run it on duckdb")
        return f"[{step}]"
    if step in ("", "*") or "'" in step or "\\" in step:
        raise Refused(f"Spark cannot look for the name {step!r} in JSON text", hint="run it on duckdb")
    return f"['{step}']"


def json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Returns the value at a path. A variant distinguishes a string from a number, but loses how the number was
    written; the text keeps that."""
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
    """Returns the fields of an object, with values as `json_items` finds them."""
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
    """Writes a string as JSON: as an array of one element, without the brackets."""
    return f"CASE WHEN {value} IS NOT NULL THEN REGEXP_REPLACE(TO_JSON(ARRAY({value})), '^\\\\[|\\\\]$', '') END"
