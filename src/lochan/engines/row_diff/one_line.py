"""A value as the one text that all equal values have: names in order, no spaces, numbers as columns write them.

For rows that are kept as text; those in columns are written together (`lines.py`), and must come out just the same.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite, isnan
from typing import Any

import orjson
import pyarrow as pa

from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.query.output.texts import float_texts


def one_line(value: Any) -> str:
    """Of a value as an exact reader gives it (`pools/json_row.py`)."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return _float(value)
        case str():
            return quoted(value)
        case dict():
            return "{" + ",".join(f"{quoted(name)}:{one_line(value[name])}" for name in sorted(value)) + "}"
        case list():
            return "[" + ",".join(map(one_line, value)) + "]"
        case datetime():
            return quoted(times.render(times.micros_of(value), times.NATIVE))
        case date():
            return quoted(value.isoformat())
    raise TypeError(f"a row cannot hold a {type(value).__name__}")


def at(value: Any, path: Path) -> Any:
    """None for what is missing, as for null."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def word(value: float) -> str:
    """Of what JSON has no word for, and columns must tell apart."""
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


@lru_cache(10_000)
def _float(value: float) -> str:
    return float_texts(pa.array([value]))[0].as_py() if isfinite(value) else word(value)
