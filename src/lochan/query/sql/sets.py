"""UNION, INTERSECT, EXCEPT: columns by their place, each with the kinds that it has on either side.

Beside a time stands how it was written, where microseconds do not say it all; where rows are told apart, only what more
there is to say.
"""

from __future__ import annotations

from sqlglot import exp

from lochan.pools.shape import DECIMAL, NULL, STRING, TIME
from lochan.query.compile.moments import exact_text
from lochan.query.compile.numbers import normalized
from lochan.query.compile.relations import total_order
from lochan.query.compile.sql import Sql, sql_type
from lochan.query.compile.value import SIMPLE, Value
from lochan.query.sql.scope import Made, SqlScope
from lochan.query.sql.selects import limit
from lochan.query.sql.windows import order_of

_KINDS = (exp.Union, exp.Intersect, exp.Except)
_ORIGINAL = "original"  # in a layout, behind the kinds


def combined(node: exp.SetOperation, left: Made, right: Made, scope: SqlScope) -> Made:
    if type(node) not in _KINDS or node.args.get("by_name"):
        raise scope.refused(node, "this way to put queries together is not known", "UNION, INTERSECT, EXCEPT")
    if len(left.columns) != len(right.columns):
        counts = f"{len(left.columns)} columns, the other {len(right.columns)}"
        raise scope.refused(node.expression, f"one side has {counts}")
    layout = [_layout(node, one, other, scope) for one, other in zip(left.columns, right.columns, strict=True)]
    distinct = node.args.get("distinct")
    sides = [_side(made, layout, scope, by_value=distinct is not False) for made in (left, right)]
    query: exp.Query = type(node)(this=sides[0], expression=sides[1], distinct=distinct)
    columns: list[tuple[str, Value]] = []
    at = 0
    for (name, _), kinds in zip(left.columns, layout, strict=True):
        alts: dict[str, Sql] = {kind: exp.column(f"c{at + number}", quoted=True) for number, kind in enumerate(kinds)}
        original = alts.pop(_ORIGINAL, None)
        columns.append((name, Value(alts, NULL, format=None, original=original)))
        at += len(kinds)
    return _ordered(node, query, columns, scope)


def _layout(node: exp.Expr, left: tuple[str, Value], right: tuple[str, Value], scope: SqlScope) -> list[str]:
    kinds = [*left[1].alts, *(kind for kind in right[1].alts if kind not in left[1].alts)]
    if not set(kinds) <= {*SIMPLE, "json", "error"}:
        raise scope.refused(node, f"column `{left[0]}` is a record or an array, which cannot be put together")
    return kinds if left[1].original is None and right[1].original is None else [*kinds, _ORIGINAL]


def _side(made: Made, layout: list[list[str]], scope: SqlScope, *, by_value: bool) -> exp.Select:
    alias = scope.query.names.next()
    shown: list[exp.Expr] = []
    for (_, value), kinds in zip(made.columns, layout, strict=True):
        here = _of(value, alias)
        for kind in kinds:
            there = here.original if kind == _ORIGINAL else here.alts.get(kind)
            if by_value and there is not None:
                there = (
                    exact_text(here) if kind == _ORIGINAL else normalized(here).alts[kind] if kind == DECIMAL else there
                )
            type = STRING if kind == _ORIGINAL else kind
            typed = exp.Cast(this=exp.Null() if there is None else there, to=sql_type(type))
            shown.append(typed.as_(f"c{len(shown)}", quoted=True))
    shown = shown or [exp.Literal.number(1).as_("_", quoted=True)]
    return exp.select(*shown, copy=False).from_(made.query.subquery(alias, copy=False), copy=False)


def _of(value: Value, alias: str) -> Value:
    """The same columns, of what has this alias now."""
    alts: dict[str, Sql] = {kind: exp.column(sql.name, alias, quoted=True) for kind, sql in value.alts.items()}
    original = None if value.original is None else exp.column(value.original.name, alias, quoted=True)
    return Value(alts, original=original if TIME in alts else None)


def _ordered(node: exp.SetOperation, query: exp.Query, columns: list[tuple[str, Value]], scope: SqlScope) -> Made:
    """ORDER BY knows the result's columns only: by name or by number."""
    order = node.args.get("order")
    if order is None and node.args.get("limit") is None and node.args.get("offset") is None:
        return Made(query, tuple(columns))
    alias = scope.query.names.next()
    names = [each.name for _, value in columns for each in (*value.alts.values(), value.original) if each is not None]
    outer = exp.select(*(exp.column(name, alias, quoted=True).as_(name, quoted=True) for name in names or ["_"]))
    outer = outer.from_(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))))
    by_name = dict(columns)

    def key(each: exp.Ordered) -> Value:
        this = each.this
        if isinstance(this, exp.Literal) and this.is_int and 1 <= int(this.this) <= len(columns):
            return columns[int(this.this) - 1][1]
        if isinstance(this, exp.Column) and not this.table and this.name in by_name:
            return by_name[this.name]
        raise scope.refused(this, "rows of several queries are ordered by a column of the result")

    keys = order_of(order, key)
    if keys:
        shown = {each.alias: each.this for each in outer.expressions}
        outer.set("order", exp.Order(expressions=list(total_order(keys, shown))))
    limit(outer, node, scope)
    return Made(outer, tuple(columns))
