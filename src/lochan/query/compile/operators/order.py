"""sort, head, tail, top, uniq, sample: operators on the order of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from lochan.pools.kinds import INT
from lochan.pools.shape import decides_nulls
from lochan.query import ast
from lochan.query.compile.comparison import order_keys
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import member
from lochan.query.compile.functions.kinds import type_text
from lochan.query.compile.logic import any_of, coalesce
from lochan.query.compile.relations import Picked, Rows, ascending, number_rows, over, seal
from lochan.query.compile.scope import Scope
from lochan.query.compile.sql import Sql, is_constant, number, op
from lochan.query.compile.value import Value, fixed_object
from lochan.query.leaves import KeyPart


def sort(operator: ast.Sort, rows: Rows, scope: Scope) -> Rows:
    """Records the order. Rows are sorted only when an operator needs it. Equal rows keep their order."""
    keys = operator.keys or (ast.SortKey(_usual_key(rows), operator.reverse),)
    order: list[exp.Ordered] = []
    for key in keys:
        value = value_of(key.value, scope)
        order.extend(order_keys(value, descending=key.descending, nulls_first=key.nulls_first))
    order = [each for each in order if not is_constant(each.this)]  # constants order nothing, and engines refuse them
    seen = {each.this for each in order}
    return replace(rows, order=(*order, *(each for each in rows.order or rows.place if each.this not in seen)))


def place_of(this: Value, key: Sequence[KeyPart]) -> tuple[exp.Ordered, ...]:
    """Returns the order of a source's key."""
    found: list[exp.Ordered] = []
    for part in key:
        value = reduce(member, part.path, this)
        found += order_keys(value, descending=part.descending, nulls_first=part.nulls_first)
    return tuple(each for each in found if not is_constant(each.this))


def head(count: int, rows: Rows, scope: Scope) -> Rows:
    return seal(rows, scope.query.names, count)


def tail(count: int, rows: Rows, scope: Scope) -> Rows:
    counted, place = number_rows(rows, scope.query.names)
    last = Picked(counted.relation, scope.query.names.next(), order=(ascending(place, descending=True),), limit=count)
    return over(counted, last)


def top(operator: ast.Top, rows: Rows, scope: Scope) -> Rows:
    return head(operator.count, sort(ast.Sort(operator.keys, span=operator.span), rows, scope), scope)


def uniq(operator: ast.Uniq, rows: Rows, scope: Scope) -> Rows:
    """Drops a row that equals the one before it."""
    counted, place = number_rows(rows, scope.query.names)
    window = exp.Order(expressions=[ascending(place)])
    columns = list(leaves(counted.this))
    marked = Picked(counted.relation, scope.query.names.next())
    changed = any_of(
        [
            exp.EQ(this=place.copy(), expression=number(1)),
            *(exp.NullSafeNEQ(this=each.copy(), expression=_value_before(each, window)) for each in columns),
        ]
    )
    first = marked.column(changed)
    kept = replace(over(counted, marked), tests=(first,))
    if not operator.counted:
        return kept
    return _count_rows(kept, rows, scope)


def sample(operator: ast.Sample, rows: Rows, scope: Scope) -> Rows:
    """Returns the first rows of each shape."""
    counted, place = number_rows(rows, scope.query.names)
    picked = Picked(counted.relation, scope.query.names.next())
    among = exp.Window(
        this=exp.RowNumber(), partition_by=[_shape(counted.this)], order=exp.Order(expressions=[ascending(place)])
    )
    rank = picked.column(among)
    return replace(over(counted, picked), tests=(op(exp.LTE, rank, number(operator.count)),))


def leaves(value: Value) -> Iterator[Sql]:
    """Yields every column that a value is made of."""
    yield from value.alts.values()
    if value.record is not None:
        for _, each in value.record.items():
            yield from leaves(each)


def _count_rows(kept: Rows, rows: Rows, scope: Scope) -> Rows:
    """Counts how many rows each row stands for: those up to the next one, or to the end."""
    place = kept.order[0].this
    marked = kept.relation
    assert isinstance(marked, Picked)
    inner = Picked(marked.inner, marked.alias, numbered=marked.numbered, columns=marked.columns)
    total = inner.column(exp.Window(this=exp.Max(this=marked.columns[place.name].copy())))
    kept = replace(kept, relation=inner)
    picked = Picked(inner, scope.query.names.next(), kept.tests)
    following = exp.Window(this=exp.Lead(this=place.copy()), order=exp.Order(expressions=[ascending(place)]))
    end = coalesce(following, op(exp.Add, total, number(1)))
    count = picked.column(exp.Cast(this=op(exp.Sub, end, place), to=exp.DataType.build("bigint")))
    found = over(replace(kept, tests=()), picked)
    return replace(found, this=fixed_object({"value": found.this, "count": Value({INT: count})}))


def _value_before(value: Sql, window: exp.Order) -> Sql:
    return exp.Window(this=exp.Lag(this=value.copy()), order=window.copy())


def _shape(this: Value) -> Sql:
    record = this.record
    shaped = record.shaped if record is not None and record.body is None else None
    if shaped is not None and all(map(decides_nulls, shaped.by_number.values())):
        return shaped.number.copy()
    return type_text(this)


def _usual_key(rows: Rows) -> ast.Expr:
    """Returns the pool's key, otherwise the first field, otherwise the whole row."""
    path = rows.key
    if path and member(rows.this, path[0]).alts:
        e: ast.Expr = ast.Name(path[0])
        for name in path[1:]:
            e = ast.Dot(e, name)
        return e
    names = rows.this.record.names if rows.this.record is not None else ()
    return ast.Name(names[0]) if names else ast.This()
