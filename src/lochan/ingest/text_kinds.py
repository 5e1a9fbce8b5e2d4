"""The kind of values that are written as texts, such as those of a column of CSV or an element of XML.

If all of them are bools, ints, or numbers that a float represents exactly, they have that kind; else they are strings.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import pyarrow as pa

from lochan.pools.json_row import exact_number

NONE, BOOLS, INTS, LARGE_INTS, FLOATS, STRINGS = range(6)
_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1
_FLOAT_INT_MAX = 1 << 53  # a float may not represent an int beyond it exactly


def kind_of_text(text: str) -> int:
    if not text:
        return NONE
    if text in ("true", "false"):
        return BOOLS
    if _INT.fullmatch(text) and len(text) < 21 and _INT_MIN <= int(text) <= _INT_MAX:
        return INTS if abs(int(text)) <= _FLOAT_INT_MAX else LARGE_INTS
    if _FLOAT.fullmatch(text) and len(text) < 400 and isinstance(exact_number(text), float):
        return FLOATS
    return STRINGS


def common_kind(left: int, right: int) -> int:
    if NONE in (left, right) or left == right:
        return max(left, right)
    kinds = {left, right}
    if kinds == {INTS, LARGE_INTS}:
        return LARGE_INTS
    return FLOATS if kinds == {INTS, FLOATS} else STRINGS


def value_of(kind: int, text: str) -> Any:
    if kind == BOOLS:
        return text == "true"
    if kind in (INTS, LARGE_INTS):
        return int(text)
    return float(text) if kind == FLOATS else text


def column_kind(column: pa.Array) -> int:
    """Returns the kind of a column of texts, in which an empty text is a string and not null."""
    texts = (each for each in column.to_pylist() if each is not None)
    return reduce(common_kind, (kind_of_text(each) or STRINGS for each in texts), NONE)


def as_kind(kind: int, column: pa.Array) -> pa.Array:
    if kind in (NONE, STRINGS):
        return column
    type = {BOOLS: pa.bool_(), INTS: pa.int64(), LARGE_INTS: pa.int64(), FLOATS: pa.float64()}[kind]
    return pa.array([None if each is None else value_of(kind, each) for each in column.to_pylist()], type)
