"""The SQL of a leaf, by the place where its values are stored. It is neutral: `query/dialects` renders it for an
engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from lochan.pools.forms import NullMark, Place
from lochan.pools.kinds import ARRAY, DECIMAL, JSON, ORIGINAL, STRING
from lochan.pools.layout import SHAPE_COLUMN
from lochan.pools.shape import Leaf, Type
from lochan.query.compile.fields import json_by_kind
from lochan.query.compile.logic import all_of, any_of, case, coalesce, eq, is_null, is_set, negate
from lochan.query.compile.sql import TRUE, Sql, null_of, sql_type, text, try_cast
from lochan.query.dialects.neutral import neutral


def value(place: Place, leaf: Leaf, table: str, element: Type) -> Sql:
    """Returns the SQL of the leaf. `table` is the name of the scan; `element` is the element type of an array over all
    of the source, or the type that holds all decimals."""
    if place.by_value:
        found = json_by_kind(_text(place, table, exact=True)).alts
        return coalesce(found[DECIMAL], found[JSON]) if leaf.kind == JSON else found[leaf.kind]
    if leaf.kind == DECIMAL:
        return exp.Cast(this=column(place.column, table), to=sql_type(DECIMAL, element))
    if place.column:
        read = _read(place, leaf, table)
        shared = place.inside is not None
        return case((shape_in(place.ids), read)) if shared and not place.every else read
    sure = exp.Cast(this=exp.Array(), to=sql_type(ARRAY, element)) if leaf.kind == ARRAY else TRUE
    return sure.copy() if place.always else case((_is_there(place, table), sure))


def absent(leaf: Leaf, element: Type) -> Sql:
    """Returns NULL, of the type that the leaf has elsewhere."""
    kind = STRING if leaf.kind == ORIGINAL else leaf.kind
    return null_of(kind, element if kind in (ARRAY, DECIMAL) else None)


def shape_in(ids: Iterable[int]) -> Sql:
    column = exp.column(SHAPE_COLUMN, quoted=True)
    numbers = [exp.Literal.number(id) for id in sorted(ids)]
    return eq(column, numbers[0]) if len(numbers) == 1 else exp.In(this=column, expressions=numbers)


def column(path: Sequence[str], table: str) -> Sql:
    """Returns the column, after the name of its table if that has one: a struct's name could be read as a table's."""
    found: Sql = exp.column(path[0], (table or None) if len(path) > 1 else None, quoted=True)
    for name in path[1:]:
        found = exp.Dot(this=found, expression=exp.to_identifier(name, quoted=True))
    return found


def _is_there(place: Place, table: str) -> Sql:
    """Tests whether the leaf exists, by the shape, and by the columns where the shape does not decide."""
    by_shape = place.ids.difference(*place.null_marks.values())
    tests = [shape_in(by_shape)] if by_shape else []
    for marks, ids in place.null_marks.items():
        of_shape = [] if place.every and ids == place.ids else [shape_in(ids)]
        tests.append(all_of([*of_shape, *(_mark_test(each, table) for each in marks)]))
    return any_of(tests)


def _mark_test(mark: NullMark, table: str) -> Sql:
    found = column(mark.column, table)
    if not mark.inside:
        return is_null(found) if mark.is_null else is_set(found)
    null = eq(neutral("json_get", found, options=mark.inside), text("null"))
    return null if mark.is_null else negate(null)


def _read(place: Place, leaf: Leaf, table: str) -> Sql:
    if place.inside is not None:
        json = _text(place, table, exact=leaf.kind == JSON)
        return _of_kind(exp.Nullif(this=json, expression=text("null")) if place.null_marks else json, leaf.kind)
    found = column(place.column, table)
    if leaf.kind == JSON and place.list_of is not None:  # a list among values that are text
        return neutral("array_json", found, options=(place.list_of,))
    return found


def _of_kind(json: Sql, kind: str) -> Sql:
    """Returns the value of a JSON text that is known to be of this kind."""
    match kind:
        case "bool":
            return eq(json, text("true"))
        case "string" | "original":
            return neutral("json_string", json)
        case "time":
            return neutral("rfc3339", neutral("json_string", json))
        case "int" | "float":
            return try_cast(json, kind)
    return json


def _text(place: Place, table: str, *, exact: bool = False) -> Sql:
    """Returns the JSON text. With `exact`, it may be a number of more digits than an engine reads."""
    found = column(place.column, table)
    return neutral("json_exact" if exact else "json_get", found, options=place.inside) if place.inside else found
