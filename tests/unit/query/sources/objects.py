"""Data objects made by hand from rows, in the layout of `pools/layout.py`, and a snapshot of them, without a lake."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools import keys
from lochan.pools.facts import ColumnFacts, Facts, ShapeFacts, to_metadata
from lochan.pools.kinds import ARRAY, BOOL, FLOAT, INT, JSON, OBJECT, STRING
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, Alternate, Layout, Member, column_type, lay_out
from lochan.pools.shape import Array, Object, Type, kind_of, number_shapes
from lochan.pools.shape import type_of as shape_of
from lochan.pools.snapshot import Owner, Snapshot

BY_K = PoolSettings((PoolKey(("k",)),))
Row = Mapping[str, Any]
_TYPES = {BOOL: pa.bool_(), INT: pa.int64(), FLOAT: pa.float64(), STRING: pa.string(), JSON: pa.string()}
_SCALARS = (BOOL, INT, FLOAT, STRING)


def snapshot(folder: Path, *objects: Sequence[Row], settings: PoolSettings = BY_K) -> Snapshot:
    """A snapshot of these objects, each with its rows."""
    entries = [write(folder, f"o{number}", rows, settings) for number, rows in enumerate(objects, 1)]
    return Snapshot([Owner("logs", "c" * 64)], settings, [table_of(entries)])


def write(folder: Path, id: str, rows: Sequence[Row], settings: PoolSettings) -> Entry:
    shapes = [shape_of(dict(row)) for row in rows]
    dictionary = number_shapes(shape for shape in shapes if isinstance(shape, Object))
    layout = lay_out(dictionary.values(), [key.path for key in settings.keys])
    table = _table(rows, [next(n for n, each in dictionary.items() if each == shape) for shape in shapes], layout)
    pq.write_table(table, folder / id)
    facts = _facts(rows, shapes, dictionary, layout, table, settings)
    size = (folder / id).stat().st_size
    metadata = to_metadata(facts)
    return Entry(f"{id}.parquet", (Block(id, 0, size, b"s" * 32),), size, "", "", 0, metadata=metadata)


def _table(rows: Sequence[Row], ids: Sequence[int], layout: Layout) -> pa.Table:
    columns: dict[str, pa.Array] = {SHAPE_COLUMN: pa.array(ids, pa.int32())}
    for member in layout.members:
        values = [_at(row, member.name, layout.body) for row in rows]
        for alternate in member.alternates:
            if alternate.column:
                cells = [_cell(value, alternate) for value in values]
                columns[alternate.column] = pa.array(cells, _arrow(column_type(alternate)))
    if layout.body:
        columns[BODY_COLUMN] = pa.array([json.dumps(row) for row in rows])
    return pa.table(columns)


def _at(row: Row, name: str, body: bool) -> Any:
    value: Any = row
    for part in name.split(".") if body else [name]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _cell(value: Any, alternate: Alternate) -> Any:
    kind = kind_of(shape_of(value))
    if alternate.kind == JSON:
        return json.dumps(value) if kind in (OBJECT, ARRAY, JSON) else None
    if kind != alternate.kind:
        return None
    return _struct(value, alternate.members) if kind == OBJECT else value


def _struct(value: Row, members: Iterable[Member]) -> dict[str, Any]:
    return {
        each.column: _cell(value.get(member.name), each)
        for member in members
        for each in member.alternates
        if each.column
    }


def _arrow(type: Type) -> pa.DataType:
    if isinstance(type, Object):
        return pa.struct([(name, _arrow(each)) for name, each in type.fields])
    if isinstance(type, Array):
        assert type.of is not None
        return pa.list_(_arrow(type.of))
    assert isinstance(type, str)
    return _TYPES[type]


def _facts(
    rows: Sequence[Row],
    shapes: Sequence[Type],
    dictionary: Mapping[int, Object],
    layout: Layout,
    table: pa.Table,
    settings: PoolSettings,
) -> Facts:
    paths = [key.path for key in settings.keys]
    encoded = [[_at(row, ".".join(path), True) for path in paths] for row in rows]
    keyed = sorted(keys.encode(values, settings) for values in encoded if None not in values)
    return Facts(
        len(rows),
        len(rows) - len(keyed),
        keyed[0] if keyed else b"",
        keyed[-1] if keyed else b"",
        tuple(ShapeFacts(id, shape, shapes.count(shape)) for id, shape in dictionary.items()),
        tuple(_columns(layout.members, rows)) if not layout.body else (),
        layout.body,
        sorted=False,
        keys=tuple(paths),
    )


def _columns(members: Iterable[Member], rows: Iterable[Row], above: tuple[str, ...] = ()) -> Iterable[ColumnFacts]:
    rows = list(rows)
    for member in members:
        values = [row.get(member.name) for row in rows]
        for each in member.alternates:
            if each.kind == OBJECT:
                inner = [value for value in values if isinstance(value, Mapping)]
                yield from _columns(each.members, inner, (*above, each.column))
            elif each.kind in _SCALARS:
                found: list[Any] = [value for value in values if kind_of(shape_of(value)) == each.kind]
                bounds = (min(found), max(found)) if found else (None, None)
                yield ColumnFacts((*above, each.column), each.kind, len(found), *bounds)
