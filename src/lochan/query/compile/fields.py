"""Rows of a source as values, and access to fields of objects, arrays and JSON texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, FLOAT, INT, JSON, NULL, OBJECT, ORIGINAL, STRING, TIME
from lochan.pools.shape import Array, Maybe, Object, Path, Type, kind_of
from lochan.pools.shape import sure as if_set
from lochan.query.compile import moments, numbers
from lochan.query.compile.logic import all_of, case, coalesce, eq, flag, is_null, is_set
from lochan.query.compile.relations import Scan
from lochan.query.compile.sql import FALSE, TRUE, Sql, text, try_cast
from lochan.query.compile.value import (
    GONE,
    MISSING,
    Body,
    Exact,
    Format,
    Order,
    Record,
    Shaped,
    Value,
    value_where,
    with_null,
)
from lochan.query.dialects.neutral import Neutral, neutral


def row_of(scan: Scan) -> Value:
    return Value({OBJECT: TRUE}, record=_record(scan, (), dict(scan.source.shapes), sure=True))


def field_of(scan: Scan, path: Path, types: Mapping[int, Type], *, sure: bool) -> Value:
    """Returns a field of the source. It is not `sure` if it is inside an object that may be null in rows of shapes that
    have the field."""
    told_of = scan.source.known(path)
    decimals = next((each for each in told_of if each.leaf.kind == DECIMAL), None)
    beside = next((each for each in told_of if each.leaf.kind == ORIGINAL), None)
    infos = [each for each in told_of if each.leaf.kind not in (DECIMAL, ORIGINAL)]
    certain = len(infos) == 1 and infos[0].always
    or_null = any(each.otherwise for each in infos)
    alts = {each.leaf.kind: scan.leaf(each.leaf) for each in infos if not each.otherwise}
    exact = None if decimals is None else Exact(scan.leaf(decimals.leaf), decimals.digits)
    if JSON in alts and not any(each.numberless for each in infos):
        json = alts.pop(JSON)
        if decimals is not None and decimals.alone:
            alts[DECIMAL] = json
        else:
            alts[DECIMAL], alts[JSON] = numbers.split(json, exact)
    original = None if beside is None else scan.leaf(beside.leaf)
    if any(each.timed for each in infos):
        time, alts[STRING], text_of_time = moments.split(alts[STRING])
        original = text_of_time if original is None else coalesce(original, text_of_time)
        alts[TIME] = coalesce(alts[TIME], time) if TIME in alts else time
    element = next((each.element for each in infos if each.leaf.kind == ARRAY), None)
    formats = next((each.formats for each in infos if each.leaf.kind == TIME), ())
    never_null = sure and not any(isinstance(type, Maybe) for type in types.values())
    return Value(
        alts,
        NULL if or_null else "" if certain else MISSING,
        element,
        _record(scan, path, types, sure=never_null) if OBJECT in alts else None,
        _format(scan, formats, types, by_shape=original is not None) if formats else None,
        original=original,
        exact=exact,
        shaped=None if scan.source.has_body else Shaped(scan.shape(), types, sure),
    )


def member(value: Value, name: str) -> Value:
    """Returns the value's field of this name. It is missing where the value is not an object."""
    found = []
    if OBJECT in value.alts and value.record is not None and name in value.record:
        found.append(_member_inside(value, value.record.get(name)))
    if JSON in value.alts:
        found.append(_below_text(value, name))
    return merge_values(found) if found else GONE


def element(value: Value, at: int) -> Value:
    """Returns the element at a position, counted from 0, or from the end if negative. It is missing where there is
    none."""
    found = []
    if ARRAY in value.alts and value.element is not None:
        array = value.alts[ARRAY]
        inside = neutral("list_has", array, options=(at,))
        found.append(value_where(typed_value(neutral("list_get", array, options=(at,)), value.element), inside))
    if JSON in value.alts:
        found.append(_below_text(value, at))
    return merge_values(found) if found else GONE


def typed_value(sql: Sql, type: Type) -> Value:
    """Returns a value inside an array: it is never missing, and NULL is null."""
    type = if_set(type)
    if isinstance(type, Object):
        types = dict(type.fields)
        record = Record(types, lambda name: typed_value(neutral("struct_get", sql, options=(name,)), types[name]))
        return Value({OBJECT: flag(is_set(sql))}, NULL, record=record)
    if isinstance(type, Array):
        return Value({ARRAY: sql}, NULL, element=type.of)
    kind = kind_of(type)
    if kind == NULL:
        return Value({NULL: TRUE})
    return Value({kind: sql}, NULL, format=Format(constant=type[5:]) if kind == TIME else None)


def json_by_kind(json: Sql) -> Value:
    """Returns the value of a JSON text, by its kind; objects and arrays stay text. Only a number that is not an int can
    lose digits in an engine's JSON reader. All other kinds are read from the plain text, which is far shorter; a path
    of several steps repeats it at every step."""
    plain = _plain(json)
    first = neutral("first_character", plain)
    number = neutral("matches", plain, options=("^-?[0-9]",))
    whole = case((neutral("matches", plain, options=("^-?[0-9]+\\z",)), try_cast(plain, INT)))
    real = case((all_of([number, is_null(whole)]), neutral("exact_float", json)))
    return Value(
        {
            BOOL: case((eq(plain, text("true")), TRUE), (eq(plain, text("false")), FALSE)),
            INT: whole,
            FLOAT: real,
            DECIMAL: case((all_of([number, is_null(whole), is_null(real)]), json)),
            STRING: case((eq(first, text('"')), neutral("json_string", plain))),
            JSON: case((neutral("matches", plain, options=("^[{\\[]",)), json)),
            NULL: flag(eq(plain, text("null"))),
        },
        MISSING,
        text=json,
        there=is_set(json),
    )


def is_array_text(json: Sql) -> Sql:
    return eq(neutral("first_character", json), text("["))


def is_object_text(json: Sql) -> Sql:
    return eq(neutral("first_character", json), text("{"))


def array_items(json: Sql) -> Sql:
    """Returns the elements of an array that is JSON text, each as a text, or NULL where the text is not an array."""
    return case((is_array_text(json), neutral("json_exact_items", json)))


def _plain(json: Sql) -> Sql:
    """Returns the JSON text as the engine's own reader returns it."""
    if isinstance(json, Neutral) and json.this == "json_exact":
        return neutral("json_get", *json.expressions, options=json.options)
    return json


def merge_values(values: Sequence[Value]) -> Value:
    """Combines several values, of which at most one is set in any row."""
    if len(values) == 1:
        return values[0]
    values = [with_null(each) for each in values]
    alts: dict[str, Sql] = {}
    for value in values:
        for kind, sql in value.alts.items():
            alts[kind] = coalesce(alts[kind], sql) if kind in alts else sql
    record = next((each.record for each in values if each.record is not None), None)
    array = next((each for each in values if ARRAY in each.alts), None)
    time = next((each.format for each in values if each.format is not None), None)
    return Value(alts, MISSING, array.element if array is not None else None, record, time)


def _below_text(value: Value, step: str | int) -> Value:
    """Returns one path from the original text, however many steps led to this value."""
    text = value.text if value.text is not None else value.alts[JSON]
    if isinstance(text, Neutral) and text.this == "json_exact":
        return json_by_kind(neutral("json_exact", *text.expressions, options=(*text.options, step)))
    return json_by_kind(neutral("json_exact", text, options=(step,)))


def _member_inside(value: Value, found: Value) -> Value:
    """Returns a member of an object that may not exist itself; the member is missing then, however deep it is."""
    if not value.nothing and value.kinds == {OBJECT}:
        return found
    if found.nothing == NULL:
        return value_where(found, is_set(value.alts[OBJECT]))
    return replace(found, nothing=MISSING, there=None)


def _record(scan: Scan, path: Path, types: Mapping[int, Type], *, sure: bool) -> Record:
    objects = {number: there for number, type in types.items() if isinstance(there := if_set(type), Object)}
    names = tuple(scan.source.members(path))
    body = None
    if not path and scan.source.has_body:
        body = Body(scan.body(), _column_fields(scan, objects))
    return Record(
        names,
        lambda name: field_of(scan, (*path, name), _types_below(objects, name), sure=sure),
        _order(scan, names, objects, by_text=body is not None),
        Shaped(scan.shape(), objects, sure),
        body,
        scan.source.grows,
    )


def _column_fields(scan: Scan, objects: Mapping[int, Object]) -> frozenset[str]:
    """Returns the fields of rows that are not text: only these need columns of their own."""
    texts = set(scan.source.text_shapes)
    return frozenset(name for number, each in objects.items() if number not in texts for name in each.names())


def _order(scan: Scan, names: tuple[str, ...], objects: Mapping[int, Object], *, by_text: bool) -> Order | None:
    """Returns the order of fields, or None where one order fits all rows: then the shape need not be read."""
    place = {name: at for at, name in enumerate(names)}
    lists = {number: each.names() for number, each in objects.items()}
    fits = all(_ascends([place[name] for name in each if name in place]) for each in lists.values())
    return None if fits and not by_text else Order(scan.shape(), lists)


def _ascends(places: list[int]) -> bool:
    return all(one < other for one, other in pairwise(places))


def _types_below(objects: Mapping[int, Object], name: str) -> dict[int, Type]:
    found: dict[int, Type] = {}
    for number, each in objects.items():
        for field, type in each.fields:
            if field == name:
                found[number] = type
    return found


def _format(scan: Scan, formats: Sequence[str], types: Mapping[int, Type], *, by_shape: bool) -> Format:
    """Returns the format of times. With `by_shape`, some rows have times without a format."""
    if len(formats) == 1 and not by_shape:
        return Format(constant=formats[0])
    times = {number: there for number, type in types.items() if isinstance(there := if_set(type), str)}
    by_number = {number: type[5:] for number, type in times.items() if kind_of(type) == TIME}
    return Format(scan.shape(), by_number)
