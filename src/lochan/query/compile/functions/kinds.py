"""Functions about a value itself: whether it exists, and its kind."""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.kinds import ARRAY, DECIMAL, ERROR, JSON, NULL, OBJECT, STRING
from lochan.pools.shape import Array, Maybe, Object, Type, decides_nulls, kind_of
from lochan.query.compile.calls import Function, FunctionCall
from lochan.query.compile.constructors import choose_arm
from lochan.query.compile.expressions import value_of
from lochan.query.compile.logic import all_of, any_of, case, eq, is_set, negate, surely
from lochan.query.compile.sql import Sql, concat, null_of, text
from lochan.query.compile.value import (
    KINDS,
    MISSING,
    Record,
    Shaped,
    Value,
    absent,
    boolean,
    has_value,
    is_explicit_null,
    present,
)
from lochan.query.dialects.neutral import neutral

_SHOWN = {OBJECT: "record"}
_ALSO = {"int64": "int", "float64": "float", OBJECT: "record"}


def has(call: FunctionCall) -> Value:
    return boolean(all_of(present(each) for each in _lenient_arguments(call)))


def missing(call: FunctionCall) -> Value:
    return boolean(any_of(absent(each) for each in _lenient_arguments(call)))


def first_there(call: FunctionCall) -> Value:
    """Returns the first value that is neither missing nor null, or null where there is none."""
    arms: list[tuple[Sql, Value]] = []
    before: list[Sql] = []
    for each in _lenient_arguments(call):
        there = any_of([has_value(each), *([is_set(each.alts[ERROR])] if ERROR in each.alts else [])])
        arms.append((all_of([*before, there]), each))
        before.append(negate(there))
    rest = all_of(before)
    return choose_arm([*arms, (rest, Value({NULL: exp.true()}))])


def is_kind(call: FunctionCall) -> Value:
    name = call.text(1, "the name of a kind")
    name = _ALSO.get(name, name)
    kind = next((each for each in KINDS if _SHOWN.get(each, each) == name), None)
    if kind is None:
        choices = ", ".join(_SHOWN.get(each, each) for each in KINDS)
        call.refuse(f"there is no kind `{name}`", f"the kinds are {choices}", at=1)
    return boolean(surely(_is(call[0], kind)))


def kind(call: FunctionCall) -> Value:
    value = call[0]
    arms = [(_is(value, each), text(_SHOWN.get(each, each))) for each in KINDS]
    return Value({STRING: case(*arms)}, MISSING if value.nothing == MISSING else "")


def type_of(call: FunctionCall) -> Value:
    value = call[0]
    return Value({STRING: type_text(value)}, MISSING if value.nothing == MISSING else "")


def is_error(call: FunctionCall) -> Value:
    from lochan.query.compile.functions import casts

    e = call.arguments[0]
    if getattr(e, "name", "") in casts.TABLE and hasattr(e, "arguments"):
        return boolean(surely(casts.fails(FunctionCall(e, call.scope))))  # type: ignore[arg-type]
    value = call[0]
    return boolean(is_set(value.alts[ERROR]) if ERROR in value.alts else exp.false())


def type_text(value: Value) -> Sql:
    """Returns the type as text, such as `{a:int,b:[string]}`, or NULL where the value is missing."""
    if value.shaped is not None and value.kinds & {ARRAY, OBJECT, JSON}:
        return _by_shape(value, value.shaped)
    if value.record is not None and value.record.shaped is not None and value.record.body is None:
        return _by_shape(value, value.record.shaped)
    arms: list[tuple[Sql, Sql]] = []
    for each in value.alts:
        if each == OBJECT and value.record is not None:
            arms.append((_set(value, OBJECT), _record_text(value.record)))
        elif each == ARRAY:
            arms.append((_set(value, ARRAY), text(_show_type(Array(value.element)))))
        elif each == JSON:
            arms.append((_set(value, JSON), _json_type(value.alts[JSON])))
        elif each != NULL:
            arms.append((_set(value, each), text(each)))
    return case(*arms, (is_explicit_null(value), text(NULL)))


def _by_shape(value: Value, shaped: Shaped) -> Sql:
    """Returns the type by the shape of the row. The shape does not show the types in a list of mixed kinds, which is
    only text to it, or which values are null; the columns do."""
    numbers: dict[Type, list[int]] = {}
    for at, type in shaped.by_number.items():
        numbers.setdefault(_show_type(type) if _decides_kinds(type) else type, []).append(at)
    arms: list[tuple[Sql, Sql]] = (
        [] if shaped.sure else [(absent(value), null_of(STRING)), (is_explicit_null(value), text(NULL))]
    )
    if len(numbers) == 1 and not value.nothing:
        return case(*arms, other=_type_text(next(iter(numbers)), value))
    for type, each in numbers.items():
        test = exp.In(this=shaped.number.copy(), expressions=[exp.Literal.number(at) for at in each])
        arms.append((test, _type_text(type, value)))
    return case(*arms)


def _type_text(type: Type, value: Value) -> Sql:
    """Returns the type of a value whose type is `type`, as text. The columns show what is null. A string is shown as a
    type."""
    if isinstance(type, Maybe):
        return case((is_explicit_null(value), text(NULL)), other=_type_text(type.of, value))
    if isinstance(type, Object) and value.record is not None and not _decides_kinds(type):
        members = [concat(text(f"{name}:"), _type_text(each, value.record.get(name))) for name, each in type.fields]
        return concat(text("{"), neutral("join_texts", *members, options=(",",)), text("}"))
    if type == JSON and JSON in value.alts:
        number = [(is_set(value.alts[DECIMAL]), text(DECIMAL))] if DECIMAL in value.alts else []
        return case(*number, other=_json_type(value.alts[JSON]))
    return text(_show_type(type))


def _decides_kinds(type: Type) -> bool:
    """Returns whether the type alone decides, without the columns."""
    if isinstance(type, Object):
        return all(_decides_kinds(each) for _, each in type.fields)
    return decides_nulls(type) and type != JSON


def _json_type(sql: Sql) -> Sql:
    first = neutral("first_character", sql)
    return case((eq(first, text("[")), text("[any]")), (eq(first, text("{")), text("{any}")), other=text(JSON))


def _record_text(record: Record) -> Sql:
    members = [concat(text(f"{name}:"), type_text(value)) for name, value in record.items()]
    inside = neutral("join_texts", *members, options=(",",)) if members else text("")
    return concat(text("{"), inside, text("}"))


def _is(value: Value, kind: str) -> Sql:
    if kind == NULL:
        return is_explicit_null(value)
    if kind == OBJECT and JSON in value.alts:
        return any_of([_set(value, OBJECT), neutral("matches", value.alts[JSON], options=("^\\{",))])
    if kind == ARRAY and JSON in value.alts:
        return any_of([_set(value, ARRAY), neutral("matches", value.alts[JSON], options=("^\\[",))])
    if kind == JSON and JSON in value.alts:
        return neutral("matches", value.alts[JSON], options=("^[^{\\[]",))
    return _set(value, kind)


def _set(value: Value, kind: str) -> Sql:
    if kind not in value.alts:
        return exp.false()
    if len(value.alts) == 1 and not value.nothing:
        return exp.true()
    return is_set(value.alts[kind])


def _show_type(type: Type) -> str:
    if isinstance(type, Object):
        return "{" + ",".join(f"{name}:{_show_type(each)}" for name, each in type.fields) + "}"
    if isinstance(type, Array):
        return f"[{_show_type(type.of) if type.of is not None else ''}]"
    return kind_of(type)


def _lenient_arguments(call: FunctionCall) -> list[Value]:
    """Returns the arguments. Any name may be used: a field that no row has is missing."""
    scope = call.scope.forgiving()
    return [value_of(each, scope) for each in call.arguments]


TABLE: dict[str, Function] = {
    "has": has,
    "missing": missing,
    "coalesce": first_there,
    "is": is_kind,
    "kind": kind,
    "typeof": type_of,
    "is_error": is_error,
}
