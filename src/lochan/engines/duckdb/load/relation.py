"""Combines staged tables under one layout. A table that cannot be cast keeps its own layout, and gets its own objects.

Columns of one layout are cast to those of another by their kinds, and are NULL if the other has no such column. This is
impossible if one keeps as text what the other holds as a list or an object.

A struct is NULL exactly in rows without an object there, because a shape may leave it to the column to tell. An object
with only nulls has no column by itself, so for such rows the shape tells that it exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.formats.pool_settings import Path
from lochan.pools.kinds import ARRAY, OBJECT
from lochan.pools.layout import SHAPE_COLUMN, Alternate, Layout, Member, column_type, columns
from lochan.pools.nullable_shapes import has_column, join_shapes
from lochan.pools.shape import Object, encode, sure

Bare = Mapping[Path, Sequence[int]]


class StagingTable(NamedTuple):
    name: str
    layout: Layout
    shapes: tuple[Object, ...]  # the shapes of the layout


class StagedRelation(NamedTuple):
    """Rows that are written into the same objects."""

    layout: Layout
    sql: str  # a query of _shape, of _body if the layout has one, then of the layout's columns
    shapes: tuple[Object, ...]  # the shapes of the layout


def relations(
    tables: Sequence[StagingTable], layout: Layout, known: KnownShapes, shapes: Sequence[Object]
) -> list[StagedRelation]:
    """Returns the relations of the tables. `layout` is that of these shapes, all of which are known. Shapes that differ
    only by nulls are joined."""
    found = []
    arms = []
    into = join_shapes(shapes)
    for table in tables:
        arm = _arm(table, layout, known, into)
        if arm is None:
            own = join_shapes(table.shapes)
            alone = _arm(table, table.layout, known, own)
            assert alone is not None
            found.append(StagedRelation(table.layout, alone, tuple(dict.fromkeys(own.values()))))
        else:
            arms.append(arm)
    if arms:
        found.append(StagedRelation(layout, " UNION ALL ".join(arms), tuple(dict.fromkeys(into.values()))))
    return found


def can_cast(layout: Layout, to: Layout) -> bool:
    """Returns whether rows of one layout can be cast to the other."""
    return layout == to or cast_columns(to.members, layout.members, {}) is not None


def _arm(table: StagingTable, layout: Layout, known: KnownShapes, into: Mapping[Object, Object]) -> str | None:
    empty = columnless_objects(known.columns)
    if table.layout == layout and not empty:
        values: list[str] | None = [name_sql(name) for name, _ in columns(layout)]
    else:
        values = cast_columns(layout.members, table.layout.members, empty)
    return None if values is None else f"SELECT {', '.join([_shape(known, into), *values])} FROM {table.name}"


def _shape(known: KnownShapes, into: Mapping[Object, Object]) -> str:
    numbers = known.numbered(sorted(set(into.values()), key=encode))
    arms = [f"WHEN {known.columns[one]} THEN {numbers[other]}" for one, other in into.items() if one != other]
    if not arms:
        return SHAPE_COLUMN
    return f"(CASE {SHAPE_COLUMN} {' '.join(arms)} ELSE {SHAPE_COLUMN} END)::INTEGER AS {SHAPE_COLUMN}"


# --- casts between layouts -------------------------------------------------------------------------------------------
def columnless_objects(shapes: Mapping[Object, int]) -> Bare:
    """Returns the paths of objects without a column of their own, and the numbers of the shapes that have them."""
    found: dict[Path, list[int]] = {}
    for shape, id in shapes.items():
        for path in _bare(shape, ()):
            found.setdefault(path, []).append(id)
    return found


def _bare(shape: Object, above: Path) -> Iterator[Path]:
    for name, type in shape.fields:
        if isinstance(inner := sure(type), Object):
            if not has_column(inner):
                yield (*above, name)
            yield from _bare(inner, (*above, name))


def cast_columns(
    to: Iterable[Member], source: Iterable[Member], bare: Bare, of: str = "", above: Path = ()
) -> list[str] | None:
    """Returns the SQL of each column of the layout `to`, from those of `source`, or None if that is impossible. `of` is
    the enclosing struct, with a dot."""
    sources = {member.name: member for member in source}
    values = []
    for member in to:
        there = sources.get(member.name)
        if there is not None and not all(_takes(member.alternate(each.kind), each) for each in there.alternates):
            return None
        for alternate in member.alternates:
            path = (*above, member.name)
            own = there.alternate(alternate.kind) if there else None
            value = _value(alternate, own, bare, of, path)
            if value is None:
                return None
            if alternate.column:
                values.append(f"{value} AS {name_sql(alternate.column)}")
            if alternate.original:
                original = of + name_sql(own.original) if own is not None and own.original else "NULL::VARCHAR"
                values.append(f"{original} AS {name_sql(alternate.original)}")
    return values


def _takes(to: Alternate | None, source: Alternate) -> bool:
    return to is not None and (bool(to.original) or not source.original)


def _value(to: Alternate, source: Alternate | None, bare: Bare, of: str, path: Path) -> str | None:
    if source is None:
        return f"NULL::{type_sql(column_type(to))}" if to.column else ""
    if to.kind == OBJECT and (bare or to.members != source.members):
        return _object(to, source, bare, of, path)
    value = of + name_sql(source.column)
    if to.kind == ARRAY and to.element != source.element:
        return f"{value}::{type_sql(column_type(to))}"
    return value


def _object(to: Alternate, source: Alternate, bare: Bare, of: str, path: Path) -> str | None:
    value = of + name_sql(source.column)
    inner = cast_columns(to.members, source.members, bare, f"{value}.", path)
    if inner is None or not to.column:
        return None if inner is None else ""
    there = [f"{value} IS NOT NULL"] if source.column else []
    if path in bare:
        there.append(f"{SHAPE_COLUMN} IN ({', '.join(map(str, bare[path]))})")
    packed = ", ".join(_named_argument(each) for each in inner)
    return f"CASE WHEN {' OR '.join(there) or 'false'} THEN struct_pack({packed}) END"


def _named_argument(value: str) -> str:
    sql, _, name = value.rpartition(" AS ")
    return f"{name} := {sql}"
