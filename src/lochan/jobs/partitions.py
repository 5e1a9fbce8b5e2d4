"""Splits rows of a table by the folders of their partitions, as Hive and Spark name them:
`year=2026/day=2026-11-01/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.ingest.hive_path import NOTHING

_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(1, 0x20)}


def check_partitions(schema: pa.Schema, names: Sequence[str]) -> None:
    """Raises Invalid for columns that cannot name a folder."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Invalid(f"partitionBy names {twice!r} twice")
    for name in names:
        if name not in schema.names:
            raise Invalid(f"the frame has no column {name!r} to be partitioned by", hint="nothing was written")
        type = schema.field(name).type
        if pa.types.is_nested(type) or pa.types.is_floating(type) or pa.types.is_binary(type):
            raise Invalid(f"the column {name!r} is {type}, which names no folder", hint="cast it, or leave it out")
    if len(names) == len(schema.names):
        raise Invalid("all columns are those of partitions, and the files would have none", hint="leave one out")


def by_partition(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yields the rows of each folder, without the columns that the folder names. Raises Invalid."""
    if not names:
        yield "", batch
        return
    rest = batch.select([name for name in batch.schema.names if name not in names])
    numbers, values = _number_rows([batch.column(name) for name in names])
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = order[start:end]
        parts = zip(names, values(rows[0]), strict=True)
        folder = "".join(f"{_escape(name)}={_text(name, value)}/" for name, value in parts)
        yield folder, rest if len(rows) == rest.num_rows else rest.take(pa.array(rows))


def _number_rows(columns: Sequence[pa.Array]) -> tuple[Any, Any]:
    """Returns a number for each row, equal where all of the columns are, and a function that returns the values of a
    row."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = pc.dictionary_encode(column, null_encoding="encode")
        both = numbers * (len(codes.dictionary) + 1) + codes.indices.to_numpy(zero_copy_only=False)
        numbers = np.unique(both, return_inverse=True)[1]
    return numbers, lambda row: [column[int(row)].as_py() for column in columns]


def _text(name: str, value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return _escape(_time(value))
    if value in ("", NOTHING):
        raise Invalid(f"{value!r} in the column {name!r} names no folder", hint="replace it by null or by another text")
    return _escape(str(value))


def _time(value: datetime) -> str:
    """Returns the time as Spark writes it, in UTC."""
    moment = value if value.tzinfo is None else value.astimezone(UTC)
    text = moment.replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if "." in text else text


def _escape(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)
