"""Times and floats as texts, as Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.pools import times
from lochan.query.dialects.neutral import RFC3339, Forms, in_years, named, plain
from lochan.query.dialects.spark_words import let, matches, quoted

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
    """RFC 3339 in UTC; a fraction only where there is one."""
    return f"(REPLACE({_utc_text(sql)}, ' ', 'T') || 'Z')"


def time_in_format(sql: str, format: str) -> str:
    """As `pools/times.py` renders it."""
    text = _utc_text(sql)
    if format == times.NATIVE or not format:
        return time_text(sql)
    if "HH" not in format:
        return f"SUBSTRING({text}, 1, 10)"
    mark, digits, zone = times.parts(format)
    fraction = f" || '.' || RPAD(SUBSTRING({text}, 21), {digits}, '0')" if digits else ""
    return f"(SUBSTRING({text}, 1, 10) || '{mark}' || SUBSTRING({text}, 12, 8){fraction} || '{zone}')"


def _utc_text(sql: str) -> str:
    """Of a time, whatever zone the session has: one that is set when the rows are read, and not when the plan was made,
    would move it."""
    seconds = f"CAST(CAST(UNIX_MICROS({sql}) AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))"
    return f"CAST(TIMESTAMP_NTZ '1970-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, {seconds}) AS STRING)"


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"DATE_FORMAT({arguments[0]}, {_java(options[0])})"


def _rfc3339(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Six digits of the fraction; the rest is cut off, not rounded."""
    text = arguments[0]
    cut = f"REGEXP_REPLACE(UPPER({text}), '([.][0-9]{{6}})[0-9]+', '$1')"
    zoned = matches(text, r"([Zz]|[+-][0-9]{2}:[0-9]{2})\z")
    rest = f"CASE WHEN {zoned} THEN '' WHEN LENGTH({text}) = 10 THEN 'T00:00:00Z' ELSE 'Z' END"
    time = in_years(f"TRY_CAST({cut} || {rest} AS TIMESTAMP)", text, "UNIX_MICROS")
    return f"CASE WHEN {matches(text, RFC3339)} THEN {time} END"


def _strptime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"TRY_TO_TIMESTAMP({arguments[0]}, {_java(options[0])})"


def _java(format: str) -> str:
    """The letters of strftime as those of Java, what stands between them in quotes."""
    out, plain_text, at = "", "", 0
    while at < len(format):
        letter = format[at + 1] if format[at] == "%" else ""
        if letter and letter != "%":
            out += _java_text(plain_text) + _LETTERS[letter]
            plain_text = ""
        else:
            plain_text += letter or format[at]
        at += 2 if letter else 1
    return quoted(out + _java_text(plain_text))


def _java_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else ""


FORMS: Forms = {
    "from_micros": named("TIMESTAMP_MICROS"),
    "strftime": _strftime,
    "strptime": _strptime,
    "rfc3339": _rfc3339,
    "finer_digits": plain("TRIM(TRAILING '0' FROM REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1))"),
}


# ── floats ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def float_text(value: str) -> str:
    """As JSON, the way DuckDB writes it; NULL of NULL. It has the fewest digits that say which float it is.

        1e7       10000000.0      up to 1e20
        1.25e-5   0.0000125       down to 1e-6
        1.5e300   1.5e300         beyond

    Java has another notation, and before version 19 more digits than it needs for some: 1.9999999999999998E23 for 2e23.
    Fifteen digits are enough for what people write, seventeen for all.
    """
    return f"CASE WHEN {value} IS NOT NULL THEN {let('it', shortest(value), _of_text('it'))} END"


def shortest(value: str) -> str:
    """Always with a power of ten, and zeros behind the digits."""
    arms = [f"WHEN TRY_CAST({text} AS DOUBLE) = {value} THEN {text}" for text in map(_digits(value), (15, 16))]
    return f"CASE {' '.join(arms)} ELSE {_digits(value)(17)} END"


def _digits(value: str) -> Callable[[int], str]:
    return lambda count: f"FORMAT_STRING('%.{count - 1}e', {value})"


def _of_text(java: str) -> str:
    """Of a text such as 1.50000000000000e+300; Infinity and NaN have no power, and stay what they are."""
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
