"""A layout's columns as SQL expressions over a row's JSON text.

json_transform parses the text once, into a struct `j` with a field for each member. Members of several kinds are parsed
as JSON, and the row's shape selects the kind. json_transform silently turns "200" into 200, so its result counts only
for rows whose shape is proven. For other rows it may be anything, so no cast may fail on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.formats.pool_settings import Path
from lochan.pools.kinds import ARRAY, JSON, OBJECT, ORIGINAL, STRING, TIME
from lochan.pools.layout import Alternate, Layout, Member, column_type
from lochan.pools.shape import TEXT_TIME, Array, Maybe, Object, Type, kind_of, sure, type_at

ROW = "j"  # the name of the struct
SHAPE = "s"  # the name of the column with the number of the row's shape
MAYBE = "maybe"  # a mark that is no kind: it stands for a place that may be null


class LayoutColumn(NamedTuple):
    name: str
    type: str
    sql: str


def structure(layout: Layout) -> str:
    """Returns the structure for json_transform, which is empty if there is nothing to parse."""
    fields = _structure(layout.members)
    return json.dumps(fields) if fields else ""


class LayoutColumns:
    """The SQL of a layout's columns. With `texts`, values that are kept as text are JSON strings with that text, as
    `shape_inference` writes them: the engine would change the digits of a number."""

    def __init__(self, layout: Layout, shapes: Mapping[Object, int], *, texts: bool = False) -> None:
        self._layout = layout
        self._shapes = shapes
        self._texts = texts

    @cached_property
    def _ids(self) -> dict[tuple[Path, str], list[int]]:
        """The shapes that have a kind at a path. It is computed when first needed: most layouts need none, and a
        thousand shapes have ten thousand places."""
        return by_place(self._shapes)

    def all(self) -> list[LayoutColumn]:
        return list(self._columns(self._layout.members, ROW, ()))

    def _columns(self, members: Iterable[Member], of: str, above: Path) -> Iterator[LayoutColumn]:
        for member in members:
            path = (*above, member.name)
            value = f"{of}.{name_sql(member.name)}"
            for alternate in member.alternates:
                if alternate.column:
                    sql = self._value(member, alternate, value, path)
                    yield LayoutColumn(alternate.column, type_sql(column_type(alternate)), sql)
                if alternate.original:
                    text = self._text(member, value)
                    yield LayoutColumn(alternate.original, type_sql(STRING), self._in_shapes(path, (ORIGINAL,), text))

    def _value(self, member: Member, alternate: Alternate, value: str, path: Path) -> str:
        if is_mixed(member):
            return self._one_of(alternate, value, path)
        if alternate.kind == OBJECT:
            if is_plain(alternate):
                return value
            inner = ", ".join(
                f"{name_sql(each.name)} := {each.sql}" for each in self._columns(alternate.members, value, path)
            )
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({inner}) END"
        return self._time(alternate, value, path) if alternate.kind == TIME else value

    def _one_of(self, alternate: Alternate, value: str, path: Path) -> str:
        """Returns the SQL of one of several kinds. `value` is JSON."""
        kinds = (OBJECT, ARRAY, JSON) if alternate.kind == JSON else (alternate.kind,)
        if alternate.kind == JSON:
            read = f"{value} ->> '$'" if self._texts else f"nullif({value}::VARCHAR, 'null')"
        elif alternate.kind == STRING:
            read = f"{value} ->> '$'"
        elif alternate.kind == TIME:
            read = self._time(alternate, f"({value} ->> '$')", path)
        else:
            read = f"TRY_CAST({value} ->> '$' AS {type_sql(alternate.kind)})"
        return self._in_shapes(path, kinds, read)

    def _time(self, alternate: Alternate, text: str, path: Path) -> str:
        """Returns the SQL of a time. DuckDB would round it to microseconds, so further digits are cut off before."""
        read = f"TRY_CAST({text} AS TIMESTAMPTZ)"
        if not alternate.original:
            return read
        cut = f"regexp_replace(upper({text}), '([.][0-9]{{6}})[0-9]+', '\\1')"
        return f"coalesce({self._in_shapes(path, (ORIGINAL,), f'TRY_CAST({cut} AS TIMESTAMPTZ)')}, {read})"

    def _text(self, member: Member, value: str) -> str:
        return f"{value} ->> '$'" if is_mixed(member) else value

    def _in_shapes(self, path: Path, kinds: Iterable[str], value: str) -> str:
        """Returns the value, or NULL in rows that have another kind there."""
        ids = [id for kind in kinds for id in self._ids.get((path, kind), ())]
        return f"CASE WHEN {SHAPE} IN ({', '.join(map(str, ids))}) THEN {value} END" if ids else "NULL"


def is_mixed(member: Member) -> bool:
    return len(member.alternates) > 1 or any(each.kind == JSON for each in member.alternates)


def is_plain(alternate: Alternate) -> bool:
    """Returns whether the parsed struct of an object is the one that is stored."""
    return all(
        len(member.alternates) == 1
        and member.alternates[0].column == member.name
        and member.alternates[0].kind not in (TIME, JSON)
        and (member.alternates[0].kind != OBJECT or is_plain(member.alternates[0]))
        for member in alternate.members
    )


def by_place(shapes: Mapping[Object, int]) -> dict[tuple[Path, str], list[int]]:
    """Returns the numbers of the shapes that have a kind at a path."""
    found: dict[tuple[Path, str], list[int]] = {}
    for shape, id in shapes.items():
        for place in places(shape):
            found.setdefault(place, []).append(id)
    return found


def places(shape: Object, above: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yields every path with its kind."""
    for name, type in shape.fields:
        path = (*above, name)
        yield path, kind_of(type)
        if isinstance(type, Maybe):
            yield path, MAYBE
        if sure(type) == TEXT_TIME:
            yield path, ORIGINAL
        if isinstance(inner := sure(type), Object):
            yield from places(inner, path)


def kind_at(shape: Type, path: Path) -> str | None:
    """Returns the kind at the path, or None if the shape has nothing there."""
    found = type_at(shape, path)
    return None if found is None else kind_of(found)


def may_be_null(shape: Object, path: Path) -> bool:
    """Returns whether only the column tells if something is there."""
    return any(isinstance(type_at(shape, path[:end]), Maybe) for end in range(1, len(path) + 1))


def _structure(members: Iterable[Member]) -> dict[str, Any]:
    return {member.name: _read(member) for member in members if member.leaves()}


def _read(member: Member) -> Any:
    if is_mixed(member):
        return "JSON"
    (alternate,) = member.alternates
    match alternate.kind:
        case "object":
            return _structure(alternate.members)
        case "array":
            return [_element(alternate.element)]
        case "time":
            return "VARCHAR"
    return type_sql(alternate.kind)


def _element(type: Type) -> Any:
    if isinstance(type, Object):
        return {name: _element(each) for name, each in type.fields}
    if isinstance(type, Array):
        assert type.of is not None
        return [_element(type.of)]
    return type_sql(type)
