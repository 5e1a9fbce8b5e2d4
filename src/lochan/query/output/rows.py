"""Rows as Python values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from lochan.pools.json_row import read_value
from lochan.pools.shape import JSON
from lochan.query.output.columns import Column
from lochan.query.output.texts import DECIMAL, texts


def rows(batch: pa.RecordBatch, row: Column) -> Iterator[Any]:
    """As a JSON reader gives them; ints of any size, and times as they were written."""
    read = read_value if _has_texts(row) else orjson.loads
    for text in texts(batch, row).to_pylist():
        yield read(text)


def _has_texts(row: Column) -> bool:
    """Only in texts that were kept as they came numbers can be that a double does not hold."""
    return (
        row.body is not None
        or bool({JSON, DECIMAL} & set(row.kinds))
        or any(_has_texts(member) for _, member in row.members)
    )
