"""Values made from other values: one out of several, arrays, objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from lochan.pools.kinds import ARRAY, DECIMAL, ERROR, JSON, NULL, OBJECT, SCALARS, TIME
from lochan.pools.shape import Type
from lochan.query.compile.decimals import from_texts
from lochan.query.compile.logic import case, coalesce, eq, flag
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, number, text
from lochan.query.compile.texts import json_array, json_text
from lochan.query.compile.value import (
    GONE,
    MISSING,
    Format,
    Order,
    Record,
    Value,
    absent,
    fixed_object,
    present,
    with_null,
)
from lochan.query.dialects.neutral import neutral

# ── one value out of several ─────────────────────────────────────────────────────────────────────────────────────────


def choose_arm(arms: Sequence[tuple[Sql, Value]]) -> Value:
    """Returns the value of the arm whose test holds. At most one test holds in any row."""
    arms = [(test, with_null(value)) for test, value in arms if test != FALSE]
    if len(arms) == 1 and arms[0][0] == TRUE:
        return arms[0][1]
    element, arms = common_type(arms)
    kinds = dict.fromkeys(kind for _, value in arms for kind in value.alts)
    alts = {
        kind: case(*((test, value.alts[kind]) for test, value in arms if kind in value.alts))
        for kind in kinds
        if kind not in (NULL, OBJECT)
    }
    for kind in (NULL, OBJECT):
        if kind in kinds:
            alts[kind] = flag(case(*((test, value.alts[kind]) for test, value in arms if kind in value.alts)))
    nothing = MISSING if any(value.nothing for _, value in arms) else ""
    record = _record([(test, value) for test, value in arms if value.record is not None]) if OBJECT in alts else None
    texts = [(test, value.original) for test, value in arms if value.original is not None]
    original = case(*texts) if texts and TIME in alts else None
    exact = from_texts(alts.get(DECIMAL), [value for _, value in arms])
    format = _format(arms) if TIME in alts else None
    return Value(alts, nothing, element, record, format, original=original, exact=exact)


def common_type(arms: Sequence[tuple[Sql, Value]]) -> tuple[Type | None, list[tuple[Sql, Value]]]:
    """Makes arrays one element type. If their types differ, all of them become JSON texts."""
    elements = [value.element for _, value in arms if ARRAY in value.alts]
    if not elements:
        return None, list(arms)
    if len(set(map(repr, elements))) == 1:
        return elements[0], list(arms)
    return None, [(test, _as_json(value)) for test, value in arms]


def _as_json(value: Value) -> Value:
    if ARRAY not in value.alts:
        return value
    rest = {kind: sql for kind, sql in value.alts.items() if kind not in (ARRAY, JSON)}
    both = json_text(Value({k: v for k, v in value.alts.items() if k in (ARRAY, JSON)}, MISSING, value.element))
    return Value({**rest, JSON: both}, value.nothing, None, value.record, value.format, exact=value.exact)


def _record(arms: Sequence[tuple[Sql, Value]]) -> Record:
    records = [(test, value.record) for test, value in arms if value.record is not None]
    names = list(dict.fromkeys(name for _, record in records for name in record.names))

    def get(name: str) -> Value:
        return choose_arm([(test, record.get(name) if name in record else GONE) for test, record in records])

    grows = any(record.grows for _, record in records)
    return Record(names, get, combined_order(names, records), grows=grows)


def combined_order(names: Sequence[str], records: Sequence[tuple[Sql, Record]]) -> Order | None:
    if one_order(names, [record for _, record in records]):
        return None
    by_number, numbers = renumber_orders([record for _, record in records])
    return Order(case(*((test, sql) for (test, _), sql in zip(records, numbers, strict=True))), by_number)


def one_order(names: Sequence[str], records: Sequence[Record]) -> bool:
    """Returns whether the order of these names is that of all records."""
    return all(
        record.order is None and record.names == tuple(each for each in names if each in record) for record in records
    )


def renumber_orders(records: Sequence[Record]) -> tuple[dict[int, tuple[str, ...]], list[Sql]]:
    """Returns one numbering for the orders of all records, and each record's number in terms of it. Numbers of a source
    stay the same as long as they agree; the others get new ones."""
    numbers: dict[int, tuple[str, ...]] = {}
    sqls: list[Sql] = []
    for record in records:
        own = {} if record.order is None else record.order.names()
        if record.order is None:
            sqls.append(number(_free(numbers, record.names)))
        elif all(numbers.get(at, each) == each for at, each in own.items()):
            numbers |= own
            sqls.append(record.order.number)
        else:
            ifs = [exp.If(this=number(at), true=number(_free(numbers, each))) for at, each in own.items()]
            sqls.append(exp.Case(this=record.order.number.copy(), ifs=ifs))
    return numbers, sqls


def _free(numbers: dict[int, tuple[str, ...]], names: tuple[str, ...]) -> int:
    for at, each in numbers.items():
        if each == names:
            return at
    at = -1 - len(numbers)  # shapes are never negative
    numbers[at] = names
    return at


def _format(arms: Sequence[tuple[Sql, Value]]) -> Format | None:
    formats = {value.format.constant for _, value in arms if value.format is not None and TIME in value.alts}
    return Format(constant=formats.pop()) if len(formats) == 1 else None


# ── arrays and objects ───────────────────────────────────────────────────────────────────────────────────────────────


def array_of(items: Sequence[Value]) -> Value:
    """Returns an array: typed if all items are of one kind, else JSON text. A missing item becomes null, so that all
    others keep their places."""
    if not items:
        return Value({JSON: exp.Literal.string("[]")})
    kinds = {kind for item in items for kind in item.alts} - {NULL, ERROR}
    if len(kinds) == 1 and (kind := next(iter(kinds))) in SCALARS and all(item.original is None for item in items):
        sqls = [item.alts.get(kind) or cast(exp.Null(), kind) for item in items]
        return Value({ARRAY: neutral("list_of", *sqls)}, element=kind, constant=[item.constant for item in items])
    return Value({JSON: json_array([_in_place(item) for item in items])})


def _in_place(item: Value) -> Sql:
    return coalesce(json_text(item), text("null")) if item.nothing == MISSING else json_text(item)


def record_of(fields: Sequence[tuple[str | None, Value]]) -> Value:
    """Returns a record. Later fields win, at the place of the first. A spread adds all fields of an object, and nothing
    for other values."""
    if any(name is None and _has_unknown_names(value) for name, value in fields):
        return Value({JSON: neutral("json_merged", *_texts(fields))})
    members: dict[str, Value] = {}
    for name, value in fields:
        if name is not None:
            members[name] = value
        elif value.record is not None:
            members |= {each: _spread(value, each, members.get(each)) for each in value.record.names}
    return fixed_object(members)


def _spread(value: Value, name: str, before: Value | None) -> Value:
    """Returns the field of a spread object. A row whose object has no such field keeps its value."""
    from lochan.query.compile.fields import member

    found = member(value, name)
    return found if before is None else choose_arm([(present(found), found), (absent(found), before)])


def _has_unknown_names(value: Value) -> bool:
    """Returns whether some of its objects are text, so that only the rows show which fields they have."""
    open_row = value.record is not None and value.record.body is not None and not value.record.names
    return JSON in value.alts or open_row


def _texts(fields: Sequence[tuple[str | None, Value]]) -> Iterator[Sql]:
    """Yields an object's text for each run of named fields, and for each spread."""
    named: dict[str, Value] = {}
    for name, value in fields:
        if name is not None:
            named[name] = value
            continue
        if named:
            yield json_text(fixed_object(named))
            named = {}
        objects = value.only((OBJECT, JSON))
        if JSON in objects.alts:
            written = objects.alts[JSON]
            is_object = eq(neutral("first_character", written), text("{"))
            objects = replace(objects, alts={**objects.alts, JSON: case((is_object, written))})
        yield json_text(objects)
    if named:
        yield json_text(fixed_object(named))


def is_object(value: Value) -> bool:
    return not value.nothing and value.kinds == {OBJECT} and value.alts[OBJECT] == TRUE
