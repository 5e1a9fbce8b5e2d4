"""Window functions, which compute a value of each row from the rows around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from lochan.pools.kinds import ERROR, FLOAT, INT, NULL, SIMPLE
from lochan.query.compile.comparison import order_keys
from lochan.query.compile.sql import Sql, is_constant
from lochan.query.compile.value import Value
from lochan.query.dialects.neutral import AGGREGATES as NEUTRAL
from lochan.query.dialects.neutral import Neutral
from lochan.query.sql.expressions import value_of
from lochan.query.sql.scope import Seen, SqlScope

_NUMBERED: dict[type[exp.Expr], str] = {
    exp.RowNumber: INT,
    exp.Rank: INT,
    exp.DenseRank: INT,
    exp.Ntile: INT,
    exp.PercentRank: FLOAT,
    exp.CumeDist: FLOAT,
}
_OF_ROW = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)


def window_value(node: exp.Window, scope: SqlScope) -> Value:
    if not scope.windows:
        raise scope.refused(node, "a window function cannot be used here", "put conditions on them into QUALIFY")
    if node.args.get("alias") is not None or node.args.get("first") is not None:
        raise scope.refused(node, "a window must be written out after OVER")
    scope.seen.windows += 1
    inner = replace(scope, windows=False)
    over = _window_of(node, inner)
    function = node.this
    if isinstance(function, exp.IgnoreNulls | exp.RespectNulls) and isinstance(function.this, _OF_ROW):
        raise scope.refused(node, "IGNORE NULLS is not supported")
    if type(function) in _NUMBERED:
        return Value({_NUMBERED[type(function)]: over(_count_function(function, scope))})
    if isinstance(function, _OF_ROW):
        return _of_row(function, over, inner)
    return _aggregate(function, over, inner)


def order_of(order: exp.Order | None, value: Callable[[exp.Ordered], Value]) -> list[exp.Ordered]:
    keys: list[exp.Ordered] = []
    for each in order.expressions if order is not None else []:
        found = value(each)
        found = replace(found, alts={kind: found.alts[kind] for kind in found.alts if kind != ERROR})
        if all(is_constant(sql) for sql in found.alts.values()):
            continue  # a constant orders nothing, and engines refuse it
        keys += order_keys(
            found, descending=bool(each.args.get("desc")), nulls_first=bool(each.args.get("nulls_first"))
        )
    return keys


def _window_of(node: exp.Window, scope: SqlScope) -> Callable[[Sql], exp.Window]:
    partition = [sql for each in node.args.get("partition_by") or [] for sql in _plain(each, scope)]
    keys = order_of(node.args.get("order"), lambda each: value_of(each.this, scope))
    spec = _spec(node.args.get("spec"), scope)

    def over(function: Sql) -> exp.Window:
        return exp.Window(
            this=function.copy(),
            partition_by=[each.copy() for each in partition],
            order=exp.Order(expressions=[each.copy() for each in keys]) if keys else None,
            spec=spec.copy() if spec is not None else None,
            over="OVER",
        )

    return over


def _plain(node: exp.Expr, scope: SqlScope) -> list[Sql]:
    value = value_of(node, scope)
    if not set(value.alts) <= {*SIMPLE, ERROR}:
        raise scope.refused(node, "PARTITION BY cannot use arrays and records")
    return list(value.alts.values())


def _spec(spec: exp.WindowSpec | None, scope: SqlScope) -> exp.WindowSpec | None:
    if spec is None:
        return None
    for key in ("start", "end"):
        end = spec.args.get(key)
        if isinstance(end, exp.Expr) and not (isinstance(end, exp.Literal) and end.is_int):
            raise scope.refused(end, "the ends of a window's frame must be whole numbers")
        if isinstance(end, exp.Expr) and not spec.args.get(f"{key}_side"):
            raise scope.refused(end, "the end of a frame must be a number of rows PRECEDING or FOLLOWING")
    if spec.args.get("exclude") is not None or str(spec.args.get("kind")).upper() not in ("ROWS", "RANGE"):
        raise scope.refused(spec, "a window's frame must be ROWS or RANGE, without EXCLUDE")
    return spec


def _count_function(function: exp.Expr, scope: SqlScope) -> exp.Expr:
    if not isinstance(function, exp.Ntile):
        return type(function)()
    if not isinstance(function.this, exp.Literal) or not function.this.is_int:
        raise scope.refused(function, "NTILE takes a whole number")
    return exp.Ntile(this=function.this.copy())


def _of_row(function: exp.Expr, over: Callable[[Sql], exp.Window], scope: SqlScope) -> Value:
    """Compiles LAG and similar functions. At most one kind is set in the row that the value comes from, so each kind
    can be computed separately."""
    if function.args.get("default") is not None:
        raise scope.refused(function, "a default is not supported", "use COALESCE around it")
    offset = function.args.get("offset")
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.is_int):
        raise scope.refused(function, "an offset must be a whole number")
    value = value_of(function.this, replace(scope, aggregates=scope.aggregates))
    if "object" in value.alts:
        raise scope.refused(function, "records cannot be taken from other rows", "take their fields")
    extra = {"offset": offset.copy()} if offset is not None else {}
    alts: dict[str, Sql] = {kind: over(type(function)(this=sql.copy(), **extra)) for kind, sql in value.alts.items()}
    return Value(alts, NULL, value.element)


def _aggregate(function: exp.Expr, over: Callable[[Sql], exp.Window], scope: SqlScope) -> Value:
    """Applies the window to every aggregate in the value. The arguments may be aggregates of the group."""
    value = value_of(
        function, replace(scope, aggregates=True, seen=Seen(), of_group=scope.seen if scope.aggregates else None)
    )
    if not any(is_aggregate(each) for sql in value.alts.values() for each in sql.walk()):
        raise scope.refused(function, "this is not a window function")

    def change(node: Sql) -> Sql:
        return over(node) if is_aggregate(node) else node

    return replace(value, alts={kind: sql.copy().transform(change) for kind, sql in value.alts.items()})


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter):
        return is_aggregate(node.this)
    return isinstance(node, exp.AggFunc) or (isinstance(node, Neutral) and node.this in NEUTRAL)
