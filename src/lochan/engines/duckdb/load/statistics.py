"""The facts of columns for an entry, from a Parquet file's footer, with bloom filters over some of them.

A filter lets a query of one value skip objects that cannot hold it, even if the field is not the key. Filters are worth
their size for columns with few different values among many objects, such as hosts, or request ids of small objects. The
file has dictionaries of these, so reading them again is cheap; other columns are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from math import isnan
from pathlib import Path as File
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.columns import places
from lochan.formats import bloom
from lochan.formats.pool_settings import Path
from lochan.pools.facts import TEXT_MAX, Bound, ColumnFacts, ShapeFacts
from lochan.pools.kinds import ARRAY, INT, JSON, OBJECT, STRING, TIME
from lochan.pools.layout import Layout, Member, column_of
from lochan.pools.shape import Array, Object, Type, kind_of, type_at

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


class FooterColumn(NamedTuple):
    path: Path  # the logical path
    column: Path  # the physical path
    kind: str
    number: int  # the number among the file's leaf columns


def column_facts(
    file: File, layout: Layout, shapes: Sequence[ShapeFacts], keys: Sequence[Path]
) -> tuple[ColumnFacts, ...]:
    return tuple(_add_filters(file, footer_facts(pq.read_metadata(file), layout, shapes, keys), keys))


def footer_facts(
    metadata: pq.FileMetaData, layout: Layout, shapes: Sequence[ShapeFacts], keys: Sequence[Path]
) -> dict[FooterColumn, ColumnFacts]:
    """Returns the facts of the columns, without filters."""
    rows: Counter[tuple[Path, str]] = Counter()
    for each in shapes:
        for place in places(each.shape):
            rows[place] += each.rows
    found = {}
    for leaf in leaves(layout, keys):
        kinds = (OBJECT, ARRAY, JSON) if leaf.kind == JSON else (leaf.kind,)
        present = _values(metadata, leaf) if leaf.kind != ARRAY else None
        if present is None:
            present = sum(rows[leaf.path, kind] for kind in kinds)
        found[leaf] = _facts(leaf, present, *_bounds(metadata, leaf.number, leaf.kind))
    return found


def strings_at(path: Path, layout: Layout, shapes: Sequence[ShapeFacts], columns: Sequence[ColumnFacts]) -> int:
    """Returns how many rows have a string at the path. `shapes` are those of all rows."""
    own = None if layout.body else column_of(layout, path, STRING)
    if own is not None:
        return next((each.present for each in columns if each.path == own), 0)
    found = ((type_at(each.shape, path), each.rows) for each in shapes)
    return sum(rows for type, rows in found if type is not None and kind_of(type) == STRING)


def _add_filters(file: File, found: Mapping[FooterColumn, ColumnFacts], keys: Sequence[Path]) -> Iterator[ColumnFacts]:
    """Adds filters, except to the first field of the key."""
    some = {
        leaf.number: leaf.column
        for leaf, stats in found.items()
        if leaf.kind in (INT, STRING) and leaf.path not in keys[:1] and stats.least != stats.greatest
    }
    made = bloom_filters(file, some) if some else {}
    for leaf, stats in found.items():
        filter = made.get(leaf.number)
        yield msgspec.structs.replace(stats, bloom=filter) if filter else stats


def leaves(layout: Layout, keys: Sequence[Path] = ()) -> Iterator[FooterColumn]:
    """Yields every column, and member of a struct, with values, in the order of the file, after `_shape` and
    `_body`."""
    if not layout.body:
        yield from _leaves(layout.members, (), (), count(1))
        return
    numbers, paths = count(2), {".".join(path): path for path in keys}
    for member in layout.members:
        for each in member.alternates:
            yield FooterColumn(paths[member.name], (each.column,), each.kind, next(numbers))
            if each.original:
                next(numbers)


def _leaves(members: Iterable[Member], above: Path, columns: Path, numbers: Iterator[int]) -> Iterator[FooterColumn]:
    for member in members:
        path = (*above, member.name)
        for alternate in member.alternates:
            column = (*columns, alternate.column)
            if alternate.kind == OBJECT:
                yield from _leaves(alternate.members, path, column, numbers)
            elif alternate.column:
                yield FooterColumn(path, column, alternate.kind, next(numbers))
                for _ in range(_width(alternate.element) - 1 if alternate.kind == ARRAY else 0):
                    next(numbers)
                if alternate.original:  # the facts of the times cover it
                    next(numbers)


def _width(type: Type | None) -> int:
    """Returns how many leaf columns a list's element takes."""
    if isinstance(type, Object):
        return sum(_width(each) for _, each in type.fields)
    return _width(type.of) if isinstance(type, Array) else 1


def _values(metadata: Any, leaf: FooterColumn) -> int | None:
    """Returns the number of values that are not NULL, or None if the footer does not have it."""
    groups = [metadata.row_group(group).column(leaf.number) for group in range(metadata.num_row_groups)]
    if not all(each.is_stats_set and each.statistics.has_null_count for each in groups):
        return None
    return sum(int(each.num_values - each.statistics.null_count) for each in groups)


def _bounds(metadata: Any, number: int, kind: str) -> tuple[Bound, Bound]:
    if kind in (ARRAY, JSON):
        return None, None
    least: Any = None
    greatest: Any = None
    for group in range(metadata.num_row_groups):
        column = metadata.row_group(group).column(number)
        stats = column.statistics
        if stats is not None and stats.null_count == column.num_values:
            continue
        if stats is None or not stats.has_min_max:
            return None, None
        least = stats.min if least is None else min(least, stats.min)
        greatest = stats.max if greatest is None else max(greatest, stats.max)
    if least is None or any(isinstance(each, float) and isnan(each) for each in (least, greatest)):
        return None, None
    return _plain(least, kind), _plain(greatest, kind)


def _plain(value: Any, kind: str) -> Bound:
    if kind == TIME:
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int((aware - _START) // _MICRO)
    if kind == STRING and isinstance(value, bytes):
        return value.decode(errors="ignore")
    bound: Bound = value
    return bound


def _facts(leaf: FooterColumn, present: int, least: Bound, greatest: Bound) -> ColumnFacts:
    return with_bounds(ColumnFacts(leaf.column, leaf.kind, present), least, greatest)


def with_bounds(facts: ColumnFacts, least: Bound, greatest: Bound) -> ColumnFacts:
    """Returns the facts with these bounds, in which long texts are cut."""
    cut = isinstance(greatest, str) and len(greatest) > TEXT_MAX
    low = least[:TEXT_MAX] if isinstance(least, str) else least
    high = greatest[:TEXT_MAX] if isinstance(greatest, str) else greatest
    return msgspec.structs.replace(facts, least=low, greatest=high, cut=cut)


# --- bloom filters ---------------------------------------------------------------------------------------------------
Column = tuple[str, ...]

BYTES_MAX = 8 << 10  # the limit for all filters of an object, because every query reads the entries
_BYTES_MIN = 512  # they may always have so many bytes, which is less than the rest of the facts
_PART = 64  # between these two limits, this fraction of the object's size
_VALUES_MAX = BYTES_MAX * 8 // bloom.BITS_PER_KEY


def bloom_filters(file: File, columns: Mapping[int, Column]) -> dict[int, bytes]:
    """Returns the smallest filters, by the number of the file's leaf column. `columns` are those that may have one."""
    reader = pq.ParquetFile(file, read_dictionary=[".".join(column) for column in columns.values()])
    made = {}
    for number, column in columns.items():
        values = _distinct_texts(reader, number, column)
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


def _distinct_texts(reader: pq.ParquetFile, number: int, column: Column) -> pa.Array | None:
    """Returns all values, as texts, or None if there are too many."""
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
    """Returns the distinct values, without null."""
    unique = values.dictionary if pa.types.is_dictionary(values.type) else pc.unique(values)
    return unique.drop_null().cast(pa.string())
