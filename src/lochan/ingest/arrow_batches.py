"""Turns the record batches of files into plain ones.

`expand_batch` expands types in which few bytes stand for many: dictionaries, runs, views. It does so for some rows at a
time, so that only a little is expanded before it is counted. `split_by_shape` splits a batch with maps, whose types
alone do not determine the shape of a row: rows whose maps have the same names go together, as structs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.ingest.tabular import BATCH_ROWS, plain_column, rows_of
from lochan.pools.json_row import Row

_PART_BYTES = 16 << 20
_FEW_ROWS = 1_000


def expand_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch | list[Row]]:
    """Yields the batch without folded types, in parts; rows instead if it has a type that only rows can represent.
    REQUIRES: the batch is valid."""
    types = [plain_type(column.type) for column in batch.columns]
    if None in types:
        yield from _rows(batch)
        return
    for part in _parts(batch):
        columns = [
            column if column.type == type else _cast(_storage(column), type)
            for column, type in zip(part.columns, types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, part.schema.names) if columns else part


def plain_type(type: pa.DataType) -> pa.DataType | None:
    """Returns the type after expanding, or None if only single values can be expanded."""
    types = pa.types
    if isinstance(type, pa.BaseExtensionType):
        return plain_type(type.storage_type)
    if (
        types.is_union(type)
        or types.is_run_end_encoded(type)
        or types.is_list_view(type)
        or types.is_large_list_view(type)
    ):
        return None
    if types.is_dictionary(type):
        return plain_type(type.value_type)
    if types.is_string_view(type):
        return pa.large_string()
    if types.is_binary_view(type):
        return pa.large_binary()
    if not type.num_fields:
        return type
    fields = [type.field(number) for number in range(type.num_fields)]
    inner = [plain_type(field.type) for field in fields]
    if inner == [field.type for field in fields]:
        return type
    if types.is_struct(type) and None not in inner:
        return pa.struct([field.with_type(each) for field, each in zip(fields, inner, strict=True)])
    if types.is_list(type) or types.is_large_list(type):
        return pa.large_list(inner[0]) if inner[0] is not None else None
    return None


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array:
    """Casts a column. Arrow cannot expand a dictionary of views, which Polars makes for its categories."""
    if isinstance(column, pa.DictionaryArray):
        return column.dictionary.cast(type).take(column.indices)
    return column.cast(type)


def _storage(column: pa.Array) -> pa.Array:
    return _storage(column.storage) if isinstance(column, pa.ExtensionArray) else column


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Splits the batch for expanding. Every row may use the longest value of a dictionary."""
    row_bytes = batch.nbytes // max(1, batch.num_rows) + sum(map(_longest, batch.columns))
    rows = max(1, min(BATCH_ROWS, _PART_BYTES // max(1, row_bytes)))
    for begin in range(0, batch.num_rows, rows):
        yield batch.slice(begin, rows)


def _longest(column: pa.Array) -> int:
    """Returns the approximate length of the longest value of its dictionaries, in bytes."""
    column = _storage(column)
    type = column.type
    if pa.types.is_dictionary(type):
        return _longest_text(column.dictionary)
    if pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        # Each view takes 16 bytes. The first four are its length.
        lengths = np.frombuffer(column.buffers()[1], dtype=np.int32)[::4][column.offset :][: len(column)]
        return int(lengths.max(initial=0))
    if pa.types.is_struct(type):
        return sum(map(_longest, column.flatten()))
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return _longest(column.values) * (len(column.values) // max(1, len(column)) + 1)
    return 0


def _longest_text(values: pa.Array) -> int:
    types = pa.types
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(each(values.type) for each in texts):
        return pc.max(pc.binary_length(values)).as_py() or 0
    return int(values.nbytes)


def _rows(batch: pa.RecordBatch) -> Iterator[list[Row]]:
    for begin in range(0, batch.num_rows, _FEW_ROWS):
        yield rows_of(batch.slice(begin, _FEW_ROWS))


# --- maps ------------------------------------------------------------------------------------------------------------
_PARTS_MAX = 64  # with more parts, rows are read one by one, which takes no longer

Numbers = npt.NDArray[np.int64]
Parts = list[tuple[Numbers, pa.Array]]  # numbers of rows, and their column


def split_by_shape(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Returns all rows of the batch, in any order. A batch with too many shapes stays as it is."""
    dividers = {number: found for number, field in enumerate(batch.schema) if (found := _divider(field.type))}
    parts = [_plain(batch, set(dividers))] if dividers else [batch]
    for number, divide in dividers.items():
        parts = [each for part in parts for each in _divide_batch(part, number, divide)]
        if len(parts) > _PARTS_MAX:
            return [batch]
    return parts


def _plain(batch: pa.RecordBatch, but: set[int]) -> pa.RecordBatch:
    """Makes columns plain before the split: the kind of a column may depend on all of its values."""
    columns = [each if number in but else plain_column(each) for number, each in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _divider(type: pa.DataType) -> Callable[[pa.Array], Parts | None] | None:
    return _by_names if pa.types.is_map(type) and pa.types.is_string(type.key_type) else None


def _divide_batch(
    batch: pa.RecordBatch, number: int, divide: Callable[[pa.Array], Parts | None]
) -> Iterator[pa.RecordBatch]:
    parts = divide(batch.column(number))
    if parts is None:
        yield batch
        return
    for rows, column in parts:
        taken = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
        yield taken.set_column(number, batch.schema.names[number], column)


def _by_names(maps: pa.MapArray) -> Parts | None:
    """Splits maps by their names. Returns None if there are too many sets of names, or a map has a name twice."""
    there = maps.is_valid()
    ends = maps.offsets.to_numpy().astype(np.int64)
    names = pa.ListArray.from_arrays(maps.offsets, maps.keys)
    if pc.any(pc.match_substring(maps.keys, "\0")).as_py():
        return None
    joined = pc.binary_join(pc.if_else(there, names, None), "\0").dictionary_encode()
    if len(joined.dictionary) > _PARTS_MAX:
        return None
    lengths = np.diff(ends)
    numbers = pc.fill_null(joined.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    empty = lengths == 0  # not the same as a single empty name
    found: Parts = []
    nulls = np.flatnonzero(numbers < 0)
    if len(nulls):
        found.append((nulls, pa.nulls(len(nulls))))
    for number in range(len(joined.dictionary)):
        mine = numbers == number
        for rows in (np.flatnonzero(mine & empty), np.flatnonzero(mine & ~empty)):
            if len(rows):
                struct = _struct(maps, ends[rows], int(lengths[rows[0]]))
                if struct is None:
                    return None
                found.append((rows, struct))
    return found


def _struct(maps: pa.MapArray, starts: Numbers, count: int) -> pa.Array | None:
    """Returns the maps that begin at `starts` and have the same names, as structs, or None if they have a name
    twice."""
    names = maps.keys.slice(int(starts[0]), count).to_pylist()
    if len(set(names)) < count:
        return None
    if not count:
        return pa.array([{}] * len(starts), pa.struct([]))
    members = [maps.items.take(pa.array(starts + number)) for number in range(count)]
    return pa.StructArray.from_arrays(members, names)
