"""count() by key and similar operators: one row for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from lochan.pools.shape import Path
from lochan.query import ast
from lochan.query.compile.aggregates import aggregate
from lochan.query.compile.calls import Aggregated, FunctionCall
from lochan.query.compile.expressions import value_of
from lochan.query.compile.functions.numbers import bucket_value, clock_field
from lochan.query.compile.moments import by_moment
from lochan.query.compile.numbers import normalize
from lochan.query.compile.operators.projection import build_row, path_of
from lochan.query.compile.relations import Picked, Relation, Rows, number_rows
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.sql import Sql, is_constant, number, op
from lochan.query.compile.value import Record, Value, errors_as_null, map_expressions
from lochan.query.dialects.neutral import Neutral

_MADE_OF_ONE = ("from_micros", "number_text", "decimal_text")
_BY_PLACE = ("first", "last", "collect")


def aggregate_rows(operator: ast.Aggregate, rows: Rows, scope: Scope) -> Rows:
    place: Sql | None = None
    if any(isinstance(each.value, ast.Call) and each.value.name in _BY_PLACE for each in operator.values):
        rows, place = number_rows(rows, scope.query.names)
        scope = replace(scope, this=rows.this, bound=_through(scope.bound, rows.relation))
    keys = _keys(operator, scope)
    flat = dict(keys)
    group = [_group_term(sql) for value in flat.values() for sql in _leaves(value)]
    columns = [sql for sql in dict.fromkeys(group) if not is_constant(sql)]
    having = op(exp.GT, exp.Count(this=exp.Star()), number(0)) if keys and not columns else None
    picked = Picked(rows.relation, scope.query.names.next(), rows.tests, group=tuple(columns), having=having)
    fields = [(path, map_expressions(value, lambda sql, kind: picked.column(sql))) for path, value in flat.items()]
    used = set(flat)
    for each in operator.values:
        path = _free(path_of(each, scope), used)
        value = aggregate(_aggregate(each, scope, place, grouped=bool(columns)))
        fields.append((path, map_expressions(value, lambda sql, kind: picked.column(sql))))
    return Rows(picked, build_row(fields))


def _through(bound: Mapping[int, Value], relation: Relation) -> Mapping[int, Value]:
    """Returns parts that have columns already as columns of the relation around them."""
    assert isinstance(relation, Picked)
    return {part: map_expressions(value, lambda sql, kind: relation.column(sql)) for part, value in bound.items()}


def _keys(operator: ast.Aggregate, scope: Scope) -> list[tuple[Path, Value]]:
    found: list[tuple[Path, Value]] = []
    if operator.every is not None:
        call = FunctionCall(ast.Call("every", (), span=operator.span), scope)
        field = clock_field(call)
        if not field.alts and scope.key is None and not _has_ts(scope) and _has_fields(scope):
            raise query_error(scope.query, operator, "`every` needs a field `ts` or a pool whose key is a time")
        name = scope.key[-1] if scope.key and not _has_ts(scope) else "ts"
        found.append(((name,), bucket_value(call, field, operator.every, of_times=True)))
    found.extend((path_of(each, scope), flatten_key(value_of(each.value, scope))) for each in operator.keys)
    return found


def flatten_key(value: Value) -> Value:
    """Returns a key without information that is not part of the value: the format of a time, the order of fields."""
    value = replace(by_moment(normalize(errors_as_null(value))), text=None, shaped=None)
    record = value.record
    if record is None:
        return value
    return replace(value, record=Record(record.names, lambda name: flatten_key(record.get(name))))


def _group_term(sql: Sql) -> Sql:
    """Returns the number that a time is made of, or the key that a decimal is made of, so that these are made once for
    each group, and not for each row."""
    return sql.expressions[0] if isinstance(sql, Neutral) and sql.this in _MADE_OF_ONE else sql


def _has_ts(scope: Scope) -> bool:
    return scope.this.record is not None and "ts" in scope.this.record


def _has_fields(scope: Scope) -> bool:
    """Returns whether fields are known. They are not if there are no rows yet: rows that come may have any field."""
    return scope.this.record is None or bool(scope.this.record.names)


def _leaves(value: Value) -> list[Sql]:
    found = list(value.alts.values())
    if value.original is not None:
        found.append(value.original)
    if value.record is not None:
        for _, each in value.record.items():
            found.extend(_leaves(each))
    return found


def _aggregate(each: ast.Assigned, scope: Scope, place: Sql | None, *, grouped: bool) -> Aggregated:
    call = each.value
    assert isinstance(call, ast.Call)
    return Aggregated(call, scope, place, grouped)


def _free(path: Path, used: set[Path]) -> Path:
    """Returns a free name: `sum`, then `sum_1` for a second one."""
    found, count = path, 0
    while found in used:
        count += 1
        found = (*path[:-1], f"{path[-1]}_{count}")
    used.add(found)
    return found
