"""Tables of rows that are kept as text, with columns for the values of the key, for sorting and statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from lochan.engines.duckdb.load.columns import kind_at
from lochan.engines.duckdb.load.key_order import text_column
from lochan.engines.duckdb.load.shape_inference import InferredRow
from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.pools.json_row import row_text
from lochan.pools.kinds import ARRAY, BOOL, FLOAT, INT, JSON, OBJECT, SCALARS, STRING, TIME
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, Layout, body_layout
from lochan.pools.shape import TEXT_TIME, Object, Type, type_at

_OTHERS = (OBJECT, ARRAY, JSON)
_TYPES = {
    BOOL: pa.bool_(),
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    TIME: pa.timestamp("us", "UTC"),
}


def text_layout(keys: Sequence[Path]) -> Layout:
    """Returns a layout with columns for all kinds of the key."""
    types = (*(kind for kind in SCALARS if kind != TIME), TEXT_TIME)
    return body_layout([_at(path, type) for path in keys for type in types], keys)


def text_table(inferred: Sequence[InferredRow], ids: Iterable[int], keys: Sequence[Path]) -> pa.Table:
    arrays: dict[str, pa.Array] = {
        SHAPE_COLUMN: pa.array(ids, pa.int32()),
        BODY_COLUMN: pa.array([row_text(each.row) for each in inferred], pa.string()),
    }
    layout = text_layout(keys)
    paths = {".".join(path): path for path in keys}
    for member in layout.members:
        path = paths[member.name]
        kinds = [kind_at(each.shape, path) for each in inferred]
        values = [
            _value(each.row, path) if kind in SCALARS else None for each, kind in zip(inferred, kinds, strict=True)
        ]
        for alternate in member.alternates:
            mine = [value if kind == alternate.kind else None for value, kind in zip(values, kinds, strict=True)]
            arrays[alternate.column] = _array(mine, alternate.kind)
            if alternate.original:
                types = [type_at(each.shape, path) for each in inferred]
                texts = [value if type == TEXT_TIME else None for value, type in zip(values, types, strict=True)]
                arrays[alternate.original] = pa.array(texts, pa.string())
        arrays[text_column(path)] = pa.array(
            [
                row_text(_value(each.row, path)) if kind in _OTHERS else None
                for each, kind in zip(inferred, kinds, strict=True)
            ],
            pa.string(),
        )
    return pa.table(arrays)


def _at(path: Path, type: Type) -> Object:
    inner = Object(((path[-1], type),))
    for name in reversed(path[:-1]):
        inner = Object(((name, inner),))
    return inner


def _value(row: Any, path: Path) -> Any:
    for name in path:
        row = row[name]
    return row


def _array(values: list[Any], kind: str) -> pa.Array:
    if kind == TIME:
        micros = [_micros_in(value) if isinstance(value, str) else _micros(value) for value in values]
        return pa.array(micros, pa.int64()).cast(_TYPES[TIME])
    return pa.array(values, _TYPES[kind])


def _micros_in(text: str) -> int:
    micros = times.micros_in(text)
    return times.parse(text) if micros is None else micros


def _micros(value: date | None) -> int | None:
    return None if value is None else times.micros_of(value)
