"""A key for rows that nobody has named one for: a time that most of them have, for rows are asked for by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from lochan.formats.pool_settings import Path, path_text
from lochan.pools import times
from lochan.pools.json_row import Row

MOST = 0.9  # of the rows must have it
_NAMES = ("ts", "_ts", "time", "_time", "timestamp", "@timestamp", "datetime", "date", "event_time", "created_at")
_TEXT, _NUMBER = "text", "number"


def suggest(rows: Sequence[Row]) -> str:
    """As it is written on the command line, such as `ts:time`; empty: nothing suggests itself."""
    seen = Counter(found for row in rows for found in _candidates(row))
    often = [found for found, count in seen.items() if count >= MOST * len(rows)]
    if not often:
        return ""
    path, kind = min(often, key=lambda found: (_rank(found[0]), found[1] == _NUMBER))
    return path_text(path) + (":time" if kind == _TEXT else "")


def _candidates(row: Row, above: Path = ()) -> Iterator[tuple[Path, str]]:
    for name, value in row.items():
        path = (*above, name)
        if isinstance(value, dict):
            yield from _candidates(value, path)
        elif _is_time(value):
            yield path, _TEXT
        elif isinstance(value, int | float) and not isinstance(value, bool) and name.lower() in _NAMES:
            yield path, _NUMBER


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime) or (isinstance(value, str) and times.format_of(value) is not None)


def _rank(path: Path) -> tuple[int, int]:
    """Outer fields before inner ones, usual names before others; else as they come."""
    name = path[-1].lower()
    return len(path), _NAMES.index(name) if name in _NAMES else len(_NAMES)
