"""Converts the columns of a data object back into rows. Their shapes determine what is missing, what is null, and the
order of fields.

Rows of one shape are built together, column by column, and then put in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lochan.pools import times
from lochan.pools.json_row import read_value
from lochan.pools.kinds import JSON, NULL, TIME
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, Layout, Member
from lochan.pools.shape import TEXT_TIME, Maybe, Object, Type, kind_of, sure

Row = dict[str, Any]
Column = Callable[[str], pa.Array]  # reads a column by its physical name
Read = Callable[[str], Any]  # parses a JSON text


def rows(table: pa.Table, shapes: Mapping[int, Object], layout: Layout) -> list[Row]:
    """Returns the rows of the table. Times are their texts, ints have any size, and a number that no double represents
    is a Decimal."""
    return _rows(table, shapes, layout, read_value)


def ndjson(table: pa.Table, shapes: Mapping[int, Object], layout: Layout) -> bytes:
    """Returns one row per line. NaN and the infinities, which JSON does not have, become null."""
    import orjson

    if layout.body:
        return b"".join(f"{text}\n".encode() for text in table[BODY_COLUMN].to_pylist())
    made = _rows(table, shapes, layout, orjson.Fragment)
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in made)


def _rows(table: pa.Table, shapes: Mapping[int, Object], layout: Layout, read: Read) -> list[Row]:
    if layout.body:
        return [read(text) for text in table[BODY_COLUMN].to_pylist()]
    table = table.combine_chunks()
    ids = table[SHAPE_COLUMN].to_numpy()
    made = np.empty(len(ids), dtype=object)
    for id in np.unique(ids):
        at = np.flatnonzero(ids == id)
        column = _columns_of(table, None if len(at) == len(ids) else pa.array(at))
        made[at] = _objects(shapes[int(id)], layout.members, column, len(at), read)
    found: list[Row] = made.tolist()
    return found


def _columns_of(table: pa.Table, at: pa.Array | None) -> Column:
    """Returns a reader of columns for these rows only. It reads a column when it is needed: a shape may use two of a
    thousand."""

    def column(name: str) -> pa.Array:
        whole = table[name] if at is None else table[name].take(at)
        return whole.combine_chunks()

    return column


def _objects(shape: Object, members: Iterable[Member], column: Column, count: int, read: Read) -> list[Row]:
    by_name = {member.name: member for member in members}
    names = shape.names()
    if not names:
        return [{} for _ in range(count)]
    values = [_values(type, by_name[name], column, count, read) for name, type in shape.fields]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _values(type: Type, member: Member, column: Column, count: int, read: Read) -> Sequence[Any]:
    """Returns the values of one member. A NULL is null. A type that is never null has no NULL, except below an object
    that is null itself."""
    kind, there = kind_of(type), sure(type)
    if kind == NULL:
        return [None] * count
    own = member.alternate(kind)
    if isinstance(there, Object) and own is not None:
        objects = _objects(there, own.members, _members_of(column, own.column), count, read)
        return _where_valid(objects, column(own.column)) if isinstance(type, Maybe) else objects
    if own is None or kind == JSON:
        text = member.alternate(JSON)
        assert text is not None, f"{member.name} has no column for {kind}"
        return [None if each is None else read(each) for each in column(text.column).to_pylist()]
    if there == TEXT_TIME:
        texts: list[Any] = column(own.original).to_pylist()
        return texts
    values = column(own.column)
    if kind == TIME:
        assert isinstance(there, str)
        values = times.render_all(values, there.partition(":")[2])
    found: list[Any] = values.to_pylist()
    return found


def _where_valid(objects: list[Row], column: pa.Array) -> list[Row | None]:
    made = np.array(objects, dtype=object)
    made[column.is_null().to_numpy(zero_copy_only=False)] = None
    found: list[Row | None] = made.tolist()
    return found


def _members_of(column: Column, name: str) -> Column:
    def member(inner: str) -> pa.Array:
        whole: pa.StructArray = column(name)
        return whole.field(inner)

    return member
