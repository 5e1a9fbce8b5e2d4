"""Batches of a file without what makes few bytes mean many: dictionaries, runs, views. Some rows at a time, so that no
more than a little is unfolded before it is counted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.ingest.tabular import BATCH_ROWS, rows_of
from lochan.pools.json_row import Row

_PART_BYTES = 16 << 20
_FEW_ROWS = 1_000


def expanded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch | list[Row]]:
    """Rows where it has a type that only rows can show. REQUIRES: it is valid."""
    types = [plain_type(column.type) for column in batch.columns]
    if None in types:
        yield from _rows(batch)
        return
    for part in _parts(batch):
        columns = [
            column if column.type == type else _storage(column).cast(type)
            for column, type in zip(part.columns, types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, part.schema.names) if columns else part


def plain_type(type: pa.DataType) -> pa.DataType | None:
    """What is left of it when it is unfolded; None: only single values can be."""
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


def _storage(column: pa.Array) -> pa.Array:
    return _storage(column.storage) if isinstance(column, pa.ExtensionArray) else column


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A value of a dictionary may be taken by every row."""
    row_bytes = batch.nbytes // max(1, batch.num_rows) + sum(map(_longest, batch.columns))
    rows = max(1, min(BATCH_ROWS, _PART_BYTES // max(1, row_bytes)))
    for begin in range(0, batch.num_rows, rows):
        yield batch.slice(begin, rows)


def _longest(column: pa.Array) -> int:
    """About how long the longest value of its dictionaries is, in bytes."""
    column = _storage(column)
    type = column.type
    if pa.types.is_dictionary(type):
        return _longest_text(column.dictionary)
    if pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        # Each takes 16 bytes, of which the first four are its length.
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
