"""Shapes whose fields have the same kinds and the same order, so that their rows are proven together.

    {"a": 1, "c": 2}    {"b": 3, "c": 4}    {"c": 5}        one family:  a?  b?  c

The text of a row is written once from its present parsed fields, and compared with the row (`shape_proof`). A number,
the *mask*, says which fields are present, and so determines the shape. So the time for a row does not depend on how
many shapes there are. A field that may be absent must have a column that is NULL only then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lochan.engines.duckdb.load.columns import ROW
from lochan.engines.duckdb.load.shape_proof import Style, concat_sql, written_value
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.formats.pool_settings import Path
from lochan.pools.json_row import row_text
from lochan.pools.kinds import BOOL, FLOAT, INT, NULL, OBJECT, STRING, TIME
from lochan.pools.layout import Layout, Member
from lochan.pools.shape import Array, Object, Type, kind_of

SHAPES_MIN = 4  # fewer shapes are proven one after the other
_FAMILIES_MAX = 4  # each row is written once for each of them until one fits
_TRIED_MAX = 16  # if there are so many families, shapes that fit into none of them are proven by themselves
_MASK_BITS = 62


class FamilyField(NamedTuple):
    name: str
    type: Type
    members: tuple[FamilyField, ...] = ()  # the fields of an object
    optional: bool = False


class Family(NamedTuple):
    fields: tuple[FamilyField, ...]
    style: Style
    shapes: tuple[Object, ...]

    def masks(self, shape: Object) -> tuple[int, ...]:
        """Returns, as bits, which fields that may be absent in others the shape has."""
        found = [0] * _words(self)
        for bit, there in enumerate(_present(self.fields, shape)):
            found[bit // _MASK_BITS] |= there << bit % _MASK_BITS
        return tuple(found)


class FamilyProof(NamedTuple):
    """The SQL of a proof, over `line` and its parsed struct."""

    test: str
    masks: tuple[str, ...]


def families(shapes: Sequence[Object], styles: Mapping[Object, Style]) -> list[Family]:
    """Returns the largest families. Shapes that are in none of them are alone, or do not fit together."""
    found: list[Family] = []
    by_size = sorted(shapes, key=lambda shape: -len(shape.fields))
    for shape in by_size:
        style, own = styles.get(shape, Style()), _fields(shape)
        for number, family in enumerate(found):
            merged = _merge_fields(family.fields, own) if family.style == style else None
            if merged is not None:
                found[number] = Family(merged, style, (*family.shapes, shape))
                break
        else:
            if len(found) < _TRIED_MAX:
                found.append(Family(own, style, (shape,)))
    found.sort(key=lambda family: -len(family.shapes))
    return [family for family in found[:_FAMILIES_MAX] if len(family.shapes) >= SHAPES_MIN]


def prove(family: Family, layout: Layout, times: Collection[Path] = ()) -> FamilyProof | None:
    """Returns the proof of a family, or None if something in it cannot be proven this way."""
    writer = _Writer(family.style, times)
    text = writer.object(family.fields, layout.members, ROW, ())
    if text is None:
        return None
    words: list[list[str]] = [[] for _ in range(_words(family))]
    for bit, is_there in enumerate(writer.bits):
        words[bit // _MASK_BITS].append(f"({is_there})::BIGINT * {1 << bit % _MASK_BITS}")
    test = " AND ".join([f"line = {concat_sql([text, text_sql(chr(10))])}", *writer.tests])
    return FamilyProof(test, tuple(" + ".join(word) or "0::BIGINT" for word in words))


# --- which shapes fit together ---------------------------------------------------------------------------------------
def _fields(shape: Object) -> tuple[FamilyField, ...]:
    return tuple(
        FamilyField(name, NULL, _fields(type)) if isinstance(type, Object) and type.fields else FamilyField(name, type)
        for name, type in shape.fields
    )


def _merge_fields(left: Sequence[FamilyField], right: Sequence[FamilyField]) -> tuple[FamilyField, ...] | None:
    """Returns the fields of both, or None if a field has two kinds or another order, or if no column would show that
    one is absent."""
    places = {field.name: number for number, field in enumerate(left)}
    made: list[FamilyField | None] = []
    at = 0
    for field in right:
        place = places.get(field.name)
        if place is None:
            made.append(_optional(field))
            continue
        if place < at:
            return None
        made += map(_optional, left[at:place])
        made.append(_same(left[place], field))
        at = place + 1
    made += map(_optional, left[at:])
    fields = tuple(field for field in made if field is not None)
    return fields if len(fields) == len(made) else None


def _same(left: FamilyField, right: FamilyField) -> FamilyField | None:
    optional = left.optional or right.optional
    if left.members and right.members:
        members = _merge_fields(left.members, right.members)
        return None if members is None else FamilyField(left.name, NULL, members, optional)
    return left if left._replace(optional=False) == right._replace(optional=False) else None


def _optional(field: FamilyField) -> FamilyField | None:
    return field._replace(optional=True) if _has_column(field) else None


def _has_column(field: FamilyField) -> bool:
    if field.members:
        return any(map(_has_column, field.members))
    if isinstance(field.type, Array):
        return field.type.of in (BOOL, INT, STRING)
    return isinstance(field.type, str) and kind_of(field.type) in (BOOL, INT, FLOAT, STRING, TIME)


def _words(family: Family) -> int:
    return max(1, -(-_optionals(family.fields) // _MASK_BITS))


def _optionals(fields: Iterable[FamilyField]) -> int:
    return sum(field.optional + _optionals(field.members) for field in fields)


def _present(fields: Iterable[FamilyField], shape: Object | None) -> Iterator[bool]:
    """Yields, for each field that may be absent, whether the shape has it. `shape` is None within an absent object."""
    types = {} if shape is None else dict(shape.fields)
    for field in fields:
        type = types.get(field.name)
        if field.optional:
            yield type is not None
        yield from _present(field.members, type if isinstance(type, Object) else None)


# --- as SQL ----------------------------------------------------------------------------------------------------------
class _Writer:
    def __init__(self, style: Style, times: Collection[Path]) -> None:
        self._style = style
        self._times = times
        self.tests: list[str] = []
        self.bits: list[str] = []  # in the order of `_present`

    def object(
        self, fields: Sequence[FamilyField], members: Sequence[Member], of: str, above: Path, unless: str = ""
    ) -> str | None:
        """Returns the SQL for the text of an object, or None if it cannot be proven this way. `unless` is true where
        the object is absent."""
        by_name = {member.name: member for member in members}
        comma, pieces = text_sql(self._style.comma), []
        first = next((number for number, field in enumerate(fields) if not field.optional), None)
        for number, field in enumerate(fields):
            value = f"{of}.{name_sql(field.name)}"
            absent = f"{value} IS NULL" if field.optional else unless
            if field.optional:
                self.bits.append(f"{value} IS NOT NULL")
            written = self._field(field, by_name[field.name], value, (*above, field.name), absent)
            if written is None:
                return None
            parts = [text_sql(row_text(field.name) + self._style.colon), written]
            if first is None or number > first:
                parts = [comma, *parts]
            elif number < first:
                parts = [*parts, comma]
            pieces.append(f"CASE WHEN {value} IS NOT NULL THEN {concat_sql(parts)} END" if field.optional else parts)
        listed = [part for piece in pieces for part in ([piece] if isinstance(piece, str) else piece)]
        if first is None:  # the first field that is there has a comma too many
            listed = [f"substr({concat_sql(listed)}, {len(self._style.comma) + 1})"]
        return concat_sql([text_sql("{"), *listed, text_sql("}")])

    def _field(self, field: FamilyField, member: Member, value: str, path: Path, absent: str) -> str | None:
        if field.members:
            own = member.alternate(OBJECT)
            return None if own is None else self.object(field.members, own.members, value, path, absent)
        found = written_value(field.type, member, value, path, self._style, self._times)
        if found is None:
            return None
        self.tests += [f"({absent} OR {test})" if absent else test for test in found.tests]
        return found.sql
