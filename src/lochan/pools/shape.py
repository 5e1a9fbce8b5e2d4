"""A row's shape: its names and kinds, in order, all the way down. Stored in entries and Parquet footers.

    {"a": 1, "b": {"c": null}, "d": ["x"]}    has the shape    a int · b {c null} · d [string]

Two rows of one shape differ in their values alone, so a shape's number beside the values is enough to restore the row
as it was: what is missing, what is null, and the order of the fields.

    null bool int float string    as in JSON; an int has 64 bits
    int? string? {c int}? …       this or null: the column decides (pools/nullable_shapes.py)
    time:FORMAT                   a string, or a timestamp of a file, that FORMAT reproduces (pools/times.py)
    json                          anything else, kept as its text: an int beyond 64 bits, a list of mixed kinds
    time:text                     a time whose text is kept beside it
    decimal:SCALE                 not in rows: the type of a column of numbers beside such texts (pools/layout.py)

A *leaf* is the values of one kind at one path of a row, as a column."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple

import msgspec

from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, FLOAT, INT, JSON, NULL, OBJECT, ORIGINAL, SCALARS, STRING, TIME

TEXT_TIME = f"{TIME}:text"  # the type of a time whose text is kept beside it
_WITH_MORE = (f"{TIME}:", f"{DECIMAL}:")  # prefixes of types that are more than their kind
DEPTH_MAX = 32  # deeper values are kept as text; engines refuse far deeper ones
_FLAT_FIELDS_MAX = 64  # of rows whose shape is kept
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1


class Object(msgspec.Struct, frozen=True, array_like=True, tag="o"):
    fields: tuple[tuple[str, Type], ...]

    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)


class Array(msgspec.Struct, frozen=True, array_like=True, tag="a"):
    """All elements have one type. Any of them, and any value within them, may be null."""

    of: Type | None  # None if it is empty


class Maybe(msgspec.Struct, frozen=True, array_like=True, tag="m"):
    """Null in rows where the column is NULL, else this type. The type has a column in every layout, and is never null.
    Lists do not use it, because their elements may always be null."""

    of: Type


Type = str | Object | Array | Maybe
Shape = Object


def kind_of(type: Type) -> str:
    """Returns the kind without details: object, array, time without its format, and so on. For a nullable type, it is
    the kind of values that are not null."""
    if isinstance(type, str):
        return type.partition(":")[0] if type.startswith(_WITH_MORE) else type
    if isinstance(type, Maybe):
        return kind_of(type.of)
    return OBJECT if isinstance(type, Object) else ARRAY


def sure(type: Type) -> str | Object | Array:
    """Returns the type of values that are not null."""
    while isinstance(type, Maybe):
        type = type.of
    return type


def type_at(type: Type, path: Iterable[str]) -> Type | None:
    """Returns the type at the path, if nothing above it is null, or None if there is nothing."""
    for name in path:
        above = sure(type)
        if not isinstance(above, Object):
            return None
        inner = next((each for field, each in above.fields if field == name), None)
        if inner is None:
            return None
        type = inner
    return type


def decides_nulls(type: Type) -> bool:
    """Returns whether the type alone determines which fields are null."""
    if isinstance(type, Object):
        return all(decides_nulls(each) for _, each in type.fields)
    return not isinstance(type, Maybe)


def encode(shape: Type) -> bytes:
    return msgspec.json.encode(shape)


def decode(data: bytes | str) -> Type:
    shape: Type = _decoder.decode(data)
    return shape


def shape_id(shape: Shape, taken: Mapping[int, Shape]) -> int:
    """Returns a number computed from the shape, so that objects of one pool agree. If another shape of the object has
    that number, returns the next free one."""
    id = int.from_bytes(hashlib.sha256(encode(shape)).digest()[:4], "big") & 0x7FFFFFFF
    while id == 0 or taken.get(id, shape) != shape:
        id = (id + 1) & 0x7FFFFFFF
    return id


def number_shapes(shapes: Iterable[Shape]) -> dict[int, Shape]:
    """Returns a dictionary of these shapes that does not depend on their order."""
    by_id: dict[int, Shape] = {}
    for shape in sorted(set(shapes), key=encode):
        by_id[shape_id(shape, by_id)] = shape
    return by_id


def type_of(value: Any, depth: int = 0) -> Type:
    """Returns the type of a value as the exact reader returns it (pools/json_row.py): a Decimal is a number that no
    double represents. This is for single rows; an engine determines the types of whole files."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT if _INT_MIN <= value <= _INT_MAX else JSON
        case float():
            return FLOAT
        case Decimal():
            return JSON
        case datetime():
            return f"{TIME}:native"
        case date():
            return f"{TIME}:YYYY-MM-DD"
        case str():
            return STRING
        case dict():
            if depth == DEPTH_MAX:
                return JSON
            if not all(isinstance(name, str) for name in value):
                raise TypeError("the name of a field must be a string")
            return Object(tuple((name, type_of(each, depth + 1)) for name, each in value.items()))
        case list():
            return JSON if depth == DEPTH_MAX else _array(value, depth)
    raise TypeError(f"a JSON value cannot be a {type(value).__name__}")


def flat_shape(row: dict[str, Any]) -> Object | None:
    """Returns the same as `type_of`, sooner, for a row of scalars that most rows have; None: it has others."""
    if len(row) > _FLAT_FIELDS_MAX:
        return None
    kinds = tuple([(name, each.__class__) for name, each in row.items()])
    shape = _shape_of_kinds(kinds)
    if shape is not None and int in [kind for _, kind in kinds]:
        for each in row.values():
            if each.__class__ is int and not _INT_MIN <= each <= _INT_MAX:
                return None
    return shape


@lru_cache(1_024)
def _shape_of_kinds(kinds: tuple[tuple[str, type], ...]) -> Object | None:
    types = [(name, _SCALARS.get(kind)) for name, kind in kinds]
    if not all(isinstance(name, str) and type is not None for name, type in types):
        return None
    return Object(tuple((name, type) for name, type in types if type is not None))


_SCALARS: dict[type, Type] = {NoneType: NULL, bool: BOOL, int: INT, float: FLOAT, str: STRING}


def _array(values: list[Any], depth: int) -> Type:
    of: Type | None = None
    for value in values:
        both = unify(of, type_of(value, depth + 1))
        if both is None:
            return JSON
        of = both
    return Array(of)


def unify(one: Type | None, other: Type | None) -> Type | None:
    """Returns the type of list elements that covers both, or None. Within a list nothing can be missing, so a null
    needs no type."""
    if one is None or one == other or (one == NULL and other is not None):
        return other
    if other is None or other == NULL:
        return one
    if isinstance(one, Object) and isinstance(other, Object):
        return _unified_objects(one, other)
    if isinstance(one, Array) and isinstance(other, Array):
        of = unify(one.of, other.of)
        return None if of is None and (one.of, other.of) != (None, None) else Array(of)
    return None


def _unified_objects(one: Object, other: Object) -> Object | None:
    if one.names() != other.names():
        return None
    fields = []
    for (name, left), (_, right) in zip(one.fields, other.fields, strict=True):
        both = unify(left, right)
        if both is None:
            return None
        fields.append((name, both))
    return Object(tuple(fields))


_decoder = msgspec.json.Decoder(Type)


Path = tuple[str, ...]


class Leaf(NamedTuple):
    path: Path
    kind: str  # null, bool, int, float, string, time, object, array, json, decimal, original

    @property
    def column(self) -> str:
        """The name of the leaf's column. A dot in a name is escaped by a backslash, so no two leaves share a column.
        Engines treat `a` and `A` as one, so the column of a path with capitals also encodes their positions."""
        text = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in self.path)
        capitals = sum(1 << at for at, letter in enumerate(text) if "A" <= letter <= "Z")
        return f"{text}:{self.kind}:{capitals:x}" if capitals else f"{text}:{self.kind}"

    @classmethod
    def of_column(cls, name: str) -> Leaf:
        """Returns the leaf of a column. If the column is not that of a leaf, the result has no valid kind."""
        text, _, kind = name.rpartition(":")
        if kind not in _KINDS:  # it encodes the capitals
            text, _, kind = text.rpartition(":")
        names = [""]
        for token in _TOKEN.findall(text):
            if token == ".":
                names.append("")
            else:
                names[-1] += token.removeprefix("\\") if len(token) == 2 else token
        return cls(tuple(names), kind)


_TOKEN = re.compile(r"\\.|.", re.DOTALL)
_KINDS = frozenset((*SCALARS, NULL, OBJECT, ARRAY, JSON, DECIMAL, ORIGINAL))
