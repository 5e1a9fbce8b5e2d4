"""The columns of a plan as columns of a frame: one for each field of the rows.

one kind                        its own type; objects are structs, lists arrays
a day, such as 2026-11-01       DATE, at the top of a row
inside of objects, several      ints and floats are DOUBLE, anything else is STRING
never anything but null         STRING
missing                         NULL, as null is
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lochan.pools.shape import ARRAY, FLOAT, INT, OBJECT, STRING, TIME
from lochan.query.dialects.spark_words import quoted as text_sql
from lochan.query.output.columns import Column
from lochan.query.output.typed import typed, typed_schema
from lochan.spark.planned import kinds, top_fields

_DAY = "YYYY-MM-DD"
_DAY_US = 86_400_000_000


def select_list(row: Column) -> list[str]:
    """In Spark's SQL, over the plan's columns."""
    return [f"{_top(column)} AS {name_sql(name)}" for name, column in top_fields(row)]


def name_sql(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def arrow_schema(row: Column) -> pa.Schema:
    """What `arrow` gives: the same types."""
    schema = typed_schema(row)
    days = _days(row)
    return pa.schema([(each.name, pa.date32() if each.name in days else _filled(each.type)) for each in schema])


def arrow(batch: pa.RecordBatch, row: Column) -> pa.RecordBatch:
    """The plan's columns, as they come from the embedded engine."""
    made, days, schema = typed(batch, row), _days(row), arrow_schema(row)
    arrays = [_day(array) if name in days else array for name, array in zip(schema.names, made.columns, strict=True)]
    return pa.RecordBatch.from_arrays(
        [
            array if array.type == each.type else array.cast(each.type)
            for array, each in zip(arrays, schema, strict=True)
        ],
        schema=schema,
    )


def _top(column: Column) -> str:
    value = _value(column)
    return f"DATE_FROM_UNIX_DATE(CAST(FLOOR(UNIX_MICROS({value}) / {_DAY_US}) AS INT))" if _is_day(column) else value


def _value(column: Column) -> str:
    there = kinds(column)
    if not there:
        return "CAST(NULL AS STRING)"
    if set(there) == {INT, FLOAT}:
        return f"COALESCE(CAST({_column(column, INT)} AS DOUBLE), {_column(column, FLOAT)})"
    if len(there) > 1:
        return f"COALESCE({', '.join(_text(column, kind) for kind in there)})"
    return _object(column) if there[0] == OBJECT else _column(column, there[0])


def _object(column: Column) -> str:
    members = ", ".join(f"{text_sql(name)}, {_value(each)}" for name, each in column.members)
    made = f"NAMED_STRUCT({members})" if members else "'{}'"
    flag = column.kinds[OBJECT]
    return f"CASE WHEN {name_sql(flag)} THEN {made} END" if flag else made


def _text(column: Column, kind: str) -> str:
    if kind == OBJECT:
        return f"TO_JSON({_object(column)})" if column.members else _object(column)
    if kind == ARRAY:
        return f"TO_JSON({_column(column, kind)})"
    return _column(column, kind) if kind == STRING else f"CAST({_column(column, kind)} AS STRING)"


def _column(column: Column, kind: str) -> str:
    return name_sql(column.kinds[kind])


def _is_day(column: Column) -> bool:
    return kinds(column) == [TIME] and column.format is not None and column.format.constant == _DAY


def _days(row: Column) -> frozenset[str]:
    return frozenset(name for name, column in top_fields(row) if _is_day(column))


def _day(times: pa.Array) -> pa.Array:
    days = pc.floor(pc.divide(times.cast(pa.int64()).cast(pa.float64()), float(_DAY_US)))
    return days.cast(pa.int32()).cast(pa.date32())


def _filled(type: pa.DataType) -> pa.DataType:
    """Spark writes no column of nothing."""
    if pa.types.is_null(type):
        return pa.string()
    if pa.types.is_list(type):
        return pa.list_(_filled(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(each.name, _filled(each.type)) for each in type])
    return pa.string() if pa.types.is_large_string(type) else type
