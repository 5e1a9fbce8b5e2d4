"""A value as the one text that all equal values have: names in order, no spaces, numbers as columns write them.

For rows that are kept as text; those in columns are written together (`lines.py`), and must come out just the same.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite, isnan
from typing import Any

import orjson
import pyarrow as pa

from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.pools.json_row import read_value
from lochan.query.output.texts import float_texts

_LEAST, _GREATEST = 1e-4, 1e9
_EXACT = re.compile(r"[0-9][.eE]|[0-9]{18}")  # perhaps a number that must be read with care; perhaps only in a string


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


def of_text(text: str) -> str:
    """`one_line` of what a JSON text says. Where there is neither a fraction nor a long number in it orjson writes the
    same, three times as fast."""
    if _EXACT.search(text):
        return one_line(read_value(text))
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()


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


def _float(value: float) -> str:
    """As Arrow writes it, which has no exponent in the middle of its range, as Python has none."""
    return repr(value) if _LEAST <= abs(value) < _GREATEST else _arrow_float(value)


@lru_cache(10_000)
def _arrow_float(value: float) -> str:
    return float_texts(pa.array([value]))[0].as_py() if isfinite(value) else word(value)
