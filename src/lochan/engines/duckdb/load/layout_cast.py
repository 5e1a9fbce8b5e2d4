"""Columns of one layout from those of another, as SQL: each by its kind, NULL where the other has no such column.

It cannot be where the one keeps as text what the other holds as a list or an object.

A struct is NULL in rows that have no object there, and only in those: a shape may leave it to the column to tell. An
object with nothing but nulls has no column while it is alone, so of such rows their shape says that it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.formats.pool_settings import Path
from lochan.pools.layout import SHAPE_COLUMN, Alternate, Member, column_type
from lochan.pools.nullable_shapes import has_column
from lochan.pools.shape import ARRAY, OBJECT, Object, sure

Bare = Mapping[Path, Sequence[int]]


def bare(shapes: Mapping[Object, int]) -> Bare:
    """The objects that have no column by themselves, and the numbers of the shapes that have them."""
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


def carried(
    to: Iterable[Member], source: Iterable[Member], bare: Bare, of: str = "", above: Path = ()
) -> list[str] | None:
    """Each column of the one layout, from those of the other; None where that cannot be. `of` is the struct that the
    columns are in, and a dot."""
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
    inner = carried(to.members, source.members, bare, f"{value}.", path)
    if inner is None or not to.column:
        return None if inner is None else ""
    there = [f"{value} IS NOT NULL"] if source.column else []
    if path in bare:
        there.append(f"{SHAPE_COLUMN} IN ({', '.join(map(str, bare[path]))})")
    packed = ", ".join(_packed(each) for each in inner)
    return f"CASE WHEN {' OR '.join(there) or 'false'} THEN struct_pack({packed}) END"


def _packed(value: str) -> str:
    sql, _, name = value.rpartition(" AS ")
    return f"{name} := {sql}"
