"""Arrow record batches as rows. The columns are typed, and those with nulls are nullable, so all rows of a batch have
one shape.

Arrow                                   rows
bool, ints, floats, strings             the same; an unsigned int beyond 63 bits is kept as text
timestamp, date                         time; a string if nanoseconds would be lost, and for a time of day
binary                                  a string, its base64
decimal                                 a number that is kept as text, with a decimal beside it (pools/layout.py)
duration                                an int, of microseconds
struct, list                            object, list; a map with strings as keys is an object
null                                    null, never missing, because the column exists
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.formats.pool_settings import Path
from lochan.pools.json_row import Row
from lochan.pools.kinds import ARRAY, BOOL, FLOAT, INT, JSON, NULL, OBJECT, STRING
from lochan.pools.layout import Layout, Member, is_typed, lay_out
from lochan.pools.nullable_shapes import has_column
from lochan.pools.shape import Array, Maybe, Object, Type, kind_of
from lochan.pools.time_texts import looks_like
from lochan.pools.times import format_of, render_all

BATCH_ROWS = 65_536
_INT_MAX = (1 << 63) - 1
_UTC = pa.timestamp("us", "UTC")
_SCALARS: dict[pa.DataType, Type] = {
    pa.bool_(): BOOL, pa.int64(): INT, pa.float64(): FLOAT, pa.string(): STRING, pa.null(): NULL,
    pa.date32(): "time:YYYY-MM-DD",
}  # fmt: skip


class ShapedBatch(NamedTuple):
    """Rows of one shape in typed columns."""

    table: pa.Table  # has the layout's columns
    layout: Layout
    shape: Object


def batches_of(rows: pa.Table | pa.RecordBatchReader | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Splits into batches of at most BATCH_ROWS rows."""
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    for batch in rows.to_batches(max_chunksize=BATCH_ROWS) if isinstance(rows, pa.Table) else rows:
        for begin in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(begin, BATCH_ROWS)


def check_batch(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the batch after checking that all of its offsets are within its bytes. Raises Invalid."""
    try:
        batch.validate(full=True)
        _ = batch.schema.names
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise Invalid(f"{name}: it has invalid values: {reason}", hint="nothing was loaded") from error
    return batch


def shape_batch(batch: pa.RecordBatch, times: Collection[Path] = ()) -> ShapedBatch | None:
    """Puts a batch into the columns of a layout. Returns None if a part of it has no column of its own; then use
    `rows_of`."""
    _check_names(batch.schema)
    columns: list[tuple[str, pa.Array]] = []
    types: list[tuple[str, Type]] = []
    for name, column in zip(batch.schema.names, map(plain_column, batch.columns), strict=True):
        column, type = _as_times(column) if (name,) in times else (column, type_of(column.type))
        if type is None or any(path[0] == name and len(path) > 1 for path in times):
            return None
        columns.append((name, column))
        types.append((name, type))
    shape = _object((name, _nullable(type, column)) for (name, type), (_, column) in zip(types, columns, strict=True))
    if shape is None:
        return None
    layout = lay_out([shape])
    arrays = None if layout.body else _columns_by_name(layout.members, dict(columns))
    if not arrays:  # a table without columns has no rows
        return None
    schema = pa.schema([(name, array.type) for name, array in arrays])
    return ShapedBatch(pa.Table.from_arrays([array for _, array in arrays], schema=schema), layout, shape)


def _as_times(column: pa.Array) -> tuple[pa.Array, Type | None]:
    """Turns a column of texts that are times into times. The type is None if they do not all have one format."""
    type = type_of(column.type)
    first = next((each.as_py() for each in column if each.is_valid), None) if type == STRING else None
    format = None if first is None else format_of(first)
    if format is None:
        return column, type if first is None else None
    try:
        zoned = format.endswith(("Z", "+00:00"))
        times = column.cast(_UTC) if zoned else column.cast(pa.timestamp("us")).cast(pa.int64()).cast(_UTC)
    except pa.ArrowInvalid:
        return column, None
    same = looks_like(column, format) or pc.all(pc.equal(render_all(times, format), column)).as_py()
    return (times, f"time:{format}") if same else (column, None)


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """Returns the rows one by one, for any types."""
    _check_names(batch.schema)
    columns = [_python(plain_column(column)) for column in batch.columns]
    names = batch.schema.names
    if not names:
        return [{} for _ in range(batch.num_rows)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def plain_column(column: pa.Array) -> pa.Array:
    """Casts to one of the few types that rows have, if nothing is lost."""
    type = column.type
    types = pa.types
    if types.is_dictionary(type):
        return plain_column(column.dictionary_decode())
    if types.is_integer(type):
        beyond = types.is_uint64(type) and len(column) and (pc.max(column).as_py() or 0) > _INT_MAX
        return column if beyond else column.cast(pa.int64())
    if types.is_floating(type):
        return column.cast(pa.float64())
    if types.is_large_string(type) or types.is_string_view(type):
        return column.cast(pa.string())
    if types.is_timestamp(type):
        return _timestamp(column)
    if types.is_date(type):
        return column.cast(pa.date32())
    if types.is_time(type):
        return column.cast(pa.string())
    if types.is_duration(type):
        return column.cast(pa.duration("us"), safe=False).cast(pa.int64())
    if types.is_binary(type) or types.is_large_binary(type) or types.is_fixed_size_binary(type):
        texts = [None if each is None else base64.b64encode(each).decode() for each in column.to_pylist()]
        return pa.array(texts, pa.string())
    if types.is_struct(type):
        fields = [plain_column(each) for each in column.flatten()]
        names = [type.field(number).name for number in range(type.num_fields)]
        return pa.StructArray.from_arrays(fields, names, mask=column.is_null()) if fields else column
    if (types.is_list(type) or types.is_large_list(type)) and is_simple(type.value_type):
        return column.cast(pa.list_(_simple(type.value_type)))
    return column


def type_of(type: pa.DataType) -> Type | None:
    """Returns the type of a plain column, or None if its rows must be read one by one."""
    types = pa.types
    if type in _SCALARS:
        return _SCALARS[type]
    if types.is_timestamp(type):
        return "time:native"
    if types.is_decimal(type):
        return JSON
    if types.is_struct(type):
        return _object((type.field(number).name, type_of(type.field(number).type)) for number in range(type.num_fields))
    if types.is_list(type) and is_simple(type.value_type):
        return Array(type_of(type.value_type))
    return None


def is_simple(type: pa.DataType) -> bool:
    types = pa.types
    small = types.is_integer(type) and not types.is_uint64(type)
    texts = types.is_string(type) or types.is_large_string(type)
    return bool(types.is_boolean(type) or small or types.is_floating(type) or texts)


def _simple(type: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(type):
        return pa.int64()
    if pa.types.is_floating(type):
        return pa.float64()
    return type if pa.types.is_boolean(type) else pa.string()


def _timestamp(column: pa.Array) -> pa.Array:
    zone = column.type.tz
    try:
        micros = column.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:  # nanoseconds that would be lost
        return pc.strftime(column.cast(pa.timestamp("ns")), "%Y-%m-%dT%H:%M:%SZ")
    return micros.cast(_UTC) if zone else micros.cast(pa.int64()).cast(_UTC)


def _nullable(type: Type, column: pa.Array, rows: int | None = None) -> Type | None:
    """Returns the type with the column's nulls: never null, nullable, or always null. For a member of a struct, `rows`
    is the number of rows in which the struct is not null. Returns None if no column would distinguish these."""
    rows = len(column) if rows is None else rows
    there = len(column) - column.null_count
    if not there:
        return NULL
    found: Type | None = type
    if isinstance(type, Object):
        members = zip(type.fields, column.flatten(), strict=True)
        found = _object((name, _nullable(each, member, there)) for (name, each), member in members)
    if found is None or there == rows:
        return found
    return Maybe(found) if has_column(found) else _with_column(type)


def _with_column(type: Type) -> Type | None:
    """Makes the members nullable, though all are null: otherwise no column would show whether the object exists."""
    if isinstance(type, Object):
        found = _object((name, _with_column(each)) for name, each in type.fields)
        return Maybe(found) if found is not None and has_column(found) else None
    return type if type == NULL else Maybe(type)


def _object(fields: Iterable[tuple[str, Type | None]]) -> Object | None:
    """Returns an object of these fields, or None if one of the types is None."""
    known: list[tuple[str, Type]] = []
    for name, type in fields:
        if type is None:
            return None
        known.append((name, type))
    return Object(tuple(known))


def _columns_by_name(members: tuple[Member, ...], columns: dict[str, pa.Array]) -> list[tuple[str, pa.Array]] | None:
    """Returns the columns by their names in the layout, with decimals as texts. Returns None if the layout keeps
    anything else as text."""
    found = []
    for member in members:
        column = columns[member.name]
        for alternate in member.alternates:
            if alternate.kind == ARRAY and not is_typed(alternate.element):
                return None
            if alternate.kind == JSON and pa.types.is_decimal(column.type):
                found.append((alternate.column, column.cast(pa.string())))
                continue
            if alternate.kind not in (OBJECT, ARRAY, kind_of(type_of(column.type) or NULL)):
                return None  # it is kept as text
            if not alternate.column:
                continue
            if alternate.kind == OBJECT:
                names = [column.type.field(number).name for number in range(column.type.num_fields)]
                inner = _columns_by_name(alternate.members, dict(zip(names, column.flatten(), strict=True)))
                if inner is None:
                    return None
                arrays = [array for _, array in inner]
                column = pa.StructArray.from_arrays(arrays, [name for name, _ in inner], mask=column.is_null())
            elif pa.types.is_date32(column.type):
                column = column.cast(_UTC)
            found.append((alternate.column, column))
    return found


def _python(column: pa.Array) -> list[Any]:
    type = column.type
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(type) and pa.types.is_string(type.key_type):
        values = [{} if each == [] else each for each in values]  # to distinguish it from a list
    return values if type_of(type) is not None and not pa.types.is_struct(type) else [_exact(each) for each in values]


def _exact(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {name: _exact(each) for name, each in value.items()}
        case list() if value and all(isinstance(each, tuple) for each in value):  # the value is a map
            if not all(isinstance(name, str) for name, _ in value):
                return [[_exact(name), _exact(each)] for name, each in value]
            return {name: _exact(each) for name, each in value}
        case list():
            return [_exact(each) for each in value]
    return value


def _check_names(schema: pa.Schema) -> None:
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise Invalid(f"the column {twice[0]!r} occurs twice", hint="nothing was loaded; give each its own name")
