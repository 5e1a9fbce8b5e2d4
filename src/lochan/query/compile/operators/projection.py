"""cut, put, drop, rename, fuse: other fields, the same rows. They make no SQL: fields are values of the row, and values
that are not used are not computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lochan.pools.kinds import JSON, NULL, OBJECT
from lochan.pools.shape import Object, Path
from lochan.query import ast
from lochan.query.compile.constructors import choose_arm
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import is_object_text, member
from lochan.query.compile.logic import any_of, case, flag, is_null, is_set
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.sql import FALSE, TRUE, Sql
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import MISSING, Body, Edit, Order, Record, Value, absent, fixed_object, present
from lochan.query.dialects.neutral import neutral
from lochan.query.errors import UnknownField, did_you_mean


def cut(operator: ast.Cut, scope: Scope) -> Value:
    """Returns a row with only these fields, in this order."""
    return build_row([(path_of(each, scope), value_of(each.value, scope)) for each in operator.fields])


def put(operator: ast.Put, scope: Scope) -> Value:
    """Returns the row with these fields. All values are computed from the row as it comes. A row that is not a record
    stays unchanged."""
    return assign_fields(scope.this, [(path_of(each, scope), value_of(each.value, scope)) for each in operator.fields])


def drop(operator: ast.Drop, scope: Scope) -> Value:
    row = scope.this
    for path in operator.paths:
        if _is_known(row, path, scope, operator):
            row = drop_field(row, path)
    return row


def rename(operator: ast.Rename, scope: Scope) -> Value:
    row = scope.this
    for new, old in operator.fields:
        if new[:-1] != old[:-1]:
            raise query_error(scope.query, operator, "a field cannot be moved to another place", "use put and drop")
        if _is_known(row, old, scope, operator):
            row = rename_field(row, old, new[-1])
    return row


def fuse(this: Value) -> Value:
    """Gives every row every field. Fields that a row did not have are null."""
    if this.record is None:
        return this
    record = this.record
    names = record.names
    return replace(this, record=Record(names, lambda name: _missing_as_null(record.get(name)), grows=record.grows))


def build_row(fields: Sequence[tuple[Path, Value]]) -> Value:
    """Returns a row with exactly these fields. An object around a field exists where one of its fields does."""
    return fixed_object(_members(fields))


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
        members[name] = fixed_object(below, any_of(present(value) for value in below.values()))
    return members


def path_of(each: ast.Assigned, scope: Scope) -> Path:
    """Returns the path that the value is assigned to."""
    path = ast.assigned_path(each)
    if not path:
        raise query_error(scope.query, each.value, "this value has no name", "write name := value")
    return path


# ── members of an object ─────────────────────────────────────────────────────────────────────────────────────────────


def assign_fields(row: Value, fields: Sequence[tuple[Path, Value]]) -> Value:
    """Returns the row with these values. Objects on the way are made where there are none. A field whose value is
    missing is removed."""
    row = _edit_text(row, lambda text: _assign_text(text, fields))
    for path, value in fields:
        row = _assign_path(row, path, value)
    return row


def _assign_path(row: Value, path: Path, value: Value) -> Value:
    name, rest = path[0], path[1:]
    record = _record(row)
    if rest:
        value = assign_fields(as_object(record.get(name)) if name in record else fixed_object({}), [(rest, value)])
    names = record.names if name in record else (*record.names, name)
    if name in record and present(record.get(name)) != TRUE:
        row = _by_shape(row)  # a row without the field gets it as the last one
    member = value

    def get(each: str) -> Value:
        return member if each == name else record.get(each)

    return _change_record(row, names, get, lambda before: before if name in before else (*before, name), made=name)


def _by_shape(row: Value) -> Value:
    """Returns the row with the order of each shape, if one order was enough for all before."""
    record = _record(row)
    if record.order is not None or record.shaped is None:
        return row
    names = {at: type.names() for at, type in record.shaped.by_number.items() if isinstance(type, Object)}
    order = Order(record.shaped.number, names)
    return replace(row, record=Record(record.names, record.get, order, record.shaped, record.body, record.grows))


def drop_field(row: Value, path: Path) -> Value:
    row = _edit_text(row, lambda text: _inside_text(text, path[:-1], lambda inner: _without(inner, path[-1])))
    return _drop_path(row, path)


def _drop_path(row: Value, path: Path) -> Value:
    name, rest = path[0], path[1:]
    if rest:
        return _replace_field(row, name, lambda inner: drop_field(inner, rest))
    record = _record(row)
    names = tuple(each for each in record.names if each != name)
    return _change_record(
        row, names, record.get, lambda before: tuple(each for each in before if each != name), without=name
    )


def rename_field(row: Value, path: Path, new: str) -> Value:
    """Renames a field in its place. It replaces a field that had the new name."""
    row = _edit_text(
        row,
        lambda text: _inside_text(
            text, path[:-1], lambda inner: neutral("json_merged", inner, options=("renamed", path[-1], new))
        ),
    )
    return _rename_path(row, path, new)


def _rename_path(row: Value, path: Path, new: str) -> Value:
    name, rest = path[0], path[1:]
    if rest:
        return _replace_field(row, name, lambda inner: rename_field(inner, rest, new))
    record = _record(row)

    def edit(before: tuple[str, ...]) -> tuple[str, ...]:
        if name not in before:
            return before
        return tuple(new if each == name else each for each in before if each != new or name == new)

    def get(each: str) -> Value:
        if each != new:
            return record.get(each)
        old = record.get(name)
        return old if new not in record or name == new else _first(old, record.get(new))

    return _change_record(row, edit(record.names), get, edit, made=new, without=name)


def _first(one: Value, other: Value) -> Value:
    """Returns the renamed field. A row that does not have it keeps the field with the new name."""
    return choose_arm([(present(one), one), (absent(one), other)])


def _replace_field(row: Value, name: str, change: Callable[[Value], Value]) -> Value:
    """Replaces the value of a field that the row has."""
    record = _record(row)
    if name not in record:
        return row
    inner = change(record.get(name))
    return _change_record(
        row, record.names, lambda each: inner if each == name else record.get(each), lambda before: before, made=name
    )


def _change_record(
    row: Value, names: Sequence[str], get: Callable[[str], Value], edit: Edit, made: str = "", without: str = ""
) -> Value:
    record = _record(row)
    order = record.order.edited(edit) if record.order is not None else None
    body = record.body and _change_body(record.body, made, without)
    return replace(
        row, record=Record(names, get, order, body=body, grows=record.grows), constant=None, text=None, shaped=None
    )


def _change_body(body: Body, made: str, without: str) -> Body:
    return replace(
        body, made=(body.made | ({made} if made else set())) - ({without} if without and without != made else set())
    )


def _record(row: Value) -> Record:
    return row.record if row.record is not None else Record((), lambda name: Value({}, MISSING))


def as_object(value: Value) -> Value:
    """Returns an object that always exists: other values become an empty object."""
    if value.kinds == {OBJECT} and not value.nothing:
        return value
    text = _object_text(value)
    laid_out = value.only((OBJECT,))
    record = _record(value)
    inner = Record(
        record.names, lambda name: member(laid_out, name), record.order, record.shaped, record.body, record.grows
    )
    if text is None:
        return Value({OBJECT: TRUE}, record=inner)
    return Value({OBJECT: flag(is_null(text)), JSON: text}, record=inner)


# ── members of objects that are JSON text ────────────────────────────────────────────────────────────────────────────


def _object_text(value: Value) -> Sql | None:
    json = value.alts.get(JSON)
    return None if json is None else case((is_object_text(json), json))


def _edit_text(row: Value, edit: Callable[[Sql], Sql]) -> Value:
    """Edits objects that are text; arrays stay unchanged."""
    json = row.alts.get(JSON)
    if json is None:
        return row
    changed = case((is_object_text(json), edit(json)), other=json)
    return replace(row, alts={**row.alts, JSON: changed}, constant=None, text=None)


def _assign_text(text: Sql, fields: Sequence[tuple[Path, Value]]) -> Sql:
    """Assigns all fields at once: the text may be long, and each name would repeat it."""
    by_name: dict[str, list[tuple[Path, Value]]] = {}
    for (name, *rest), value in fields:
        if not rest:
            by_name.pop(name, None)  # values that were assigned inside it are removed with it
        by_name.setdefault(name, []).append((tuple(rest), value))
    put: dict[str, Value] = {}
    for name, each in by_name.items():
        whole = [value for path, value in each if not path]
        inner = [(path, value) for path, value in each if path]
        if whole and inner:
            put[name] = assign_fields(as_object(whole[0]), inner)
        elif inner:
            put[name] = Value({JSON: _assign_text(_object_at(text, name), inner)})
        else:
            put[name] = whole[0]
    gone = {name: test for name, value in put.items() if (test := absent(value)) != FALSE}
    return neutral("json_merged", text, _object_of(put), *gone.values(), options=("gone", *gone) if gone else ())


def _object_of(members: Mapping[str, Value]) -> Sql:
    """Returns the text of an object. A value that came from a text is used as text: converting it by its kinds would be
    far longer."""
    texts = {name: value.text for name, value in members.items() if value.text is not None}
    return json_text(fixed_object({**members, **{name: Value({JSON: text}, MISSING) for name, text in texts.items()}}))


def _inside_text(text: Sql, path: Path, edit: Callable[[Sql], Sql]) -> Sql:
    """Edits the object at the path, where there is one."""
    if not path:
        return edit(text)
    inner = _object_at(text, path[0])
    edited = case((is_set(inner), _inside_text(inner, path[1:], edit)))
    return neutral(
        "json_merged", text, json_text(fixed_object({path[0]: Value({JSON: edited}, MISSING)}, is_set(edited)))
    )


def _object_at(text: Sql, name: str) -> Sql:
    """Returns the object of that name, or NULL where there is none."""
    found = member(Value({JSON: text}, MISSING), name).alts[JSON]
    return case((is_object_text(found), found))


def _without(text: Sql, name: str) -> Sql:
    return neutral("json_merged", text, TRUE, options=("gone", name))


def _missing_as_null(value: Value) -> Value:
    """Returns the value with null where it was missing. All being NULL means null then, so no column is needed for
    it."""
    value = replace(value, shaped=None)
    if value.nothing:
        value = replace(value, alts={kind: sql for kind, sql in value.alts.items() if kind != NULL}, nothing=NULL)
    record = value.record
    if record is None or value.kinds - {NULL} != {OBJECT}:  # with several kinds, no shape fits all
        return value
    return replace(value, record=Record(record.names, lambda name: _missing_as_null(record.get(name))))


def _is_known(row: Value, path: Path, scope: Scope, at: ast.Node) -> bool:
    """Returns whether the row may have such a field. Raises UnknownField, unless later rows may have it."""
    for name in path:
        record = row.record
        if JSON in row.alts:  # only the rows show which fields they have
            return True
        if record is None or (record.names and name not in record and record.body is None):
            names = record.names if record is not None else ()
            message = f"unknown field `{'.'.join(path)}`{did_you_mean(name, names)}"
            error = UnknownField(message, scope.query.text, at.span)
            scope.query.unknown(error, may_come=record is not None and record.grows)
            return False
        if record is None or name not in record:
            return True
        row = record.get(name)
    return True
