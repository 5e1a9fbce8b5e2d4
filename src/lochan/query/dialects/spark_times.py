"""Times and durations, as Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.pools import times
from lochan.query.dialects.durations import parsed_duration, written_duration
from lochan.query.dialects.form import RFC3339, Forms, in_years, named, plain, within_years
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


def duration_text(sql: str) -> str:
    return written_duration(
        sql, lambda of, by: f"({of} DIV {by})", "STRING", lambda of: f"TRIM(TRAILING '0' FROM {of})"
    )


def _parse_duration(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], lambda text: parsed_duration(text, quoted, lambda pattern: matches([text], (pattern,))))


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"DATE_FORMAT({arguments[0]}, {_java(options[0])})"


def _rfc3339(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Six digits of the fraction; the rest is cut off, not rounded."""
    text = arguments[0]
    cut = f"REGEXP_REPLACE(UPPER({text}), '([.][0-9]{{6}})[0-9]+', '$1')"
    zoned = matches([text], (r"([Zz]|[+-][0-9]{2}:[0-9]{2})\z",))
    rest = f"CASE WHEN {zoned} THEN '' WHEN LENGTH({text}) = 10 THEN 'T00:00:00Z' ELSE 'Z' END"
    time = in_years(f"TRY_CAST({cut} || {rest} AS TIMESTAMP)", text, "UNIX_MICROS")
    return f"CASE WHEN {matches([text], (RFC3339,))} THEN {time} END"


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
    "micros": named("UNIX_MICROS"),
    "from_micros": named("TIMESTAMP_MICROS"),
    "within_years": lambda arguments, options: let(arguments[0], within_years),
    "in_years": lambda arguments, options: in_years(arguments[0], arguments[1], "UNIX_MICROS"),
    "time_text": lambda arguments, options: time_text(arguments[0]),
    "duration_text": lambda arguments, options: duration_text(arguments[0]),
    "parse_duration": _parse_duration,
    "strftime": _strftime,
    "strptime": _strptime,
    "rfc3339": _rfc3339,
    "finer_digits": plain("TRIM(TRAILING '0' FROM REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1))"),
}
