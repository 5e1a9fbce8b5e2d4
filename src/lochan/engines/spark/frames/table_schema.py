"""The columns of a table of Parquet files, by the footers of all of them, as Spark reads them.

a column of any file        NULL in files that lack it, and never NOT NULL, whatever one file says
ints, floats, decimals      as wide as the widest, if no digit is lost
structs, lists, maps        merged member by member
one name, two types         refused, with the names of both files"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.errors import Invalid

_MICROS, _UTC = pa.timestamp("us"), pa.timestamp("us", "UTC")
_INTS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_PLAIN = (pa.null(), pa.bool_(), *_INTS, pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32())
_SAME = {  # types that Spark reads as they are
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}
_DECIMAL_DIGITS_MAX = 38
_DOUBLE_DIGITS_INTS = _INTS[:3]  # every double returns these exactly


class FileSchema(NamedTuple):
    path: str
    schema: pa.Schema
    is_odd: bool = False  # whether Spark itself cannot read one of the columns


class _NoType(Exception):
    """Spark has no such type."""


def schema_in_footer(path: str, footer: pq.FileMetaData) -> FileSchema:
    """Returns the schema. Raises Invalid for a column that Spark has no type for."""
    own = footer.schema.to_arrow_schema()
    twice = next((name for name, count in Counter(own.names).items() if count > 1), None)
    if twice is not None:
        raise Invalid(f"{path}: the column {twice!r} comes twice")
    leaves = iter([footer.schema.column(number) for number in range(len(footer.schema.names))])
    fields, is_odd = [], False
    for each in own:
        try:
            made, odd = _as_in_spark(each.type, leaves)
        except _NoType:
            hint = "read the others by their names"
            raise Invalid(f"{path}: Spark has no type for the column {each.name!r}, {each.type}", hint=hint) from None
        fields.append(pa.field(each.name, made))
        is_odd = is_odd or odd
    return FileSchema(path, pa.schema(fields), is_odd)


def merged_schema(files: Iterable[FileSchema]) -> pa.Schema:
    """Merges the schemas. Raises Invalid for a column of two types that have none in common."""
    types: dict[str, pa.DataType] = {}
    first: dict[str, str] = {}
    for path, schema, _ in files:
        for field in schema:
            earlier = types.get(field.name)
            both = field.type if earlier is None else _common(earlier, field.type)
            if both is None:
                raise Invalid(
                    f"the column {field.name!r} is {earlier} in {first[field.name]} and {field.type} in {path}",
                    hint="read the files apart, or write one of them anew",
                )
            if earlier is None or (pa.types.is_null(earlier) and not pa.types.is_null(both)):
                first[field.name] = path
            types[field.name] = both
    return pa.schema([(name, _null_as_text(type)) for name, type in types.items()])


def is_read_by_spark(file: FileSchema, table: pa.Schema) -> bool:
    """Returns whether Spark's own scan of that file returns the table's types."""
    type_of = {field.name: field.type for field in table}
    return not file.is_odd and all(
        _is_read_as(each.type, type_of[each.name]) for each in file.schema if each.name in type_of
    )


def check_names(schema: pa.Schema, *, case_sensitive: bool) -> None:
    """Raises Invalid for names that this session does not distinguish."""
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name if case_sensitive else name.lower(), name)
        if other != name:
            hint = "set spark.sql.caseSensitive to true"
            raise Invalid(f"the columns {other!r} and {name!r} differ in case alone, which is nothing here", hint=hint)


def _as_in_spark(type: pa.DataType, leaves: Iterator[pq.ColumnSchema]) -> tuple[pa.DataType, bool]:
    """Returns the type, and whether Spark itself cannot read it. The file's leaves are in its footer in this order."""
    types = pa.types
    if types.is_dictionary(type):
        return _as_in_spark(type.value_type, leaves)
    if types.is_struct(type):
        members = [(each.name, *_as_in_spark(each.type, leaves)) for each in type]
        return pa.struct([(name, made) for name, made, _ in members]), any(odd for _, _, odd in members)
    if types.is_map(type):
        key, odd_key = _as_in_spark(type.key_type, leaves)
        item, odd = _as_in_spark(type.item_type, leaves)
        return pa.map_(key, item), odd_key or odd
    if types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type):
        made, odd = _as_in_spark(type.value_type, leaves)
        return pa.list_(made), odd
    return _leaf(type, next(leaves))


def _leaf(type: pa.DataType, leaf: pq.ColumnSchema) -> tuple[pa.DataType, bool]:
    types = pa.types
    if leaf.physical_type == "INT96":  # Spark's own way to write a time
        return _UTC, False
    if types.is_timestamp(type):
        return _UTC if type.tz else _MICROS, type.unit == "ns"
    if types.is_duration(type):
        return pa.int64(), False
    if types.is_decimal(type) and type.precision <= _DECIMAL_DIGITS_MAX:
        return pa.decimal128(type.precision, type.scale), False
    if types.is_fixed_size_binary(type):
        return pa.binary(), False
    found = _SAME.get(type, type)
    if found not in _PLAIN and found not in _SAME.values():
        raise _NoType
    return found, types.is_null(found)


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Returns a type that holds the values of both without loss, or None if there is none."""
    types = pa.types
    if left == right or types.is_null(right):
        return left
    if types.is_null(left):
        return right
    if types.is_struct(left) and types.is_struct(right):
        return _common_struct(left, right)
    if types.is_list(left) and types.is_list(right):
        of = _common(left.value_type, right.value_type)
        return None if of is None else pa.list_(of)
    if types.is_map(left) and types.is_map(right):
        key, item = _common(left.key_type, right.key_type), _common(left.item_type, right.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return _common_number(left, right)


def _common_struct(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    members = {each.name: each.type for each in left}
    for each in right:
        both = _common(members[each.name], each.type) if each.name in members else each.type
        if both is None:
            return None
        members[each.name] = both
    return pa.struct(list(members.items()))


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if left in _INTS and right in _INTS:
        return max(left, right, key=_INTS.index)
    if types.is_floating(left) and types.is_floating(right):
        return pa.float64()
    if types.is_floating(left) or types.is_floating(right):
        return pa.float64() if left in _DOUBLE_DIGITS_INTS or right in _DOUBLE_DIGITS_INTS else None
    if types.is_decimal(left) and types.is_decimal(right):
        scale = max(left.scale, right.scale)
        digits = max(left.precision - left.scale, right.precision - right.scale) + scale
        return pa.decimal128(digits, scale) if digits <= _DECIMAL_DIGITS_MAX else None
    return None


def _is_read_as(own: pa.DataType, table: pa.DataType) -> bool:
    types = pa.types
    if own == table:
        return True
    if types.is_struct(own):
        members = {each.name: each.type for each in table}
        return all(_is_read_as(each.type, members[each.name]) for each in own)
    if types.is_list(own):
        return _is_read_as(own.value_type, table.value_type)
    if types.is_map(own):
        return _is_read_as(own.key_type, table.key_type) and _is_read_as(own.item_type, table.item_type)
    return (own in _INTS and table in _INTS) or (own == pa.float32() and table == pa.float64())


def _null_as_text(type: pa.DataType) -> pa.DataType:
    """Makes a column that is always NULL a text."""
    types = pa.types
    if types.is_struct(type):
        return pa.struct([(each.name, _null_as_text(each.type)) for each in type])
    if types.is_map(type):
        return pa.map_(_null_as_text(type.key_type), _null_as_text(type.item_type))
    if types.is_list(type):
        return pa.list_(_null_as_text(type.value_type))
    return pa.string() if types.is_null(type) else type
