"""Converts the rows of a data object to lines: equal rows have the same text. Adds the key of each row.

Rows of one shape are written together, column by column. Only JSON texts go through Python, each distinct text once
(`one_line`). Both ways give the same text: names in order, no spaces, numbers as columns write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite, isnan
from pathlib import Path as File
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.formats.pool_settings import Path, path_text
from lochan.pools import times
from lochan.pools.facts import Facts
from lochan.pools.json_row import read_value
from lochan.pools.kinds import ARRAY, FLOAT, JSON, NULL, STRING, TIME
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, Layout, Member
from lochan.pools.shape import TEXT_TIME, Array, Maybe, Object, Type, kind_of, sure
from lochan.query.output.texts import array_texts, float_texts, scalar_texts, time_texts

_LEAST, _GREATEST = 1e-4, 1e9
_EXACT = re.compile(r"[0-9][.eE]|[0-9]{18}")  # it may be a number that needs exact parsing, or only a part of a string


SCHEMA = pa.schema([pa.field("ident", pa.large_string()), pa.field("line", pa.large_string())])
_TEXT = pa.large_string()
_ROWS = 32_768  # rows that are converted at a time

Column = Callable[[str], pa.Array]  # reads a column by its physical name


def object_lines(file: File, facts: Facts, keys: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Yields batches of SCHEMA for all rows of a data object. `ident` is NULL if a row lacks one of the keys or has
    null in it, and everywhere without keys."""
    shapes, layout = facts.dictionary(), facts.layout()
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(_ROWS):
            yield lines(batch, shapes, layout, keys)


def lines(batch: pa.RecordBatch, shapes: Mapping[int, Object], layout: Layout, keys: Sequence[Path]) -> pa.RecordBatch:
    if layout.body:
        return _from_texts(batch.column(BODY_COLUMN), keys)
    ids = batch.column(SHAPE_COLUMN).to_numpy(zero_copy_only=False)
    made, places = [], []
    for id in np.unique(ids):
        rows = np.flatnonzero(ids == id)
        some = batch if len(rows) == len(ids) else batch.take(pa.array(rows))
        made.append(_of_shape(shapes[int(id)], layout, some, keys))
        places.append(rows)
    if len(made) <= 1:
        return made[0] if made else SCHEMA.empty_table().to_batches()[0]
    back = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_batches(made).take(pa.array(back))


def _of_shape(shape: Object, layout: Layout, batch: pa.RecordBatch, keys: Sequence[Path]) -> pa.RecordBatch:
    count = len(batch)
    made = _object(shape, layout.members, batch.column, count)
    found = [_at(shape, path, layout.members, batch.column, count) for path in keys]
    return pa.RecordBatch.from_arrays([_ident(keys, found, count), made], schema=SCHEMA)


def _ident(keys: Sequence[Path], values: Sequence[pa.Array | None], count: int) -> pa.Array:
    if not keys or any(each is None for each in values):
        return pa.nulls(count, _TEXT)
    parts: list[Any] = []
    for number, (path, value) in enumerate(zip(keys, values, strict=True)):
        parts += [("," if number else "{") + quote_text(path_text(path)) + ":", value]
    return _join([*parts, "}"])


def _object(shape: Object, members: Iterable[Member], column: Column, count: int) -> pa.Array:
    by_name = {member.name: member for member in members}
    parts: list[Any] = []
    for name, type in sorted(shape.fields):
        parts += [("," if parts else "{") + quote_text(name) + ":", _value(type, by_name[name], column, count)]
    return _join([*parts, "}"]) if parts else _repeat("{}", count)


def _value(type: Type, member: Member, column: Column, count: int) -> pa.Array:
    if type == NULL:
        return _repeat("null", count)
    if isinstance(type, Array) and type.of is None:
        return _repeat("[]", count)
    made = _value_texts(sure(type), member, column, count)
    return pc.fill_null(made, "null") if isinstance(type, Maybe) else made


def _value_texts(type: str | Object | Array, member: Member, column: Column, count: int) -> pa.Array:
    """Returns the texts of a value, with NULL where its column is NULL: the value is null, or is in something that
    is."""
    kind = kind_of(type)
    own = member.alternate(kind)
    if isinstance(type, Object) and own is not None:
        made = _object(type, own.members, _member_column(column, own.column), count)
        return pc.if_else(column(own.column).is_valid(), made, pa.scalar(None, _TEXT)) if own.column else made
    if own is None or kind == JSON:
        return _each(column(_text_column(member)), of_text)
    if type == TEXT_TIME:
        return scalar_texts(_whole(column(own.original)), STRING).cast(_TEXT)
    values = _whole(column(own.column))
    if kind == TIME:
        assert isinstance(type, str)
        return _join(['"', time_texts(values, type.partition(":")[2]), '"'])
    if kind == ARRAY:
        return _lists(values, _sort_names(own.element))
    return _floats(values) if kind == FLOAT else scalar_texts(values, kind).cast(_TEXT)


def _at(shape: Object, path: Path, members: Iterable[Member], column: Column, count: int) -> pa.Array | None:
    """Returns the texts at the path, or None if every row has nothing or null there."""
    type, member = dict(shape.fields).get(path[0]), next((each for each in members if each.name == path[0]), None)
    if type is None or type == NULL or member is None:
        return None
    there = sure(type)
    if len(path) == 1:
        return _value_texts(there, member, column, count)
    own = member.alternate(kind_of(there))
    if isinstance(there, Object) and own is not None:
        return _at(there, path[1:], own.members, _member_column(column, own.column), count)
    if member.alternate(JSON) is None or (own is not None and own.kind != JSON):
        return None
    return _each(column(_text_column(member)), lambda text: _part(path[1:], read_value(text)))


def _from_texts(texts: pa.Array, keys: Sequence[Path]) -> pa.RecordBatch:
    """Returns the lines of rows that are stored as text, each with its own fields."""
    made = pa.array(map(of_text, texts.to_pylist()), _TEXT)
    rows = [read_value(text) for text in texts.to_pylist()] if keys else []
    found = [pa.array((_part(path, row) for row in rows), _TEXT) for path in keys]
    return pa.RecordBatch.from_arrays([_ident(keys, found, len(made)), made], schema=SCHEMA)


def _part(path: Path, value: Any) -> str | None:
    found = at(value, path)
    return None if found is None else one_line(found)


def _each(texts: pa.Array, write: Callable[[str], str | None]) -> pa.Array:
    """Applies `write` to every distinct text once."""
    packed = _whole(texts).dictionary_encode()
    made = pa.array(map(write, packed.dictionary.to_pylist()), _TEXT)
    return made.take(packed.indices)


def _floats(values: pa.Array) -> pa.Array:
    """Distinguishes NaN and the infinities from null and each other."""
    made = scalar_texts(values, FLOAT).cast(_TEXT)
    odd = pc.invert(pc.is_finite(values))
    if not pc.any(odd).as_py():
        return made
    words = [None if each is None else word(each) for each in pc.if_else(odd, values, None).to_pylist()]
    return pc.coalesce(pa.array(words, _TEXT), made)


def _lists(values: pa.Array, element: Type | None) -> pa.Array:
    made = array_texts(values, element)
    if not _has_odd_floats(values):
        return made
    both = zip(values.to_pylist(), made.to_pylist(), strict=True)
    return pa.array((one_line(value) if _is_odd(value) else text for value, text in both), _TEXT)


def _has_odd_floats(values: pa.Array) -> bool:
    if pa.types.is_struct(values.type):
        return any(_has_odd_floats(values.field(number)) for number in range(values.type.num_fields))
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return _has_odd_floats(values.values)
    return pa.types.is_floating(values.type) and bool(pc.any(pc.invert(pc.is_finite(values))).as_py())


def _is_odd(value: Any) -> bool:
    match value:
        case float():
            return not np.isfinite(value)
        case dict():
            return any(map(_is_odd, value.values()))
        case list():
            return any(map(_is_odd, value))
    return False


def _sort_names(type: Type | None) -> Type | None:
    """Sorts the names in elements of lists too."""
    if isinstance(type, Object):
        return Object(tuple((name, _sort_names(each) or NULL) for name, each in sorted(type.fields)))
    return Array(_sort_names(type.of)) if isinstance(type, Array) else type


def _member_column(column: Column, name: str) -> Column:
    def member(inner: str) -> pa.Array:
        return pc.struct_field(_whole(column(name)), [inner])

    return member


def _text_column(member: Member) -> str:
    text = member.alternate(JSON)
    assert text is not None, f"{member.name} has no column for text"
    return text.column


def _whole(values: pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _join(parts: Iterable[Any]) -> pa.Array:
    scalars = [pa.scalar(part, _TEXT) if isinstance(part, str) else part.cast(_TEXT) for part in parts]
    return pc.binary_join_element_wise(*scalars, pa.scalar("", _TEXT))


def _repeat(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, _TEXT), count)


# --- single values ---------------------------------------------------------------------------------------------------
def one_line(value: Any) -> str:
    """Returns the text of a value as the exact reader returns it (`pools/json_row.py`)."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return _float(value)
        case str():
            return quote_text(value)
        case dict():
            return "{" + ",".join(f"{quote_text(name)}:{one_line(value[name])}" for name in sorted(value)) + "}"
        case list():
            return "[" + ",".join(map(one_line, value)) + "]"
        case datetime():
            return quote_text(times.render(times.micros_of(value), times.NATIVE))
        case date():
            return quote_text(value.isoformat())
    raise TypeError(f"a row cannot hold a {type(value).__name__}")


def of_text(text: str) -> str:
    """Returns `one_line` of a JSON text. If it has no fraction and no long number, orjson writes the same, three times
    as fast."""
    if _EXACT.search(text):
        return one_line(read_value(text))
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()


def at(value: Any, path: Path) -> Any:
    """Returns the value at the path, or None if it is missing or null."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def quote_text(text: str) -> str:
    return orjson.dumps(text).decode()


def word(value: float) -> str:
    """Returns the text of NaN and the infinities, which JSON does not have."""
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _float(value: float) -> str:
    """Writes a float as Arrow does. For medium values, Python writes the same."""
    return repr(value) if _LEAST <= abs(value) < _GREATEST else _arrow_float(value)


@lru_cache(10_000)
def _arrow_float(value: float) -> str:
    return float_texts(pa.array([value]))[0].as_py() if isfinite(value) else word(value)
