"""Columns in the paths of files, as Hive and Spark write them: `t/year=2026/day=2026-11-01/part-0.parquet`.

A column has the narrowest type that holds all of its values, by Spark's rules:

    int32, int64, decimal(n, 0)     whole numbers
    double                          numbers; string if an int among them would lose digits
    date, timestamp                 2026-11-01, 2026-11-01 10:00:00, in UTC
    string                          everything else
    NULL                            __HIVE_DEFAULT_PARTITION__, and files whose path lacks the column
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

NOTHING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"[+-]?[0-9]{1,38}", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?", re.ASCII)
_DOUBLE, _DATE, _MICROS, _STRING = pa.float64(), pa.date32(), pa.timestamp("us", "UTC"), pa.string()


@dataclass(frozen=True)
class PathColumns:
    """The columns in the paths of a set of files. Can be pickled."""

    below: str  # the prefix of paths that is ignored
    schema: pa.Schema

    def row(self, path: str) -> pa.RecordBatch:
        """Returns the columns of that file, as one row."""
        found = path_values(path, self.below)
        arrays = [pa.array([_value(found.get(each.name), each.type)], each.type) for each in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def path_columns(paths: Iterable[str], below: str = "") -> PathColumns:
    """Returns the columns of all files together, in the order of their first occurrence."""
    types: dict[str, pa.DataType | None] = {}
    for path in paths:
        for name, text in path_values(path, below).items():
            one = None if text is None else _type(text)
            types[name] = _common(types.get(name), one)
    return PathColumns(below, pa.schema([(name, type or _STRING) for name, type in types.items()]))


def path_values(path: str, below: str = "") -> dict[str, str | None]:
    """Returns the values as they are written. If a name occurs twice, the last one counts."""
    found: dict[str, str | None] = {}
    for folder in path.removeprefix(below).split("/")[:-1]:
        name, separator, value = folder.partition("=")
        if name and separator and value:
            found[unquote(name)] = None if value == NOTHING else unquote(value)
    return found


def with_path_columns(batch: pa.RecordBatch, row: pa.RecordBatch) -> pa.RecordBatch:
    """Appends the columns of the file's path to the batch. A column of the path replaces one of the same name, as in
    Spark."""
    names = [name for name in batch.schema.names if name not in row.schema.names]
    own = batch.select(names)
    more = [pa.repeat(column[0], batch.num_rows) for column in row.columns]
    return pa.RecordBatch.from_arrays([*own.columns, *more], schema=pa.schema([*own.schema, *row.schema]))


def _type(text: str) -> pa.DataType:
    if _WHOLE.fullmatch(text):
        number = int(text)
        if -(1 << 31) <= number < 1 << 31:
            return pa.int32()
        return pa.int64() if -(1 << 63) <= number < 1 << 63 else pa.decimal128(len(str(abs(number))), 0)
    if _NUMBER.fullmatch(text):
        return _DOUBLE
    for pattern, type in ((_DAY, _DATE), (_TIME, _MICROS)):
        if pattern.fullmatch(text) and _value(text, type) is not None:
            return type
    return _STRING


def _common(left: pa.DataType | None, right: pa.DataType | None) -> pa.DataType | None:
    """Returns a type for both. None stands for NULL alone. No digit is lost: types that would lose one become
    strings."""
    if left is None or right is None or left == right:
        return left or right
    if _DOUBLE in (left, right):
        return _DOUBLE if pa.int32() in (left, right) else _STRING
    if {left, right} == {_DATE, _MICROS}:
        return _MICROS
    widths = [_digits(each) for each in (left, right)]
    if 0 in widths:
        return _STRING
    if pa.types.is_decimal(left) or pa.types.is_decimal(right):
        return pa.decimal128(max(widths), 0)
    return pa.int64()


def _digits(type: pa.DataType) -> int:
    """Returns the greatest number of digits of a type of whole numbers, and 0 for any other type."""
    if pa.types.is_decimal(type):
        return int(type.precision)
    return {pa.int32(): 10, pa.int64(): 19}.get(type, 0)


def _value(text: str | None, type: pa.DataType) -> Any:
    """Converts a value. Returns None for a date or a time that does not exist."""
    if text is None or type == _STRING:
        return text
    if pa.types.is_decimal(type):
        return Decimal(text)
    if type == _DOUBLE:
        return float(text)
    try:
        if type == _DATE:
            return date.fromisoformat(text)
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if type == _MICROS else int(text)
    except ValueError:
        return None
