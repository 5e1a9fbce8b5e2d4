"""Times and durations, as Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.query.dialects.durations import parsed_duration, written_duration
from lochan.query.dialects.form import RFC3339, Forms, named, plain
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
    return (
        f"(DATE_FORMAT({sql}, {_java('%Y-%m-%dT%H:%M:%S')}) || CASE WHEN UNIX_MICROS({sql}) % 1000000 = 0 THEN '' ELSE "
        f"TRIM(TRAILING '0' FROM DATE_FORMAT({sql}, '.SSSSSS')) END || 'Z')"
    )


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
    return f"CASE WHEN {matches([text], (RFC3339,))} THEN TRY_CAST({cut} AS TIMESTAMP) END"


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
    "time_text": lambda arguments, options: time_text(arguments[0]),
    "duration_text": lambda arguments, options: duration_text(arguments[0]),
    "parse_duration": _parse_duration,
    "strftime": _strftime,
    "strptime": _strptime,
    "rfc3339": _rfc3339,
    "finer_digits": plain("TRIM(TRAILING '0' FROM REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1))"),
}
