"""Rows of a data object as they were stored, so that they can be stored again with another value in some field. Every
value has its own kind, a missing field stays missing, and a time keeps its text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.errors import Refused
from lochan.formats.pool_settings import Path
from lochan.pools.decode import rows
from lochan.pools.forms import Form
from lochan.pools.json_row import Row
from lochan.pools.kinds import TIME
from lochan.pools.layout import SHAPE_COLUMN
from lochan.pools.shape import Array, Object, Type, kind_of, sure

_NATIVE, _DAY = f"{TIME}:native", f"{TIME}:YYYY-MM-DD"


def stored_rows(
    path: str, form: Form, numbers: Sequence[int], times: Collection[Path]
) -> Iterator[list[tuple[int, Row]]]:
    """Yields the rows of these numbers, some at a time, each with its number. `numbers` ascend; `times` are the fields
    that the pool declares as times. Raises Refused for a value that could not be stored again unchanged."""
    wanted, begin = np.asarray(numbers, dtype=np.int64), 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            low, high = np.searchsorted(wanted, [begin, begin + batch.num_rows])
            if low < high:
                here = wanted[low:high]
                table = pa.Table.from_batches([batch.take(pa.array(here - begin))])
                yield list(zip(here.tolist(), _typed_rows(table, form, times), strict=True))
            begin += batch.num_rows


def _typed_rows(table: pa.Table, form: Form, times: Collection[Path]) -> list[Row]:
    found = rows(table, form.shapes, form.layout)
    if form.body:
        return found
    shapes = [form.shapes[id] for id in table[SHAPE_COLUMN].to_pylist()]
    return [_typed_value(row, shape, (), times) for row, shape in zip(found, shapes, strict=True)]


def _typed_value(value: Any, type: Type, path: Path | None, times: Collection[Path]) -> Any:
    """Returns the value as a row has it. Rows have times as texts, and a text becomes a time again only where the pool
    declares one. `path` is None in lists."""
    there = sure(type)
    if value is None:
        return None
    if isinstance(there, Object):
        return {name: _typed_value(value[name], of, _path_below(path, name), times) for name, of in there.fields}
    if isinstance(there, Array):
        return value if there.of is None else [_typed_value(each, there.of, None, times) for each in value]
    return _time(value, there, path, times) if kind_of(there) == TIME else value


def _path_below(path: Path | None, name: str) -> Path | None:
    return None if path is None else (*path, name)


def _time(value: Any, type: Type, path: Path | None, times: Collection[Path]) -> Any:
    try:
        if type == _NATIVE:
            return value if isinstance(value, datetime) else datetime.fromisoformat(value)
        if type == _DAY:
            return value.date() if isinstance(value, datetime) else date.fromisoformat(value)
    except ValueError:  # a year that Python does not support
        pass
    if path in times:
        return value
    name = ".".join(path) if path else "a list"
    raise Refused(
        f"a time in {name} ({value}) cannot be kept beside the value that the row gets",
        hint="nothing was changed; delete the row, and insert it with its new values",
    )
