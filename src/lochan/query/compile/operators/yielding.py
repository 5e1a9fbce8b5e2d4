"""yield and over: rows that are other values than before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from lochan.pools.shape import ARRAY, JSON
from lochan.query import ast
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import opened, typed
from lochan.query.compile.operators.branching import stacked
from lochan.query.compile.relations import Picked
from lochan.query.compile.rows import Rows
from lochan.query.compile.scope import Scope
from lochan.query.compile.sql import FALSE, Sql
from lochan.query.compile.value import MISSING, Value, present
from lochan.query.dialects.neutral import neutral


def yielded(values: Sequence[ast.Expr], rows: Rows, scope: Scope) -> Rows:
    """What is missing is no row."""
    arms = []
    for each in values:
        value = value_of(each, scope)
        arm = replace(rows, this=value, key=None)
        arms.append(arm.where(present(value)) if value.nothing == MISSING else arm)
    return stacked(arms, scope.query)


def unnested(values: Sequence[ast.Expr], rows: Rows, scope: Scope) -> Rows:
    """One row for each element; what is no array has none."""
    arms = [_elements(value_of(each, scope), rows, scope) for each in values]
    flat = [arm for some in arms for arm in some]
    if not flat:
        return replace(rows, this=Value({}, MISSING)).where(FALSE)
    return stacked(flat, scope.query)


def _elements(value: Value, rows: Rows, scope: Scope) -> list[Rows]:
    found = []
    if ARRAY in value.alts and value.element is not None:
        picked, each = _spread(value.alts[ARRAY], rows, scope)
        found.append(Rows(picked, typed(each, value.element)))
    if JSON in value.alts:
        picked, each = _spread(neutral("json_exact_items", value.alts[JSON]), rows, scope)
        found.append(Rows(picked, opened(each)))
    return found


def _spread(array: Sql, rows: Rows, scope: Scope) -> tuple[Picked, Sql]:
    spread = "each"
    columns: dict[str, Sql] = {spread: neutral("each", array)}
    picked = Picked(rows.relation, scope.query.names.next(), rows.tests, rows.order, spread=spread, columns=columns)
    return picked, exp.column(spread, picked.alias, quoted=True)
