"""Makes parts of an expression columns of their own, so that the expression around them names a column instead of
repeating them: a sum over a field of seven kinds repeats each side several times, and a sum of sums the square of that.

    a + a + a + a + a + a     SELECT c0 + a + a … FROM (SELECT a + a + a + a AS c0 …)

Parts that are short stay where they are: an engine sees through one SELECT better than through two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lochan.pools.kinds import JSON
from lochan.query import ast
from lochan.query.compile.expressions import value_of
from lochan.query.compile.relations import Picked, Rows, over
from lochan.query.compile.scope import Scope, size_of
from lochan.query.compile.value import Value, map_expressions
from lochan.query.dialects.neutral import Neutral
from lochan.query.functions import AGGREGATES

_STEP = 3  # nested operations after which their length is checked
_NODES = 300  # the size of a part that gets a column
_COMPUTED = frozenset("+-*/%")


class Bound(NamedTuple):
    rows: Rows
    scope: Scope


def bind_columns(operator: ast.Operator, rows: Rows, scope: Scope) -> Bound:
    """Returns the same rows, and a scope over them in which long parts of the operator's expressions are columns."""
    levels = _levels(_expressions(operator))
    for _, parts in sorted(levels.items()):
        found = {id(part): value_of(part, scope) for part in parts}
        scope = replace(scope, bound={**scope.bound, **found})
        if any(size_of(value, _NODES) >= _NODES or _is_merged(value) for value in found.values()):
            rows, scope = seal_again(rows, scope)
    return Bound(rows, scope)


def _is_merged(value: Value) -> bool:
    """Returns whether the value is a record made of texts: its SQL is short here, and very long in an engine's
    dialect."""
    made = value.alts.get(JSON)
    return isinstance(made, Neutral) and made.this == "json_merged"


def seal_again(rows: Rows, scope: Scope) -> Bound:
    """Returns the same rows as a relation of their own, and the scope over that."""
    picked = Picked(rows.relation, scope.query.names.next(), rows.tests, rows.order)
    made = over(rows, picked)
    values: Mapping[int, Value] = {
        part: map_expressions(value, lambda sql, kind: picked.column(sql)) for part, value in scope.bound.items()
    }
    return Bound(made, replace(scope, this=made.this, bound=values))


def _expressions(operator: ast.Operator) -> Sequence[ast.Expr]:
    """Returns the expressions that are evaluated on the row as it comes in."""
    match operator:
        case ast.Where(test):
            return [test]
        case ast.Cut(fields) | ast.Put(fields):
            return [each.value for each in fields]
        case ast.Yield(values):
            return values
        case ast.Aggregate():
            return [*(each.value for each in operator.keys), *_arguments(operator)]
    return []


def _arguments(operator: ast.Aggregate) -> Iterator[ast.Expr]:
    calls = [each.value for each in operator.values if isinstance(each.value, ast.Call)]
    if not any(call.name in ("first", "last", "collect") for call in calls):  # these number the rows before
        for call in calls:
            yield from (*call.arguments, *([call.where] if call.where is not None else []))


def _levels(expressions: Sequence[ast.Expr]) -> dict[int, list[ast.Expr]]:
    """Groups parts by how many operations they contain, which is the order in which they are computed."""
    found: dict[int, list[ast.Expr]] = {}
    for each in expressions:
        depth = _depth(each, found)
        if depth % _STEP and isinstance(each, ast.Binary) and each.op in _COMPUTED:
            found.setdefault(depth, []).append(each)  # the last one may be the first of the next operator
    return found


def _depth(e: ast.Expr, found: dict[int, list[ast.Expr]]) -> int:
    """Returns how many operations the expression contains, and adds parts to `found` at every few operations."""
    depth = max((_depth(each, found) for each in _within(e)), default=0)
    if isinstance(e, ast.RecordOf) and any(name is None for name, _ in e.fields):
        depth += 1
        found.setdefault(depth, []).append(e)
        return depth
    if not _is_computed(e):
        return depth
    depth += 1
    if depth % _STEP == 0:
        found.setdefault(depth, []).append(e)
    return depth


def _is_computed(e: ast.Expr) -> bool:
    match e:
        case ast.Binary(op):
            return op in _COMPUTED
        case ast.Unary(op):
            return op == "-"
    return isinstance(e, ast.Conditional)


def _within(e: ast.Expr) -> Sequence[ast.Expr]:
    match e:
        case ast.Binary(_, left, right):
            return left, right
        case ast.Unary(_, of) | ast.Dot(of, _):
            return (of,)
        case ast.Between(of, low, high):
            return of, low, high
        case ast.Conditional(test, then, other):
            return test, then, other
        case ast.Call(name, arguments) if name not in AGGREGATES:
            return arguments
        case ast.ListOf(items):
            return items
        case ast.RecordOf(fields):
            return [value for _, value in fields]
    return ()
