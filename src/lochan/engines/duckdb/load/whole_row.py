"""A row as text, made of its columns: the key of a pool whose key is the whole row.

Names in order, so that rows with the same fields and values are neighbours whatever order their fields were in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lochan.engines.duckdb.load.columns import MAYBE, by_place
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.formats.pool_settings import Path
from lochan.pools.json_row import row_text
from lochan.pools.layout import SHAPE_COLUMN, Alternate, Layout, Member
from lochan.pools.shape import BOOL, INT, JSON, NULL, OBJECT, TIME, Object

Places = dict[tuple[Path, str], list[int]]


def whole_row(layout: Layout, shapes: Mapping[int, Object]) -> str:
    return _object(_pieces(layout.members, _places(shapes), (), ""))


def _object(pieces: Iterable[str]) -> str:
    listed = ", ".join(pieces) or "''"
    return f"'{{' || concat_ws(',', {listed}) || '}}'"


def value_text(alternate: Alternate, shapes: Mapping[int, Object], path: Path, of: str) -> str:
    """What is at the path, NULL in rows that have nothing of this kind there. `of` is the struct that the column is in,
    and a dot."""
    places = _places(shapes)
    value = _value(alternate, places, path, of)
    above = _unless_null(places, path[:-1], of.removesuffix("."))
    return f"CASE WHEN true{above} THEN {value} END" if above else value


def _pieces(members: Iterable[Member], places: Places, above: Path, of: str) -> Iterator[str]:
    for member in members:
        path = (*above, member.name)
        name = text_sql(row_text(member.name) + ":")
        nulls = _is_null(member, places, path, of)
        if nulls:
            yield f"CASE WHEN {nulls} THEN {name} || 'null' END"
        for alternate in member.alternates:
            if alternate.column or alternate.kind == OBJECT:
                yield f"{name} || {_value(alternate, places, path, of)}"


def _value(alternate: Alternate, places: Places, path: Path, of: str) -> str:
    column = of + name_sql(alternate.column)
    if alternate.kind == OBJECT:
        inner = _object(_pieces(alternate.members, places, path, f"{column}."))
        there = _ids(places, path, OBJECT) or "false"
        return f"CASE WHEN {there}{_unless_null(places, path, column)} THEN {inner} END"
    return _text(alternate, column)


def _text(alternate: Alternate, column: str) -> str:
    if alternate.kind == JSON:
        return column
    if alternate.kind == TIME:
        return f"strftime({column}::TIMESTAMP, '\"%Y-%m-%dT%H:%M:%S.%fZ\"')"
    return f"{column}::VARCHAR" if alternate.kind in (BOOL, INT) else f"to_json({column})::VARCHAR"


def _is_null(member: Member, places: Places, path: Path, of: str) -> str:
    unset = [f"{of}{name_sql(each.column)} IS NULL" for each in member.alternates if each.column]
    maybe = _ids(places, path, MAYBE)
    tests = [_ids(places, path, NULL), f"({' AND '.join([maybe, *unset])})" if maybe else ""]
    return " OR ".join(filter(None, tests))


def _unless_null(places: Places, path: Path, column: str) -> str:
    """More of a test that an object is there: it may be null."""
    maybe = _ids(places, path, MAYBE)
    return f" AND (NOT {maybe} OR {column} IS NOT NULL)" if maybe else ""


def _ids(places: Places, path: Path, kind: str) -> str:
    ids = places.get((path, kind), [])
    return f"{SHAPE_COLUMN} IN ({', '.join(map(str, ids))})" if ids else ""


def _places(shapes: Mapping[int, Object]) -> Places:
    return by_place({shape: id for id, shape in shapes.items()})
