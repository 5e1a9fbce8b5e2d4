"""The columns of a plan as columns of a frame: one for each field of the rows.

one kind                        its own type; objects are structs, lists arrays
a day, such as 2026-11-01       DATE, at the top of a row and inside of objects and lists
ints and floats                 DOUBLE; DECIMAL(38, 19) where that would round an int (`wide_numbers`)
decimals                        DECIMAL(38, s), where one holds them all; otherwise STRING
several other kinds             STRING, a JSON text, so that 1.5 and "1.5" stay apart
never anything but null         STRING
missing                         NULL, like null"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from lochan.engines.spark.frames.read_plan import kinds, top_fields
from lochan.engines.spark.frames.wide_numbers import decimal_sql, decimals
from lochan.pools.json_row import row_text
from lochan.pools.kinds import ARRAY, DECIMAL, FLOAT, INT, JSON, NULL, OBJECT, TIME
from lochan.pools.shape import Array, Object, Path, Type
from lochan.query.dialects.decimals import REFUSAL
from lochan.query.dialects.spark import FORMS
from lochan.query.dialects.spark_texts import time_in_format
from lochan.query.dialects.spark_words import name_sql
from lochan.query.dialects.spark_words import quote_text as text_sql
from lochan.query.output.columns import Column
from lochan.query.output.typed import WIDE, is_text, not_exact, typed_batch, typed_schema

_DAY = "YYYY-MM-DD"
_DAY_US = 86_400_000_000
_DATE = pa.date32()


def select_list(row: Column, wide: Collection[Path] = ()) -> list[str]:
    """Returns Spark's SQL over the plan's columns. Fields that are `wide` are decimals."""
    return [f"{_value((name,), column, wide)} AS {name_sql(name)}" for name, column in top_fields(row)]


def arrow_schema(row: Column, wide: Collection[Path] = ()) -> pa.Schema:
    """Returns the types of the columns that `arrow` returns."""
    schema = typed_schema(_widen(row, wide, []))
    return pa.schema(
        [
            (each.name, _null_as_text(_dated_type(each.type, column)))
            for each, (_, column) in zip(schema, top_fields(row), strict=True)
        ]
    )


def arrow(batch: pa.RecordBatch, row: Column, wide: Collection[Path] = ()) -> pa.RecordBatch:
    """Converts the plan's columns, as they come from the embedded engine."""
    pairs: list[Pair] = []
    widened, schema = _widen(row, wide, pairs), arrow_schema(row, wide)
    for pair in pairs:
        both = decimals(pair.name, batch.column(pair.whole), batch.column(pair.real))
        batch = batch.append_column(pair.column, both)
    made = typed_batch(batch, widened)
    columns = [column for _, column in top_fields(row)]
    arrays = [_as_dates(array, column) for array, column in zip(made.columns, columns, strict=True)]
    return pa.RecordBatch.from_arrays(
        [
            array if array.type == each.type else array.cast(each.type)
            for array, each in zip(arrays, schema, strict=True)
        ],
        schema=schema,
    )


class Pair(NamedTuple):
    """Two columns of a plan, ints and floats, that become one."""

    name: str  # the name of the field
    whole: str
    real: str

    @property
    def column(self) -> str:
        return f"{self.whole} {self.real} decimal"


def _widen(row: Column, wide: Collection[Path], pairs: list[Pair], above: Path = ()) -> Column:
    """Returns the row with one column in place of each pair, and adds the pairs to `pairs`."""
    members = []
    for name, column in row.members:
        path = (*above, name)
        if path in wide:
            pair = Pair(name, column.kinds[INT], column.kinds[FLOAT])
            pairs.append(pair)
            rest = {kind: each for kind, each in column.kinds.items() if kind not in (INT, FLOAT)}
            members.append((name, replace(column, kinds={WIDE: pair.column, **rest})))
        else:
            members.append((name, _widen(column, wide, pairs, path)))
    return replace(row, members=tuple(members))


def _value(path: Path, column: Column, wide: Collection[Path]) -> str:
    there = kinds(column)
    if not there:
        return "CAST(NULL AS STRING)"
    if is_day(column):
        return _day_sql(_column(column, TIME))
    if path in wide:
        return decimal_sql(path[-1], _column(column, INT), _column(column, FLOAT))
    if set(there) == {INT, FLOAT}:
        return f"COALESCE({_exact_double(path[-1], _column(column, INT))}, {_column(column, FLOAT)})"
    if is_text(column):
        return f"COALESCE({', '.join(_json(column, kind) for kind in there)}, NULL)"
    if there[0] == ARRAY:
        return _with_days_sql(_column(column, ARRAY), Array(column.element))
    if there[0] == DECIMAL and column.scale is not None:
        return f"CAST({_column(column, DECIMAL)} AS DECIMAL(38, {column.scale}))"
    return _object(path, column, wide) if there[0] == OBJECT else _column(column, there[0])


def _day_sql(time: str) -> str:
    return f"DATE_FROM_UNIX_DATE(CAST(FLOOR(UNIX_MICROS({time}) / {_DAY_US}) AS INT))"


def _with_days_sql(value: str, type: Type | None, depth: int = 0) -> str:
    """Converts the items of a list: Spark has days as times."""
    if not _has_day(type):
        return value
    if isinstance(type, Array):
        each = f"e{depth}"
        return f"TRANSFORM({value}, {each} -> {_with_days_sql(each, type.of, depth + 1)})"
    if isinstance(type, Object):
        members = [f"{text_sql(name)}, {_with_days_sql(f'{value}.{name_sql(name)}', of)}" for name, of in type.fields]
        return f"CASE WHEN {value} IS NOT NULL THEN NAMED_STRUCT({', '.join(members)}) END"
    return _day_sql(value)


def _has_day(type: Type | None) -> bool:
    if isinstance(type, Array):
        return _has_day(type.of)
    if isinstance(type, Object):
        return any(_has_day(each) for _, each in type.fields)
    return type == f"{TIME}:{_DAY}"


def _exact_double(name: str, whole: str) -> str:
    """Returns the double, if it is the same number. Beyond 64 bits the cast back gives NULL, which is never the
    same."""
    back = f"TRY_CAST(CAST({whole} AS DOUBLE) AS BIGINT)"
    message = text_sql(f"{REFUSAL}{not_exact(name)}: ")
    failed = f"CAST(RAISE_ERROR(CONCAT({message}, {whole})) AS DOUBLE)"
    return f"CASE WHEN {whole} IS NULL OR {back} = {whole} THEN CAST({whole} AS DOUBLE) ELSE {failed} END"


def _object(path: Path, column: Column, wide: Collection[Path]) -> str:
    members = ", ".join(f"{text_sql(name)}, {_value((*path, name), each, wide)}" for name, each in column.members)
    made = f"NAMED_STRUCT({members})" if members else "'{}'"
    flag = column.kinds[OBJECT]
    return f"CASE WHEN {name_sql(flag)} THEN {made} END" if flag else made


def _json(column: Column, kind: str) -> str:
    if kind == OBJECT:
        flag = column.kinds[OBJECT]
        made = _object_json(column)
        return f"CASE WHEN {name_sql(flag)} THEN {made} END" if flag else made
    if kind == ARRAY:
        return FORMS["array_json"]([_column(column, kind)], (column.element,))
    if kind == TIME:
        return f"('\"' || {_time_text(column)} || '\"')"
    if kind == JSON:
        return _column(column, kind)
    return FORMS["scalar_json"]([_column(column, kind)], (kind,))


def _object_json(column: Column) -> str:
    members = [f"{text_sql(row_text(name) + ':')} || {_member_json(each)}" for name, each in column.members]
    return f"('{{' || CONCAT_WS(',', {', '.join(members)}) || '}}')" if members else "'{}'"


def _member_json(column: Column) -> str:
    """Returns the JSON of a member, with NULL where it is missing."""
    found = [_json(column, kind) for kind in kinds(column)]
    if NULL in column.kinds:
        flag = column.kinds[NULL]
        found.append(f"CASE WHEN {name_sql(flag)} THEN 'null' END" if flag else "'null'")
    if column.nothing == NULL:
        found.append("'null'")
    return f"COALESCE({', '.join(found)}, NULL)" if found else "CAST(NULL AS STRING)"


def _time_text(column: Column) -> str:
    sql, format = _column(column, TIME), column.format
    if format is None:
        return time_in_format(sql, "")
    made = time_in_format(sql, format.constant)
    if format.column:
        shape, formats = name_sql(format.column), format.by_number.items()
        arms = [f"WHEN {shape} = {number} THEN {time_in_format(sql, each)}" for number, each in formats]
        made = f"CASE {' '.join(arms)} ELSE {made} END" if arms else made
    return f"COALESCE({name_sql(format.original)}, {made})" if format.original else made


def _column(column: Column, kind: str) -> str:
    return name_sql(column.kinds[kind])


def is_day(column: Column) -> bool:
    return kinds(column) == [TIME] and column.format is not None and column.format.constant == _DAY


def _dated_type(type: pa.DataType, column: Column, day: pa.DataType = _DATE) -> pa.DataType:
    """Returns the type with `day` in place of days."""
    if is_day(column):
        return day
    if kinds(column) == [ARRAY]:
        return _dated_element(type, Array(column.element), day)
    if pa.types.is_struct(type):
        members = zip(type, (each for _, each in column.members), strict=True)
        return pa.struct([(field.name, _dated_type(field.type, each, day)) for field, each in members])
    return type


def _dated_element(type: pa.DataType, of: Type | None, day: pa.DataType) -> pa.DataType:
    if not _has_day(of):
        return type
    if isinstance(of, Array):
        return pa.list_(_dated_element(type.value_type, of.of, day))
    if isinstance(of, Object):
        members = zip(type, of.fields, strict=True)
        return pa.struct([(field.name, _dated_element(field.type, each, day)) for field, (_, each) in members])
    return day


def _as_dates(array: pa.Array, column: Column) -> pa.Array:
    """Converts days to dates, at every level. They are counted in whole numbers, because the microseconds of distant
    ones exceed what a double counts exactly."""
    dated = _dated_type(array.type, column)
    if dated == array.type:
        return array
    return array.cast(_dated_type(array.type, column, pa.timestamp("us"))).cast(dated, safe=False)


def _null_as_text(type: pa.DataType) -> pa.DataType:
    """Makes a column that is always null a text, because Spark cannot write columns without a type."""
    if pa.types.is_null(type):
        return pa.string()
    if pa.types.is_list(type):
        return pa.list_(_null_as_text(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(each.name, _null_as_text(each.type)) for each in type])
    return pa.string() if pa.types.is_large_string(type) else type
