"""Bloom filters over the values of columns, for an object's facts: a look-up of one value opens the objects that may
hold it, also where it is not the key.

They pay for columns of few different values among many objects, such as hosts, users of an hour or request ids of small
objects. These the file has dictionaries of, so what is read again is little; of other columns nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path as File
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.formats import bloom

Column = tuple[str, ...]

BYTES_MAX = 8 << 10  # of all of an object's: entries are read also by who never looks for such a value
_BYTES_MIN = 512  # so much is less than what else is told of an object
_PART = 64  # between the two, this part of the object
_VALUES_MAX = BYTES_MAX * 8 // bloom.BITS_PER_KEY


def filters(file: File, columns: Mapping[int, Column]) -> dict[int, bytes]:
    """By number of the file's leaf column, the smallest ones; `columns` names those that may have one."""
    reader = pq.ParquetFile(file, read_dictionary=[".".join(column) for column in columns.values()])
    made = {}
    for number, column in columns.items():
        values = _values(reader, number, column)
        if values is not None and len(values):
            made[number] = bloom.build(bloom.hash_all(values))
    room = max(_BYTES_MIN, min(BYTES_MAX, file.stat().st_size // _PART))
    return dict(_fitting(made, room))


def _fitting(made: Mapping[int, bytes], room: int) -> Iterable[tuple[int, bytes]]:
    for number, filter in sorted(made.items(), key=lambda each: len(each[1])):
        room -= len(filter)
        if room < 0:
            return
        yield number, filter


def _values(reader: pq.ParquetFile, number: int, column: Column) -> pa.Array | None:
    """All of them, as texts; None: there are too many."""
    metadata = reader.metadata
    if metadata.num_rows > _VALUES_MAX and not all(
        metadata.row_group(group).column(number).has_dictionary_page for group in range(metadata.num_row_groups)
    ):
        return None
    found = pa.nulls(0, pa.string())
    for group in range(metadata.num_row_groups):
        read: Any = reader.read_row_group(group, columns=[".".join(column)], use_threads=False)[column[0]]
        found = pc.unique(pa.concat_arrays([found, *map(_texts, _inner(read.chunks, column[1:]))]))
        if len(found) > _VALUES_MAX:
            return None
    return found


def _inner(chunks: Iterable[pa.Array], members: Column) -> Iterable[pa.Array]:
    for chunk in chunks:
        for name in members:
            chunk = chunk.field(name)
        yield chunk


def _texts(values: pa.Array) -> pa.Array:
    """Each once, without the null."""
    unique = values.dictionary if pa.types.is_dictionary(values.type) else pc.unique(values)
    return unique.drop_null().cast(pa.string())
