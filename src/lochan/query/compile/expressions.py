"""Expressions as values (compile/value.py), and as tests of rows."""

from __future__ import annotations

import re

from sqlglot import exp

from lochan.pools.kinds import ARRAY, BOOL, INT, JSON, NULL, STRING
from lochan.query import ast
from lochan.query.checkpoint import checkpoint
from lochan.query.compile.arithmetic import arithmetic, negative
from lochan.query.compile.comparison import compare, in_network, total
from lochan.query.compile.constructors import array_of, choose_arm, record_of
from lochan.query.compile.fields import array_items, element, is_array_text, json_by_kind, member, typed_value
from lochan.query.compile.logic import COMPARISONS, all_of, any_of, case, coalesce, flag, is_null, negate, surely
from lochan.query.compile.patterns import contains_term
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.sql import FALSE, Sql, concat, null_of, op, text
from lochan.query.compile.value import GONE, MISSING, Value, boolean, literal
from lochan.query.dialects.neutral import neutral
from lochan.query.errors import UnknownField, did_you_mean


def value_of(e: ast.Expr, scope: Scope) -> Value:
    checkpoint()
    bound = scope.bound.get(id(e))
    if bound is not None:
        return bound
    match e:
        case ast.Literal(kind, value):
            return literal(STRING if kind == "net" else kind, value)
        case ast.This():
            return scope.this
        case ast.Name(name):
            return _member_of(scope.this, name, e, scope, "field")
        case ast.Dot(of, name):
            return _member_of(value_of(of, scope), name, e, scope, f"field of `{_expression_text(of)}`")
        case ast.Index():
            return _index(e, scope)
        case ast.Slice():
            return _slice(e, scope)
        case ast.Unary("-", of):
            return negative(value_of(of, scope))
        case ast.Unary(_, of):
            return _unsure(negate(test_of(of, scope, total=True)), scope, of)
        case ast.Binary("and" | "or" as op_, left, right):
            return _connect(op_, left, right, scope)
        case ast.Binary("in", left, right):
            return boolean(surely(_in(left, right, scope)))
        case ast.Binary("like", left, right):
            return boolean(surely(_like(e, left, right, scope)))
        case ast.Binary(op_, left, right) if op_ in COMPARISONS:
            return boolean(total(op_, value_of(left, scope), value_of(right, scope)))
        case ast.Binary(op_, left, right):
            return arithmetic(op_, value_of(left, scope), value_of(right, scope))
        case ast.Between(of, low, high):
            return boolean(surely(_between(of, low, high, scope)))
        case ast.Conditional(test, then, other):
            sure = surely(test_of(test, scope, total=True))
            return choose_arm([(sure, value_of(then, scope)), (negate(sure), value_of(other, scope))])
        case ast.Call():
            from lochan.query.compile.functions import call_function

            return call_function(e, scope)
        case ast.ListOf(items):
            return array_of([value_of(item, scope) for item in items])
        case ast.RecordOf(fields):
            return record_of([(name, value_of(value, scope)) for name, value in fields])
        case ast.Term(what):
            return boolean(surely(contains_term(what, scope.this, scope, e)))
    raise query_error(scope.query, e, "a pattern cannot be used here")


def test_of(e: ast.Expr, scope: Scope, *, total: bool = False) -> Sql:
    """Returns a test that is true where the expression is, and false or NULL elsewhere. With `total`, it is NULL only
    where the expression has no boolean."""
    match e:
        case ast.Binary("and", left, right):
            return all_of([test_of(left, scope, total=total), test_of(right, scope, total=total)])
        case ast.Binary("or", left, right):
            return any_of([test_of(left, scope, total=total), test_of(right, scope, total=total)])
        case ast.Binary(op_, left, right) if op_ in COMPARISONS and not total:
            return compare(op_, value_of(left, scope), value_of(right, scope))
        case ast.Binary("in", left, right) if not total:
            return _in(left, right, scope)
        case ast.Binary("like", left, right) if not total:
            return _like(e, left, right, scope)
        case ast.Between(of, low, high) if not total:
            return _between(of, low, high, scope)
        case ast.Term(what) if not total:
            return contains_term(what, scope.this, scope, e)
        case ast.Unary("not", of):
            return negate(test_of(of, scope, total=True))
    truth = value_of(e, scope).alts.get(BOOL)
    if truth is None:
        return null_of(BOOL) if total else FALSE
    return truth


def _member_of(of: Value, name: str, e: ast.Expr, scope: Scope, what: str) -> Value:
    value = member(of, name)
    if value is GONE or not value.alts:
        record = of.record
        has_names = record is not None and record.names and record.body is None and JSON not in of.alts
        if has_names and record is not None and name not in record and not scope.lenient:
            near = did_you_mean(name, record.names)
            hint = "" if near else _first_names(record.names)
            error = UnknownField(f"unknown {what} `{name}`{near}", scope.query.text, e.span, hint=hint)
            scope.query.unknown(error, may_come=record.grows)
    return value


def _first_names(names: tuple[str, ...]) -> str:
    return "there are " + ", ".join(f"`{name}`" for name in names[:8]) + (" and others" if len(names) > 8 else "")


def _index(e: ast.Index, scope: Scope) -> Value:
    of, at = value_of(e.of, scope), value_of(e.at, scope)
    if isinstance(at.constant, bool) or not isinstance(at.constant, int | str):
        raise query_error(scope.query, e.at, "an index must be a constant number or name")
    if isinstance(at.constant, str):
        return _member_of(of, at.constant, e, scope, "field")
    return element(of, at.constant)


def _slice(e: ast.Slice, scope: Scope) -> Value:
    of = value_of(e.of, scope)
    ends = []
    for end in (e.start, e.stop):
        value = None if end is None else value_of(end, scope).constant
        if end is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise query_error(scope.query, end, "the ends of a slice must be constant numbers")
        ends.append(value)
    alts: dict[str, Sql] = {}
    if STRING in of.alts:
        alts[STRING] = neutral("text_slice", of.alts[STRING], options=tuple(ends))
    if ARRAY in of.alts:
        alts[ARRAY] = neutral("list_slice", of.alts[ARRAY], options=tuple(ends))
    if JSON in of.alts:
        alts[JSON] = _slice_text(of.alts[JSON], tuple(ends))
    if NULL in of.alts:
        alts[NULL] = of.alts[NULL]
    whole = set(of.alts) == set(alts) and JSON not in alts  # such a text may be an object
    return Value(alts, of.nothing if whole else MISSING, of.element)


def _slice_text(json: Sql, ends: tuple[int | None, ...]) -> Sql:
    """Slices an array that is kept as text because its elements are of several kinds."""
    inside = neutral("list_join", neutral("list_slice", array_items(json), options=ends), options=(",",))
    return case((is_array_text(json), concat(text("["), coalesce(inside, text("")), text("]"))))


def _connect(op_: str, left: ast.Expr, right: ast.Expr, scope: Scope) -> Value:
    join = all_of if op_ == "and" else any_of
    sides = [test_of(each, scope, total=True) for each in (left, right)]
    return _unsure(join(sides), scope, left, right)


def _unsure(test: Sql, scope: Scope, *sides: ast.Expr) -> Value:
    """Returns a boolean that is null where a side is not a boolean and the other does not decide."""
    if is_null(test) == FALSE or all(_is_sure(side, scope) for side in sides):
        return boolean(test)
    return Value({BOOL: test, NULL: flag(is_null(test))})


def _is_sure(e: ast.Expr, scope: Scope) -> bool:
    value = value_of(e, scope)
    return not value.nothing and value.kinds == {BOOL}


def _in(left: ast.Expr, right: ast.Expr, scope: Scope) -> Sql:
    one = value_of(left, scope)
    if isinstance(right, ast.ListOf):
        return _one_of(one, [value_of(item, scope) for item in right.items])
    if isinstance(right, ast.Literal) and right.kind == "net":
        return in_network(str(right.value), one)
    many = value_of(right, scope)
    tests: list[Sql] = [_among(one, many)]
    if STRING in many.alts and STRING in one.alts:
        tests.append(neutral("contains", many.alts[STRING], one.alts[STRING]))
    return any_of(tests)


def _among(one: Value, many: Value) -> Sql:
    """Tests whether an array has an element that equals the value. It is false for a value that is not an array."""
    tests: list[Sql] = []
    if ARRAY in many.alts and many.element is not None:
        if one.kinds == {many.element} and many.element in (BOOL, INT, STRING):
            tests.append(neutral("list_contains", many.alts[ARRAY], one.alts[many.element]))
        else:
            tests.append(_any_element(many.alts[ARRAY], compare("==", one, typed_value(_ELEMENT, many.element))))
    if JSON in many.alts:
        tests.append(_any_element(array_items(many.alts[JSON]), compare("==", one, json_by_kind(_ELEMENT))))
    return any_of(tests)


_ELEMENT = exp.column("element")


def _any_element(array: Sql, test: Sql) -> Sql:
    return FALSE if test == FALSE else neutral("list_some", array, test)


def _one_of(one: Value, items: list[Value]) -> Sql:
    """Tests by `IN (…)` for values of one kind, which engines look up at once. It is used only for a column: DuckDB 2.0
    keeps too many rows for `CASE WHEN a THEN 'x' END IN ('x')`."""
    tests: list[Sql] = []
    by_kind: dict[str, list[Sql]] = {}
    single = len(one.alts) == 1 and isinstance(next(iter(one.alts.values())), exp.Column)
    for item in items:
        kind = next(iter(item.alts), "")
        if single and item.constant is not None and kind in one.alts and kind in (INT, STRING):
            by_kind.setdefault(kind, []).append(item.alts[kind])
        else:
            tests.append(compare("==", one, item))
    for kind, values in by_kind.items():
        many = exp.In(this=one.alts[kind].copy(), expressions=[each.copy() for each in values])
        tests.append(many if len(values) > 1 else op(exp.EQ, one.alts[kind], values[0]))
    return any_of(tests)


def _like(e: ast.Expr, left: ast.Expr, right: ast.Expr, scope: Scope) -> Sql:
    pattern = value_of(right, scope).constant
    if not isinstance(pattern, str):
        raise query_error(scope.query, right, "the pattern of `like` must be a constant text")
    if re.search(r"\\(?![\\%_])", re.sub(r"\\\\", "", pattern)):
        raise query_error(
            scope.query, right, "a backslash in a pattern of `like` must stand before %, _ or another backslash"
        )
    one = value_of(left, scope)
    return neutral("like", one.alts[STRING], options=(pattern,)) if STRING in one.alts else exp.false()


def _between(of: ast.Expr, low: ast.Expr, high: ast.Expr, scope: Scope) -> Sql:
    value = value_of(of, scope)
    return all_of([compare(">=", value, value_of(low, scope)), compare("<=", value, value_of(high, scope))])


def _expression_text(e: ast.Expr) -> str:
    match e:
        case ast.Name(name):
            return name
        case ast.Dot(of, name):
            return f"{_expression_text(of)}.{name}"
    return "this"
