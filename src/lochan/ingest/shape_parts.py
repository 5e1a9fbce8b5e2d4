"""A batch of Arrow columns in parts whose rows are of one shape each, where its types alone do not say the shape.

A map is an object that has its own names in each row: rows with the same names go together, as a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.ingest.tabular import plain

_PARTS_MAX = 64  # beyond that rows are read one by one: a part for each would take as long

Numbers = npt.NDArray[np.int64]
Parts = list[tuple[Numbers, pa.Array]]  # rows, and their column


def parted(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """All of its rows, in some order. What has too many shapes stays as it is."""
    dividers = {number: found for number, field in enumerate(batch.schema) if (found := _divider(field.type))}
    parts = [_plain(batch, set(dividers))] if dividers else [batch]
    for number, divide in dividers.items():
        parts = [each for part in parts for each in _divided(part, number, divide)]
        if len(parts) > _PARTS_MAX:
            return [batch]
    return parts


def _plain(batch: pa.RecordBatch, but: set[int]) -> pa.RecordBatch:
    """Of a part alone a column may seem to be of another kind than of the whole."""
    columns = [each if number in but else plain(each) for number, each in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _divider(type: pa.DataType) -> Callable[[pa.Array], Parts | None] | None:
    return _by_names if pa.types.is_map(type) and pa.types.is_string(type.key_type) else None


def _divided(
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
    """None: there are too many, or a name twice in one."""
    there = maps.is_valid()
    ends = maps.offsets.to_numpy().astype(np.int64)
    names = pa.ListArray.from_arrays(maps.offsets, maps.keys)
    if pc.any(pc.match_substring(maps.keys, "\0")).as_py():
        return None
    told = pc.binary_join(pc.if_else(there, names, None), "\0").dictionary_encode()
    if len(told.dictionary) > _PARTS_MAX:
        return None
    lengths = np.diff(ends)
    numbers = pc.fill_null(told.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    empty = lengths == 0  # told from a single name that is empty
    found: Parts = []
    nulls = np.flatnonzero(numbers < 0)
    if len(nulls):
        found.append((nulls, pa.nulls(len(nulls))))
    for number in range(len(told.dictionary)):
        mine = numbers == number
        for rows in (np.flatnonzero(mine & empty), np.flatnonzero(mine & ~empty)):
            if len(rows):
                struct = _struct(maps, ends[rows], int(lengths[rows[0]]))
                if struct is None:
                    return None
                found.append((rows, struct))
    return found


def _struct(maps: pa.MapArray, starts: Numbers, count: int) -> pa.Array | None:
    """Of maps that begin there and have the same names."""
    names = maps.keys.slice(int(starts[0]), count).to_pylist()
    if len(set(names)) < count:
        return None
    if not count:
        return pa.array([{}] * len(starts), pa.struct([]))
    members = [maps.items.take(pa.array(starts + number)) for number in range(count)]
    return pa.StructArray.from_arrays(members, names)
