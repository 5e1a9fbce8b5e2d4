"""cut, put, drop, rename, fuse: other fields, the same rows. No SQL is made here: fields are values of the row, and
what nobody asks for is not computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lochan.pools.leaf import Path
from lochan.pools.shape import JSON, NULL, OBJECT, Object
from lochan.query import ast
from lochan.query.compile.cases import chosen
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import member
from lochan.query.compile.scope import Scope, refused
from lochan.query.compile.sql import TRUE, any_of
from lochan.query.compile.value import MISSING, Body, Edit, Order, Record, Value, absent, fixed, present
from lochan.query.errors import UnknownField, did_you_mean


def cut(operator: ast.Cut, scope: Scope) -> Value:
    """Only these fields, in this order."""
    return built([(path_of(each, scope), value_of(each.value, scope)) for each in operator.fields])


def put(operator: ast.Put, scope: Scope) -> Value:
    """All values are computed from the row as it comes."""
    row = _record_or_empty(scope.this)
    for each in operator.fields:
        row = assigned(row, path_of(each, scope), value_of(each.value, scope))
    return row


def drop(operator: ast.Drop, scope: Scope) -> Value:
    row = scope.this
    for path in operator.paths:
        if _is_known(row, path, scope, operator):
            row = dropped(row, path)
    return row


def rename(operator: ast.Rename, scope: Scope) -> Value:
    row = scope.this
    for new, old in operator.fields:
        if new[:-1] != old[:-1]:
            raise refused(scope.query, operator, "a field cannot be moved to another place", "use put and drop")
        if _is_known(row, old, scope, operator):
            row = renamed(row, old, new[-1])
    return row


def fuse(this: Value) -> Value:
    """Every row has every field; what it had not is null."""
    if this.record is None:
        return this
    record = this.record
    names = record.names
    return replace(this, record=Record(names, lambda name: _filled(record.get(name)), grows=record.grows))


def built(fields: Sequence[tuple[Path, Value]]) -> Value:
    """A row of just these. An object around a field is there where one of its fields is."""
    return fixed(_members(fields))


def _members(fields: Sequence[tuple[Path, Value]]) -> dict[str, Value]:
    members: dict[str, Value] = {}
    inner: dict[str, list[tuple[Path, Value]]] = {}
    for path, value in fields:
        if len(path) > 1:
            inner.setdefault(path[0], []).append((path[1:], value))
            members.setdefault(path[0], value)
        else:
            inner.pop(path[0], None)
            members[path[0]] = value
    for name, each in inner.items():
        below = _members(each)
        members[name] = fixed(below, any_of(present(value) for value in below.values()))
    return members


def path_of(each: ast.Assigned, scope: Scope) -> Path:
    """Where it goes."""
    path = ast.assigned_path(each)
    if not path:
        raise refused(scope.query, each.value, "this value has no name", "write name := value")
    return path


# ── members of an object ─────────────────────────────────────────────────────────────────────────────────────────────


def assigned(row: Value, path: Path, value: Value) -> Value:
    """With this value there; objects on the way are made where there are none."""
    name, rest = path[0], path[1:]
    record = _record(row)
    if rest:
        value = assigned(_record_or_empty(record.get(name)) if name in record else fixed({}), rest, value)
    names = record.names if name in record else (*record.names, name)
    if name in record and present(record.get(name)) != TRUE:
        row = _by_shape(row)  # a row that has not the field gets it as the last one
    known = value

    def get(each: str) -> Value:
        return known if each == name else record.get(each)

    return _changed(row, names, get, lambda before: before if name in before else (*before, name), made=name)


def _by_shape(row: Value) -> Value:
    """With the order that each shape has, where one order for all was enough before."""
    record = _record(row)
    if record.order is not None or record.shaped is None:
        return row
    names = {at: type.names() for at, type in record.shaped.by_number.items() if isinstance(type, Object)}
    order = Order(record.shaped.number, names)
    return replace(row, record=Record(record.names, record.get, order, record.shaped, record.body, record.grows))


def dropped(row: Value, path: Path) -> Value:
    name, rest = path[0], path[1:]
    record = _record(row)
    if rest:
        inner = dropped(record.get(name), rest)
        return _replaced(row, name, inner)
    names = tuple(each for each in record.names if each != name)
    return _changed(row, names, record.get, lambda before: tuple(each for each in before if each != name), without=name)


def renamed(row: Value, path: Path, new: str) -> Value:
    """In its place; a field that had the new name gives way."""
    name, rest = path[0], path[1:]
    record = _record(row)
    if rest:
        return _replaced(row, name, renamed(record.get(name), rest, new))

    def edit(before: tuple[str, ...]) -> tuple[str, ...]:
        if name not in before:
            return before
        return tuple(new if each == name else each for each in before if each != new or name == new)

    def get(each: str) -> Value:
        if each != new:
            return record.get(each)
        old = record.get(name)
        return old if new not in record or name == new else _first(old, record.get(new))

    return _changed(row, edit(record.names), get, edit, made=new, without=name)


def _first(one: Value, other: Value) -> Value:
    """A row that has not the field that is renamed keeps the one of that name."""
    return chosen([(present(one), one), (absent(one), other)])


def _replaced(row: Value, name: str, inner: Value) -> Value:
    record = _record(row)
    return _changed(
        row, record.names, lambda each: inner if each == name else record.get(each), lambda before: before, made=name
    )


def _changed(
    row: Value, names: Sequence[str], get: Callable[[str], Value], edit: Edit, made: str = "", without: str = ""
) -> Value:
    record = _record(row)
    order = record.order.edited(edit) if record.order is not None else None
    body = record.body and _changed_body(record.body, made, without)
    return replace(
        row, record=Record(names, get, order, body=body, grows=record.grows), constant=None, text=None, shaped=None
    )


def _changed_body(body: Body, made: str, without: str) -> Body:
    return replace(
        body, made=(body.made | ({made} if made else set())) - ({without} if without and without != made else set())
    )


def _record(row: Value) -> Record:
    return row.record if row.record is not None else Record((), lambda name: Value({}, MISSING))


def _record_or_empty(value: Value) -> Value:
    """An object that is surely there: what was none becomes an empty one."""
    if value.kinds == {OBJECT} and not value.nothing:
        return value
    return fixed({name: member(value, name) for name in value.record.names} if value.record is not None else {})


def _filled(value: Value) -> Value:
    """Null where it was missing: then all NULL says so, and no column need say it."""
    value = replace(value, shaped=None)
    if value.nothing:
        value = replace(value, alts={kind: sql for kind, sql in value.alts.items() if kind != NULL}, nothing=NULL)
    record = value.record
    if record is None or value.kinds - {NULL} != {OBJECT}:  # of several kinds: nothing makes them one shape
        return value
    return replace(value, record=Record(record.names, lambda name: _filled(record.get(name))))


def _is_known(row: Value, path: Path, scope: Scope, at: ast.Node) -> bool:
    """Raises UnknownField, unless rows of tomorrow may have such a field."""
    for name in path:
        record = row.record
        if record is None or (record.names and name not in record and record.body is None and JSON not in row.alts):
            names = record.names if record is not None else ()
            message = f"unknown field `{'.'.join(path)}`{did_you_mean(name, names)}"
            error = UnknownField(message, scope.query.text, at.span)
            scope.query.unknown(error, may_come=record is not None and record.grows)
            return False
        if record is None or name not in record:
            return True
        row = record.get(name)
    return True
