"""Durations as texts, 1d2h3m4.5s: written and read by an engine, from the pieces in which engines differ."""

from __future__ import annotations

from collections.abc import Callable

_UNITS = {"w": 604_800e6, "d": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
_AMOUNT = "[0-9]+(?:[.][0-9]+)?"
_DURATION = "^-?" + "".join(f"(?:{_AMOUNT}{unit})?" for unit in _UNITS) + "\\z"


def parsed_duration(text: str, quoted: Callable[[str], str], matches: Callable[[str], str]) -> str:
    """Microseconds of a text such as 1h30m or -1.5s; NULL if it is none. `matches` tests the text by a pattern."""
    parts = []
    for unit, micros in _UNITS.items():
        behind = "(?:[^s]|\\z)" if unit == "m" else ""
        amount = f"REGEXP_EXTRACT({text}, {quoted(f'({_AMOUNT}){unit}{behind}')}, 1)"
        parts.append(f"COALESCE(TRY_CAST(NULLIF({amount}, '') AS DOUBLE), 0e0) * {micros!r}e0")
    sign = f"CASE WHEN {text} LIKE '-%' THEN -1e0 ELSE 1e0 END"
    whole = f"TRY_CAST(ROUND({sign} * ({' + '.join(parts)})) AS BIGINT)"
    return f"CASE WHEN {matches(_DURATION)} AND {matches('[0-9]')} THEN {whole} END"


def written_duration(micros: str, divided: Callable[[str, int], str], text: str, trimmed: Callable[[str], str]) -> str:
    """1d2h3m4.5s, without the parts that are zero. `divided` cuts towards zero, `trimmed` takes zeros from the end."""
    size = f"ABS({micros})"
    parts = [f"CASE WHEN {micros} < 0 THEN '-' ELSE '' END"]
    for unit, length, among in (("d", 86_400_000_000, 0), ("h", 3_600_000_000, 24), ("m", 60_000_000, 60)):
        count = divided(size, length) + (f" % {among}" if among else "")
        parts.append(f"CASE WHEN {count} > 0 THEN CAST({count} AS {text}) || '{unit}' ELSE '' END")
    rest = f"({size} % 60000000)"
    digits = trimmed(f"LPAD(CAST({rest} % 1000000 AS {text}), 6, '0')")
    seconds = (
        f"CAST({divided(rest, 1_000_000)} AS {text}) || CASE WHEN {rest} % 1000000 = 0 THEN '' ELSE '.' || {digits} END"
    )
    parts.append(f"CASE WHEN {rest} > 0 OR {micros} = 0 THEN {seconds} || 's' ELSE '' END")
    return f"({' || '.join(parts)})"
