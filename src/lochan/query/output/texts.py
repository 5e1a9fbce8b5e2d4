"""Rows as JSON texts, made column by column: no row ever becomes a Python object. Each value is a text already when the
text of the object around it is joined.

Numbers have one writer here, for results of every engine: a float is the shortest text that reads back to it, and
always looks like a float. NaN and the infinities, which JSON cannot express, are null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lochan.pools import times
from lochan.pools.json_row import read_value, row_text
from lochan.pools.kinds import ARRAY, NULL, OBJECT, STRING, TIME
from lochan.pools.shape import Array, Object, Type, kind_of, sure
from lochan.query.output.columns import BodyText, Column, FieldOrder, Names

_TEXT = pa.large_string()
_UGLY = r'[\x00-\x1f"\\]'


def texts(batch: pa.RecordBatch, row: Column) -> pa.Array:
    """Returns one JSON text for each row."""
    return value_texts(batch, row)


def value_texts(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Returns the texts of a value, with NULL where it is missing."""
    found = [kind_texts(batch, kind, name, column) for kind, name in column.kinds.items()]
    if not found:
        found = [pa.nulls(len(batch), _TEXT)]
    whole = found[0] if len(found) == 1 else pc.coalesce(*found)
    return pc.fill_null(whole, "null") if column.nothing == NULL else whole


def kind_texts(batch: pa.RecordBatch, kind: str, name: str, column: Column) -> pa.Array:
    """Returns the texts of the values of one kind, with NULL for all others."""
    if kind == OBJECT:
        made = _objects(batch, column)
        return made if not name else _where(_array(batch, name), made)
    if kind == NULL:
        null = _repeat("null", len(batch))
        return null if not name else _where(_array(batch, name), null)
    if kind == TIME:
        return _quote(times_of(batch, column))
    values = _array(batch, name)
    if kind == ARRAY:
        return array_texts(values, column.element)
    return scalar_texts(values, kind)


def scalar_texts(values: pa.Array, kind: str) -> pa.Array:
    match kind:
        case "bool":
            return pc.if_else(values, _scalar("true"), _scalar("false"))
        case "int":
            return values.cast(_TEXT)
        case "float":
            return float_texts(values)
        case "string":
            return string_texts(values)
        case "json" | "decimal":
            return values.cast(_TEXT)
        case "duration":
            return _quote(duration_texts(values))
        case "ip":
            return _quote(pa.array([ip_text(each) for each in values.to_pylist()], _TEXT))
    raise AssertionError(f"no text for the kind {kind}")


# ── scalars ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def float_texts(values: pa.Array) -> pa.Array:
    written = values.cast(_TEXT)
    whole = pc.equal(pc.floor(values), values)
    if pc.any(whole).as_py():
        bare = pc.and_(whole, pc.invert(pc.match_substring(written, "e")))  # with an exponent it looks like a float
        written = pc.if_else(bare, _join([written, _scalar(".0")]), written)
    spoken = pc.is_finite(values)
    return written if pc.all(spoken).as_py() is not False else pc.if_else(spoken, written, _scalar("null"))


def string_texts(values: pa.Array) -> pa.Array:
    return _quote(_escape(values))


def _escape(values: pa.Array) -> pa.Array:
    """Returns the texts between the quotes."""
    values = values.cast(_TEXT)
    if not pc.any(pc.match_substring_regex(values, _UGLY)).as_py():
        return values
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        values = pc.replace_substring(values, plain, written)
    for code in (code for code in range(0x20) if chr(code) not in "\n\r\t"):
        letter = chr(code)
        if pc.any(pc.match_substring(values, letter)).as_py():
            values = pc.replace_substring(values, letter, orjson.dumps(letter).decode()[1:-1])
    return values


def duration_texts(values: pa.Array) -> pa.Array:
    texts = (None if each is None else duration_text(each) for each in values.to_pylist())
    return pa.array(texts, _TEXT)


def duration_text(micros: int) -> str:
    """Returns a duration as the language writes it, such as 1d2h3m4.5s, without the parts that are zero."""
    rest, parts = abs(micros), []
    for unit, length in (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000)):
        count, rest = divmod(rest, length)
        parts += [f"{count}{unit}"] if count else []
    if rest or not parts:
        seconds, fraction = divmod(rest, 1_000_000)
        parts.append(f"{seconds}" + (f".{fraction:06}".rstrip("0") if fraction else "") + "s")
    return ("-" if micros < 0 else "") + "".join(parts)


def ip_text(digits: str | None) -> str | None:
    """Returns an address from its digits."""
    import ipaddress

    return None if digits is None else str(ipaddress.ip_address(bytes.fromhex(digits[1:])))


def times_of(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Returns times in their original format, unless the query made them."""
    values, format = _array(batch, column.kinds[TIME]), column.format
    if format is not None and format.original:
        plain = replace(column, format=replace(format, original=""))
        return pc.coalesce(_array(batch, format.original).cast(_TEXT), times_of(batch, plain))
    if format is None or not format.column:
        return time_texts(values, format.constant if format is not None else "")
    numbers = _array(batch, format.column)
    whole = pa.nulls(len(batch), _TEXT)
    for number in pc.unique(numbers).to_pylist():
        here = pc.fill_null(pc.equal(numbers, number), False)
        whole = pc.if_else(here, time_texts(values, format.by_number.get(number, "")), whole)
    return whole


def time_texts(values: pa.Array, format: str) -> pa.Array:
    """Returns the texts of times. Without a format, a time is written in the shortest way, in UTC."""
    stored = values.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(values.type) else values
    return times.render_all(stored.cast(pa.timestamp("us")), format or times.NATIVE).cast(_TEXT)


# ── arrays and objects ───────────────────────────────────────────────────────────────────────────────────────────────


def array_texts(values: pa.Array, element: Type | None) -> pa.Array:
    values = values.cast(pa.large_list(values.type.value_type))
    inner = pc.fill_null(typed_texts(values.values, element), "null")
    lists = pa.LargeListArray.from_arrays(values.offsets, inner.cast(_TEXT))
    joined = pc.binary_join(lists, _scalar(","))
    made = _join([_scalar("["), joined, _scalar("]")])
    return pc.if_else(values.is_valid(), made, pa.scalar(None, _TEXT))


def typed_texts(values: pa.Array, type: Type | None) -> pa.Array:
    """Returns the texts of values inside an array, where NULL is null."""
    type = None if type is None else sure(type)
    if isinstance(type, Array):
        return array_texts(values, type.of)
    if isinstance(type, Object):
        fragments: list[Any] = [_scalar("{")]
        for at, (name, each) in enumerate(type.fields):
            key = ("," if at else "") + orjson.dumps(name).decode() + ":"
            member = pc.struct_field(values, [name])
            fragments += [_scalar(key), pc.fill_null(typed_texts(member, each), "null")]
        made = _join([*fragments, _scalar("}")])
        return pc.if_else(values.is_valid(), made, pa.scalar(None, _TEXT))
    if type is None or type == NULL:
        return pa.nulls(len(values), _TEXT)
    if kind_of(type) == TIME:
        return _quote(time_texts(values, type[5:]))
    return scalar_texts(values, kind_of(type))


def _objects(batch: pa.RecordBatch, column: Column) -> pa.Array:
    members = {name: _piece(batch, each) for name, each in column.members}
    if column.order is None:
        made = _object_texts(members, [name for name, _ in column.members], len(batch))
    else:
        made = _by_order(batch, column.order, members)
    return made if column.body is None else pc.coalesce(_from_body(batch, column.body, members), made)


class _Piece(NamedTuple):
    """A member's texts without the text that all of them begin and end with, which is joined to the name once."""

    before: str
    texts: pa.Array
    behind: str

    def take(self, some: pa.Array) -> _Piece:
        return self._replace(texts=self.texts.take(some))

    def whole(self) -> pa.Array:
        return _join([_scalar(self.before), self.texts, _scalar(self.behind)])


def _piece(batch: pa.RecordBatch, column: Column) -> _Piece:
    kinds = list(column.kinds)
    if column.nothing != NULL and kinds == [STRING]:
        return _Piece('"', _escape(_array(batch, column.kinds[STRING])), '"')
    if column.nothing != NULL and kinds == [TIME]:
        return _Piece('"', times_of(batch, column), '"')
    return _Piece("", value_texts(batch, column), "")


def _by_order(batch: pa.RecordBatch, order: FieldOrder, members: dict[str, _Piece]) -> pa.Array:
    """Makes the rows of each order together, and then puts each in its place."""
    numbers = pc.fill_null(_array(batch, order.column).cast(pa.int64()), -(1 << 62)).to_numpy(zero_copy_only=False)
    parts, places = [], []
    for number in np.unique(numbers):
        at = np.flatnonzero(numbers == number)
        places.append(at)
        some = pa.array(at)
        names = [name for name in order.by_number.get(int(number), tuple(members)) if name in members]
        parts.append(_object_texts({name: members[name].take(some) for name in names}, names, len(at)))
    if not parts:
        return pa.array([], _TEXT)
    back = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(back))


def _object_texts(members: dict[str, _Piece], names: Sequence[str], count: int) -> pa.Array:
    """Joins all members at once. Only members that some rows lack are joined to their names before."""
    if not names:
        return _repeat("{}", count)
    parts: list[Any] = []
    pending = "{"
    for name in names:
        before, texts, behind = members[name]
        key = f"{'' if pending == '{' and not parts else ','}{orjson.dumps(name).decode()}:{before}"
        if texts.null_count:
            key = key if key[0] == "," else f",{key}"
            parts += [_scalar(pending), _join([_scalar(key), texts, _scalar(behind)])]
            pending = ""
        else:
            parts += [_scalar(pending + key), texts]
            pending = behind
    joined = pc.binary_join_element_wise(
        *parts, _scalar(f"{pending}}}"), _scalar(""), null_handling="replace", null_replacement=""
    )
    first_may_lack = bool(members[names[0]].texts.null_count)
    return pc.replace_substring(joined, "{,", "{", max_replacements=1) if first_may_lack else joined


def _from_body(batch: pa.RecordBatch, body: BodyText, members: dict[str, _Piece]) -> pa.Array:
    """Returns the text unchanged, unless the query changed something in it. Then it is edited row by row, because each
    has its own fields. It is NULL for rows that are not text."""
    rows = _array(batch, body.column).cast(_TEXT)
    if not body.edits:
        return rows
    made = {name: members[name].whole().to_pylist() for name in body.made if name in members}
    edited = (None if text is None else _edit(text, at, body, made) for at, text in enumerate(rows.to_pylist()))
    return pa.array(edited, _TEXT)


def _edit(text: str, at: int, body: BodyText, made: dict[str, list[str | None]]) -> str:
    row = read_value(text)
    names: Names = tuple(row)
    for edit in body.edits:
        names = edit(names)
    fields = []
    for name in names:
        value = made[name][at] if name in made else row_text(row[name]) if name in row else None
        if value is not None:
            fields.append(f"{orjson.dumps(name).decode()}:{value}")
    return "{" + ",".join(fields) + "}"


# ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _array(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _join(parts: Iterable[Any]) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _scalar(""))


def _quote(values: pa.Array) -> pa.Array:
    return _join([_scalar('"'), values.cast(_TEXT), _scalar('"')])


def _repeat(text: str, count: int) -> pa.Array:
    return pa.repeat(_scalar(text), count)


def _where(flags: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(flags, False), values, pa.scalar(None, _TEXT))
