"""Rows as typed Arrow columns, for Parquet, Arrow and data frames: one column for each field.

one kind                     its own type; objects are structs, arrays lists, durations and times have units
decimals                     DECIMAL(38, s), if one holds them all; otherwise text
ints and floats              double; an int that no double equals is refused
several other kinds          JSON text, so that 1.5 and "1.5" stay apart
times with their texts       the same: a text may be more exact than microseconds
missing                      null"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Refused
from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, DURATION, FLOAT, INT, IP, JSON, NULL, OBJECT, STRING, TIME
from lochan.pools.shape import Array, Object, Type, kind_of
from lochan.query.output.columns import Column
from lochan.query.output.formats import cell_texts, fields
from lochan.query.output.texts import kind_texts

_TIME = pa.timestamp("us", "UTC")
_PLAIN = {BOOL: pa.bool_(), INT: pa.int64(), FLOAT: pa.float64(), STRING: pa.string(), TIME: _TIME}
WIDE = "wide"  # ints and floats as decimals, for callers that have made one column of the two
_TEXTS = {JSON: pa.string(), DECIMAL: pa.string(), IP: pa.string()}
_TYPES = {**_PLAIN, **_TEXTS, WIDE: pa.decimal128(38, 19), DURATION: pa.duration("us")}


def typed_schema(row: Column) -> pa.Schema:
    """Returns the schema, which is the same for all batches of a result, whatever they hold. Raises Refused for rows
    that make no table."""
    return pa.schema([pa.field(name, _type(column)) for name, column in fields(row)])


def json_texts(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Returns the column of one field, with NULL where it is null or missing."""
    found = [kind_texts(batch, kind, column.kinds[kind], column) for kind in _kinds(column)]
    return pc.coalesce(*found)


def typed_batch(batch: pa.RecordBatch, row: Column) -> pa.RecordBatch:
    schema = typed_schema(row)
    arrays = [_values(batch, name, column) for name, column in fields(row)]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(batch), pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def typed_batches(batches: Iterable[pa.RecordBatch], row: Column) -> Iterator[pa.RecordBatch]:
    return (typed_batch(batch, row) for batch in batches)


def is_text(column: Column) -> bool:
    """Returns whether only the type of texts can hold all of its values."""
    kinds = _kinds(column)
    if kinds == [TIME]:
        return column.format is not None and bool(column.format.original)
    return len(kinds) > 1 and set(kinds) != {INT, FLOAT}


def _kinds(column: Column) -> list[str]:
    return [kind for kind in column.kinds if kind != NULL]


def _type(column: Column) -> pa.DataType:
    kinds = _kinds(column)
    if not kinds:
        return pa.null()
    if set(kinds) == {INT, FLOAT}:
        return pa.float64()
    if is_text(column):
        return pa.string()
    if kinds[0] == OBJECT:
        return (
            pa.struct([pa.field(name, _type(each)) for name, each in column.members]) if column.members else pa.string()
        )
    if kinds[0] == ARRAY:
        return pa.list_(_element(column.element))
    if kinds[0] == DECIMAL and column.scale is not None:
        return pa.decimal128(38, column.scale)
    return _TYPES[kinds[0]]


def _element(type: Type | None) -> pa.DataType:
    if isinstance(type, Object):
        return pa.struct([pa.field(name, _element(each)) for name, each in type.fields])
    if isinstance(type, Array):
        return pa.list_(_element(type.of))
    return pa.null() if type is None or type == NULL else _TYPES[kind_of(type)]


def not_exact(name: str) -> str:
    """Returns the reason why a column has no single type."""
    return (
        f"`{name}` holds ints beside floats, and no double is exactly this int; take ndjson, or choose one kind, "
        f"such as int64({name}) or float64({name})"
    )


def _doubles(name: str, whole: pa.Array, real: pa.Array) -> pa.Array:
    """Joins ints and floats as doubles. Raises Refused for an int that no double equals."""
    made = whole.cast(pa.float64(), safe=False)
    wrong = pc.filter(whole, pc.not_equal(made.cast(pa.decimal128(38, 0)), whole.cast(pa.decimal128(38, 0))))
    if len(wrong):
        raise Refused(f"{not_exact(name)}: {wrong[0].as_py()}")
    return pc.coalesce(made, real)


def _values(batch: pa.RecordBatch, name: str, column: Column) -> pa.Array:
    kinds, type = _kinds(column), _type(column)
    if not kinds:
        return pa.nulls(len(batch))
    if set(kinds) == {INT, FLOAT}:
        return _doubles(name, batch.column(column.kinds[INT]), batch.column(column.kinds[FLOAT]))
    if is_text(column):
        return json_texts(batch, column).cast(pa.string())
    if kinds[0] in (IP, JSON) or (kinds[0] == OBJECT and not column.members):
        return cell_texts(batch, column).cast(pa.string())
    if kinds[0] == OBJECT:
        return _structs(batch, column, type)
    values = batch.column(column.kinds[kinds[0]])
    if pa.types.is_duration(type) and pa.types.is_integer(values.type):  # Arrow makes durations only of 64 bits
        values = values.cast(pa.int64())
    return values.cast(type)


def _structs(batch: pa.RecordBatch, column: Column, type: pa.DataType) -> pa.Array:
    arrays = [_values(batch, name, each) for name, each in column.members]
    flag = column.kinds[OBJECT]
    mask = pc.invert(pc.fill_null(batch.column(flag), False)) if flag else None
    return pa.StructArray.from_arrays(arrays, fields=list(type), mask=mask)
