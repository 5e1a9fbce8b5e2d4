"""yield and over: operators that make other rows. All rows made of one row come before those of the next.

yield a, b      a row for each number in [0, 1]; it is a where the number is 0, b where it is 1
over a, b       a row for each element of one list: the elements of a, then those of b. Where these are of several
                types, or a may be no array, an element is a struct with the number of its value:
                {at: 0, e0: an element of a} {at: 1, e1: one of b} {at: 2: a itself, which is no array}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from lochan.pools.kinds import ARRAY, JSON, STRING
from lochan.pools.shape import Type
from lochan.query import ast
from lochan.query.compile.bindings import seal_again
from lochan.query.compile.constructors import choose_arm
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import array_items, is_array_text, json_by_kind, typed_value
from lochan.query.compile.logic import case, eq, negate
from lochan.query.compile.relations import Picked, Rows
from lochan.query.compile.scope import Scope
from lochan.query.compile.sql import FALSE, TRUE, Sql, element_type, null_of, number, sql_type
from lochan.query.compile.value import MISSING, Value, map_expressions, present, with_null
from lochan.query.dialects.neutral import neutral


def yield_rows(values: Sequence[ast.Expr], rows: Rows, scope: Scope) -> Rows:
    """Returns the values as rows. A missing value makes no row."""
    if len(values) == 1:
        return _drop_missing(replace(rows, this=value_of(values[0], scope), key=None))
    rows, scope = _in_order(rows, scope)
    picked, each = _spread(neutral("list_of", *map(number, range(len(values)))), rows, scope)
    arms = [(eq(each, number(at)), _through(picked, value_of(e, scope))) for at, e in enumerate(values)]
    return _drop_missing(Rows(picked, choose_arm(arms)))


def unnest_rows(values: Sequence[ast.Expr], rows: Rows, scope: Scope) -> Rows:
    """Returns one row for each element. A value that is not an array is one row itself, and a missing value makes
    none."""
    rows, scope = _in_order(rows, scope)
    arms = [arm for each in values for arm in _arms(value_of(each, scope))]
    if not arms:
        return replace(rows, this=Value({}, MISSING)).where(FALSE)
    if len(arms) == 1 and arms[0].array is not None:
        picked, each = _spread(arms[0].array, rows, scope)
        return Rows(picked, arms[0].element_of(each))
    if len(arms) == 1:
        return _drop_missing(replace(rows, this=arms[0].itself, key=None))
    return _yield_several(arms, rows, scope)


@dataclass(frozen=True)
class _Arm:
    """Either an array, typed or of JSON texts, or a value that is not an array."""

    itself: Value
    array: Sql | None = None
    of: Type | None = None  # the type of elements of a typed array; None for texts

    def element_of(self, each: Sql) -> Value:
        return json_by_kind(each) if self.of is None else typed_value(each, self.of)

    def null(self) -> Sql:
        """Returns a null of the element type."""
        return null_of(STRING) if self.of is None else exp.Cast(this=exp.Null(), to=element_type(self.of))


def _arms(value: Value) -> list[_Arm]:
    found = []
    if ARRAY in value.alts and value.element is not None:
        array = exp.Cast(this=value.alts[ARRAY].copy(), to=sql_type(ARRAY, value.element))
        found.append(_Arm(value, array, value.element))
    if JSON in value.alts:
        found.append(_Arm(value, array_items(value.alts[JSON])))
    itself = _no_array(value)
    return [*found, _Arm(itself)] if itself.alts else found


def _no_array(value: Value) -> Value:
    """Returns the value where it is not an array; it is missing where it is one."""
    alts = {kind: sql for kind, sql in with_null(value).alts.items() if kind != ARRAY}
    if JSON in alts:
        alts[JSON] = case((negate(is_array_text(alts[JSON])), alts[JSON]))
    whole = alts.keys() == value.alts.keys() and JSON not in alts
    return value if whole else replace(value, alts=alts, nothing=MISSING, constant=None, text=None, there=None)


def _yield_several(arms: Sequence[_Arm], rows: Rows, scope: Scope) -> Rows:
    nulls = [arm.null() for arm in arms if arm.array is not None]
    lists: list[Sql] = []
    places: list[int] = []
    for at, arm in enumerate(arms):
        if arm.array is not None:
            lists.append(neutral("tagged", arm.array, *nulls, options=(at, len(places))))
            places.append(at)
        else:
            lists.append(neutral("tagged_one", present(arm.itself), *nulls, options=(at,)))
    picked, each = _spread(neutral("joined_lists", *lists), rows, scope)
    of = neutral("struct_get", each, options=("at",))
    found = []
    for at, arm in enumerate(arms):
        if arm.array is not None:
            inner = arm.element_of(neutral("struct_get", each, options=(f"e{places.index(at)}",)))
        else:
            inner = _through(picked, arm.itself)
        found.append((eq(of, number(at)), inner))
    return Rows(picked, choose_arm(found))


def _in_order(rows: Rows, scope: Scope) -> tuple[Rows, Scope]:
    """Applies a waiting order first: sorting afterwards would mix the rows that one row becomes."""
    if not rows.order:
        return rows, scope
    rows, scope = seal_again(rows, scope)
    return replace(rows, order=()), scope


def _spread(array: Sql, rows: Rows, scope: Scope) -> tuple[Picked, Sql]:
    spread = "each"
    columns: dict[str, Sql] = {spread: neutral("each", array)}
    picked = Picked(rows.relation, scope.query.names.next(), rows.tests, spread=spread, columns=columns)
    return picked, exp.column(spread, picked.alias, quoted=True)


def _through(picked: Picked, value: Value) -> Value:
    return map_expressions(value, lambda sql, kind: picked.column(sql))


def _drop_missing(rows: Rows) -> Rows:
    test = present(rows.this)
    return rows if test == TRUE else rows.where(test)
