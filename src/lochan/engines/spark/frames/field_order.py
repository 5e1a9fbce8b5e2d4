"""Types and columns of Arrow that differ in the order of fields, which depends on the objects that are planned
together."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def same_fields(one: pa.DataType, other: pa.DataType) -> bool:
    """Returns whether the two have the same fields of the same types, in any order."""
    types = pa.types
    if types.is_struct(one) and types.is_struct(other):
        left, right = ({each.name: each.type for each in type} for type in (one, other))
        return left.keys() == right.keys() and all(same_fields(type, right[name]) for name, type in left.items())
    if types.is_list(one) and types.is_list(other):
        return same_fields(one.value_type, other.value_type)
    return bool(one == other)


def in_order_of(array: pa.Array, type: pa.DataType) -> pa.Array:
    """Returns the values, with their fields in the order of that type. Raises pa.ArrowInvalid for a value that it
    cannot hold."""
    types = pa.types
    if array.type == type:
        return array
    if types.is_struct(type) and types.is_struct(array.type):
        members = [in_order_of(pc.struct_field(array, each.name), each.type) for each in type]
        return pa.StructArray.from_arrays(members, fields=list(type), mask=pc.is_null(array))
    if types.is_list(type) and types.is_list(array.type):
        return _list_in_order_of(array, type)
    return array.cast(type)


def _list_in_order_of(array: pa.ListArray, type: pa.ListType) -> pa.ListArray:
    if array.offset:  # offsets of a slice do not begin at 0
        array = pa.concat_arrays([array])
    values = in_order_of(array.flatten(), type.value_type)
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    return pa.ListArray.from_arrays(offsets, values, type=type, mask=pc.is_null(array))
