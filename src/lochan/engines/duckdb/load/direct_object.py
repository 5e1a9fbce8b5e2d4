"""A few rows as one data object, without a statement of the engine: planning those takes longer than writing the rows.

    rows, each with its shape ──▶ sorted by the key ──▶ columns of their layout, in Arrow ──▶ one Parquet file, facts

The object is the one that the loader would make, except that it has no bloom filters: they take as long as the file,
and the object is one of many that are merged soon. What only the engine's SQL defines is left to the loader: numbers
that are kept as text, times whose text is kept, rows that are text as a whole, and keys that are no scalars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.objects import FOOTER, shapes_text
from lochan.engines.duckdb.load.shape_inference import InferredRow
from lochan.engines.duckdb.load.statistics import footer_facts, strings_at, with_bounds
from lochan.formats.pool_settings import Path, PoolSettings
from lochan.pools import keys, times
from lochan.pools.facts import ColumnFacts, Facts, ShapeFacts
from lochan.pools.json_row import row_text
from lochan.pools.kinds import BOOL, COMPOSITE, FLOAT, INT, JSON, STRING, TIME
from lochan.pools.layout import SHAPE_COLUMN, Alternate, DecimalColumn, Layout, Member, lay_out, text_columns
from lochan.pools.shape import Array, Object, Type, kind_of, sure, type_at

ROWS_MAX = 2_000  # more rows are left to the engine
BYTES_MAX = 4 << 20  # the limit for the texts of all rows
_LEVEL = 1  # the same as the engine's
# For fewer bytes, zstd takes longer to make its contexts than everything else in the file takes, and saves only a few
# bytes.
_SNAPPY_BYTES_MAX = 32 << 10
_ARRANGEMENTS = 256  # the number of arrangements that are kept: posts come with the same shapes again and again
_ARROW = {
    BOOL: pa.bool_(),
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    TIME: pa.timestamp("us", "UTC"),
}


class DirectObject(NamedTuple):
    data: bytes
    facts: Facts


def direct_object(rows: Sequence[InferredRow], settings: PoolSettings) -> DirectObject | None:
    """Returns the object of these rows, or None if the loader has to write them. REQUIRES: at least one row."""
    if len(rows) > ROWS_MAX or not all(key.path for key in settings.keys):
        return None
    size = sum(len(each.text) for each in rows)
    if size > min(BYTES_MAX, settings.size_bytes // 4):  # because a character has at most four bytes
        return None
    paths = tuple(key.path for key in settings.keys)
    alike: dict[Object, Object] = {}  # one object for each shape, so that what is found in it is found only once
    rows = [each._replace(shape=alike.setdefault(each.shape, each.shape)) for each in rows]
    counts = Counter(each.shape for each in rows)
    arrangement = _arrangement(frozenset(counts), paths)
    if arrangement is None:
        return None
    ordered = _in_order(rows, settings)
    if ordered is None:
        return None
    shapes = _shape_facts(counts, arrangement)
    try:
        table = _table(ordered.rows, arrangement)
    except _NumberAsText:
        return None
    data = _file(table, shapes)
    found = footer_facts(pq.read_metadata(pa.BufferReader(data)), arrangement.layout, shapes, paths)
    columns = tuple(_add_bounds(each, table) for each in found.values())
    facts = Facts(
        rows=len(rows),
        keyless=ordered.keyless,
        key_min=ordered.span.low,
        key_max=ordered.span.high,
        shapes=shapes,
        columns=columns,
        keys=paths,
        decimals=tuple(DecimalColumn(text, "") for text in text_columns(arrangement.layout)),
        times=settings.times,
        strings=tuple(strings_at(path, arrangement.layout, shapes, columns) for path in settings.times),
    )
    return DirectObject(data, facts)


# --- shapes ----------------------------------------------------------------------------------------------------------
class _Arrangement(NamedTuple):
    """The columns that hold rows of some shapes."""

    layout: Layout
    numbers: dict[Object, int]  # for each shape, the number of the shape that stands for it
    by_number: dict[int, Object]


@lru_cache(_ARRANGEMENTS)
def _arrangement(shapes: frozenset[Object], paths: tuple[Path, ...]) -> _Arrangement | None:
    known = KnownShapes(paths)
    known.add(Counter(shapes))
    layout = known.layout
    numbers = {shape: id for shape in shapes if (id := known.number(shape)) is not None}
    if known.texts or layout.body or len(numbers) < len(shapes) or not _is_plain(layout.members):
        return None
    by_number = {id: known.by_id[id] for id in numbers.values()}
    if lay_out(by_number.values()) != layout:
        return None
    return _Arrangement(layout, numbers, by_number)


def _is_plain(members: Iterable[Member]) -> bool:
    return all(not each.original and _is_plain(each.members) for member in members for each in member.alternates)


def _shape_facts(counts: Counter[Object], arrangement: _Arrangement) -> tuple[ShapeFacts, ...]:
    """Returns the facts of the shapes, the most frequent first, as the loader lists them."""
    rows: Counter[int] = Counter()
    for shape, count in counts.items():
        rows[arrangement.numbers[shape]] += count
    ordered = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    return tuple(ShapeFacts(id, arrangement.by_number[id], count) for id, count in ordered)


# --- order -----------------------------------------------------------------------------------------------------------
class _Ordered(NamedTuple):
    rows: Sequence[InferredRow]
    keyless: int
    span: keys.Span


def _in_order(rows: Sequence[InferredRow], settings: PoolSettings) -> _Ordered | None:
    """Returns the rows in the order of the key, or None if a key is no scalar or cannot be ordered by its bytes."""
    encoded = []
    least = greatest = b""
    keyless = 0
    for each in rows:
        values = [_key_value(each, key.path) for key in settings.keys]
        if any(isinstance(value, dict | list) for value in values):
            return None
        key = keys.encode(values, settings)
        encoded.append(key)
        if None in values:
            keyless += 1
        else:
            least = min(least or key, key)
            greatest = max(greatest, key)
    order = sorted(range(len(rows)), key=encoded.__getitem__)
    return _Ordered([rows[number] for number in order], keyless, keys.shorten_span(keys.Span(least, greatest)))


def _key_value(row: InferredRow, path: Path) -> Any:
    """Returns the row's value at a path of the key, or None if it is missing or null."""
    value: Any = row.row
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    if isinstance(value, str):
        type = type_at(row.shape, path)
        if type is not None and kind_of(type) == TIME:
            return keys.Instant(times.parse(value))
    return value


# --- columns ---------------------------------------------------------------------------------------------------------
class _Place(NamedTuple):
    """The values that the rows have at one place, and their types."""

    values: list[Any]
    types: list[Type | None]


class _NumberAsText(Exception):
    """A number is kept as text, so the engine has to compute the column of decimals beside it."""


def _table(rows: Sequence[InferredRow], arrangement: _Arrangement) -> pa.Table:
    """Returns the rows as a table. Raises _NumberAsText."""
    top = _Place([each.row for each in rows], [each.shape for each in rows])
    numbers = pa.array([arrangement.numbers[each.shape] for each in rows], pa.int32())
    return pa.table({SHAPE_COLUMN: numbers, **dict(_columns(arrangement.layout.members, top))})


def _file(table: pa.Table, shapes: Sequence[ShapeFacts]) -> bytes:
    sink = pa.BufferOutputStream()
    compression: dict[str, Any] = {"compression": "zstd", "compression_level": _LEVEL}
    if table.nbytes <= _SNAPPY_BYTES_MAX:
        compression = {"compression": "snappy"}
    with pq.ParquetWriter(sink, table.schema, store_schema=False, **compression) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({FOOTER: shapes_text(shapes)})
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _add_bounds(facts: ColumnFacts, table: pa.Table) -> ColumnFacts:
    """Returns the facts with the bounds of texts that are too long for the footer."""
    if facts.kind != STRING or facts.least is not None or not facts.present:
        return facts
    column = table[facts.path[0]].combine_chunks()
    for name in facts.path[1:]:
        column = column.field(name)
    ends = pc.min_max(column).as_py()
    return with_bounds(facts, ends["min"], ends["max"])


def _columns(members: Iterable[Member], above: _Place) -> Iterator[tuple[str, pa.Array]]:
    for member in members:
        if not member.leaves():
            continue
        place = _place(above, member.name)
        several = len(member.alternates) > 1
        for alternate in member.alternates:
            if alternate.column:
                yield alternate.column, _column(alternate, _only(place, alternate.kind) if several else place)


def _place(above: _Place, name: str) -> _Place:
    values = [None if each is None else each.get(name) for each in above.values]
    fields: dict[int, Type | None] = {}  # by the identity of the type: there are few types
    for type in above.types:
        if id(type) not in fields:
            fields[id(type)] = None if type is None else type_at(type, (name,))
    return _Place(values, [fields[id(type)] for type in above.types])


def _only(place: _Place, kind: str) -> _Place:
    """Returns the place with null for values that are not of that kind."""
    kinds = COMPOSITE if kind == JSON else (kind,)
    values = [
        value if type is not None and kind_of(type) in kinds else None
        for value, type in zip(place.values, place.types, strict=True)
    ]
    return place._replace(values=values)


def _column(alternate: Alternate, place: _Place) -> pa.Array:
    match alternate.kind:
        case "object":
            return _struct(alternate, place)
        case "array":
            return pa.array(place.values, _arrow(Array(alternate.element)))
        case "time":
            micros = [None if value is None else times.parse(value) for value in place.values]
            return pa.array(micros, pa.int64()).cast(_ARROW[TIME])
        case "json":
            return pa.array([None if value is None else _text(value) for value in place.values], pa.string())
    return pa.array(place.values, _ARROW[alternate.kind])


def _text(value: Any) -> str:
    if not isinstance(value, dict | list):
        raise _NumberAsText
    return row_text(value)


def _struct(alternate: Alternate, place: _Place) -> pa.Array:
    inner = dict(_columns(alternate.members, place))
    fields = [pa.field(name, each.type) for name, each in inner.items()]
    absent = pa.array([value is None for value in place.values], pa.bool_())
    return pa.StructArray.from_arrays(list(inner.values()), fields=fields, mask=absent)


def _arrow(type: Type) -> pa.DataType:
    """Returns the Arrow type of what a list holds."""
    type = sure(type)
    if isinstance(type, Object):
        return pa.struct([pa.field(name, _arrow(each)) for name, each in type.fields])
    if isinstance(type, Array):
        assert type.of is not None, "an empty list has no column"
        return pa.list_(_arrow(type.of))
    return _ARROW[kind_of(type)]
