"""Decides which Parquet columns hold the rows of several shapes. Stored on disk.

    one kind at a path                  x            a plain column; a struct for objects, a list for arrays
    several kinds                       x#i x#f …    a column for each; a row has a value in at most one
    times of the format `text`          x#o          their original texts, beside the column of times
    objects or lists among other kinds, or lists that differ, or kind json
                                        x#j          these as JSON text; scalars have their own columns
    numbers among these texts           x#d          DECIMAL(38, s), NULL where x#j is not a number

A field that is always null, or an object without fields, has no column: the shape alone determines it. A `#` in a
field's own name is doubled, and a reserved name gets a leading `#`, so column names never collide.

If an object would need too many columns, or two names differ in case alone, each row is kept as text (`_body`). Then
only the fields of the key have columns, for sorting and statistics.

`x#d` holds numbers that neither 64 bits nor a double can represent, so that engines can compare, sort and add them. Its
scale s is the one that the values of the object need. It has all numbers among the texts of a column, or the object has
no such column. Then the texts are read, as in objects that were written before `x#d` existed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, FLOAT, INT, JSON, NULL, OBJECT, SCALARS, STRING, TIME
from lochan.pools.nullable_shapes import join_shapes
from lochan.pools.shape import TEXT_TIME, Array, Object, Type, kind_of, sure, unify

SHAPE_COLUMN, BODY_COLUMN = "_shape", "_body"
COLUMNS_MAX = SHAPES_MAX = 1_000  # beyond these, writing and reading cost more than text
_OURS = frozenset((SHAPE_COLUMN, BODY_COLUMN))
_MARKS = {BOOL: "#b", INT: "#i", FLOAT: "#f", STRING: "#s", TIME: "#t", JSON: "#j"}
_ORIGINAL = "#o"


class Alternate(NamedTuple):
    """The column for values of one kind at one path."""

    kind: str
    column: str  # the physical name, within the parent's struct; empty if there is nothing to store
    members: tuple[Member, ...] = ()  # only for an object
    element: Type = NULL  # only for an array
    original: str = ""  # for times: the column of texts that the time does not reproduce, if there is one

    def leaves(self) -> int:
        if self.kind == OBJECT:
            return sum(member.leaves() for member in self.members)
        return len(list(self.columns()))

    def columns(self) -> Iterator[tuple[str, Type]]:
        """Yields the columns with their types."""
        if self.column:
            yield self.column, column_type(self)
        if self.original:
            yield self.original, STRING


class Member(NamedTuple):
    """A field of the rows, or of an object in them."""

    name: str
    alternates: tuple[Alternate, ...]  # in the order of SCALARS, then object, array, json

    def leaves(self) -> int:
        return sum(alternate.leaves() for alternate in self.alternates)

    def alternate(self, kind: str) -> Alternate | None:
        return next((alternate for alternate in self.alternates if alternate.kind == kind), None)


class Layout(NamedTuple):
    members: tuple[Member, ...]
    body: bool = False

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)


def lay_out(shapes: Iterable[Object], keys: Iterable[tuple[str, ...]] = ()) -> Layout:
    """Lays out the columns. The result does not depend on the order of the shapes. `keys` are the paths that are always
    columns."""
    shapes = list(shapes)
    if len(shapes) <= SHAPES_MAX or len(set(join_shapes(shapes).values())) <= SHAPES_MAX:
        members = _members(shapes)
        if sum(member.leaves() for member in members) <= COLUMNS_MAX and not _clash(members):
            return Layout(members)
    return body_layout(shapes, keys)


def body_layout(shapes: Iterable[Object], keys: Iterable[tuple[str, ...]]) -> Layout:
    """Returns the layout of rows that are kept as text. Without shapes nothing has a column, not even the keys."""
    return Layout(tuple(_of_keys(list(shapes), keys)), body=True)


def physical(name: str) -> str:
    escaped = name.replace("#", "##")
    return f"#{escaped or '_'}" if name.lower() in _OURS or not name else escaped


def column_type(alternate: Alternate) -> Type:
    """Returns the type of the column, with the physical names of a struct's members."""
    if alternate.kind == OBJECT:
        return Object(
            tuple(column for member in alternate.members for each in member.alternates for column in each.columns())
        )
    if alternate.kind == ARRAY:
        return Array(alternate.element)
    return STRING if alternate.kind == JSON else alternate.kind


def columns(layout: Layout) -> Iterator[tuple[str, Type]]:
    """Yields every column of the file except `_shape` and `_body`, with its type, in order."""
    for member in layout.members:
        for alternate in member.alternates:
            yield from alternate.columns()


def column_of(layout: Layout, path: tuple[str, ...], kind: str) -> tuple[str, ...] | None:
    """Returns the column for this kind at the path, and the members of its structs, or None if there is none."""
    members, columns = layout.members, list[str]()
    for depth, name in enumerate(path, 1):
        member = next((each for each in members if each.name == name), None)
        found = member.alternate(kind if depth == len(path) else OBJECT) if member else None
        if found is None or not found.column:
            return None
        members = found.members
        columns.append(found.column)
    return tuple(columns)


def _members(objects: list[Object]) -> tuple[Member, ...]:
    """Returns the members sorted by name, so that the order of the shapes does not matter."""
    types: dict[str, set[Type]] = {}
    for each in objects:
        for name, type in each.fields:
            types.setdefault(name, set()).add(sure(type))
    return tuple(Member(name, _alternates(name, types[name])) for name in sorted(types))


def _alternates(name: str, types: set[Type]) -> tuple[Alternate, ...]:
    kinds = {kind_of(type) for type in types} - {NULL}
    scalars = [kind for kind in SCALARS if kind in kinds]
    others = kinds - set(scalars)
    composite = _composite(name, types, others, alone=not scalars) if others else None
    several = len(scalars) + (composite is not None) > 1
    found = [_scalar(kind, physical(name), types, marked=several) for kind in scalars]
    return (*found, composite) if composite is not None else tuple(found)


def _scalar(kind: str, name: str, types: Iterable[Type], *, marked: bool) -> Alternate:
    original = name + _ORIGINAL if kind == TIME and TEXT_TIME in types else ""
    return Alternate(kind, name + (_MARKS[kind] if marked else ""), original=original)


def _composite(name: str, types: set[Type], kinds: set[str], *, alone: bool) -> Alternate:
    if alone and kinds == {OBJECT}:
        members = _members([type for type in types if isinstance(type, Object)])
        column = physical(name) if any(member.leaves() for member in members) else ""
        return Alternate(OBJECT, column, members)
    if alone and kinds == {ARRAY}:
        element = _element([type for type in types if isinstance(type, Array)])
        if element is not None and is_typed(element):
            return Alternate(ARRAY, physical(name), element=element)
    return Alternate(JSON, physical(name) + _MARKS[JSON])


def _element(arrays: list[Array]) -> Type | None:
    of: Type | None = None
    for array in arrays:
        both = unify(of, array.of)
        if both is None and (of, array.of) != (None, None):
            return None
        of = both
    return of


def is_typed(type: Type | None) -> bool:
    """Returns whether a column can hold it. A list of nulls alone, or of objects without fields, has no type."""
    if isinstance(type, Object):
        names = [name for name, _ in type.fields]
        folded = {name.lower() for name in names if name and "\0" not in name}
        return bool(names) and len(folded) == len(names) and all(is_typed(each) for _, each in type.fields)
    if isinstance(type, Array):
        return is_typed(type.of)
    return type not in (None, NULL, JSON)


def _clash(members: tuple[Member, ...]) -> bool:
    """Returns whether names cannot be columns side by side: DuckDB treats `a` and `A` as one column, cuts a name at a
    NUL, and reads no field without a name from JSON."""
    if len({member.name.lower() for member in members}) < len(members):
        return True
    if any(not member.name or "\0" in member.name for member in members):
        return True
    return any(_clash(alternate.members) for member in members for alternate in member.alternates)


def _of_keys(shapes: list[Object], keys: Iterable[tuple[str, ...]]) -> Iterator[Member]:
    for path in sorted(set(keys)):
        types = {sure(type) for shape in shapes for type in _at(shape, path)}
        scalars = tuple(
            _scalar(kind, ".".join(map(physical, path)), types, marked=True)
            for kind in SCALARS
            if kind in {kind_of(type) for type in types}
        )
        yield Member(".".join(path), scalars)


def _at(shape: Object, path: tuple[str, ...]) -> Iterator[Type]:
    for name, type in shape.fields:
        if name == path[0]:
            if len(path) == 1:
                yield type
            elif isinstance(inner := sure(type), Object):
                yield from _at(inner, path[1:])


# --- columns of decimals beside their texts --------------------------------------------------------------------------
DIGITS_MAX = 38  # digits of a decimal, in both engines
Column = tuple[str, ...]  # physical names of a column and the members of its structs


class DecimalColumn(msgspec.Struct, frozen=True, array_like=True):
    text: Column  # the column of texts
    column: str  # empty if there are no numbers among the texts
    whole: int = 0  # the most digits before the point
    scale: int = 0  # the most digits after the point
    alone: bool = False  # whether every text is a number

    @property
    def type(self) -> str:
        return f"{DECIMAL}:{self.scale}"


def scale_of(type: Type) -> int:
    """Returns the scale in the type of a column of decimals."""
    return int(str(type).partition(":")[2])


def column_name(text: Column) -> str:
    """Returns the name in the file. No user's name contains a single `#`."""
    return f"{'#.'.join(text).removesuffix('#j')}#d"


def text_columns(layout: Layout) -> Iterator[Column]:
    """Yields the columns of text that may contain numbers."""
    if not layout.body:
        yield from _text_columns(layout.members, ())


def _text_columns(members: Iterable[Member], above: Column) -> Iterator[Column]:
    for member in members:
        for alternate in member.alternates:
            if alternate.kind == JSON:
                yield (*above, alternate.column)
            elif alternate.kind == OBJECT:
                yield from _text_columns(alternate.members, (*above, alternate.column))
