"""Aggregates of SQL, computed by those of the pipe language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from lochan.pools.kinds import BOOL, NULL, SIMPLE, STRING
from lochan.query import ast
from lochan.query.compile.aggregates import aggregate
from lochan.query.compile.calls import Aggregated
from lochan.query.compile.logic import all_of, is_set
from lochan.query.compile.scope import Scope as PipeScope
from lochan.query.compile.sql import Sql
from lochan.query.compile.value import Value, fixed_object, has_value, literal
from lochan.query.dialects.neutral import neutral
from lochan.query.functions import AGGREGATES as SIGNATURES
from lochan.query.sql.expressions import test_of, value_of
from lochan.query.sql.scope import SqlScope

_TEST = "test"  # the name of the condition of a FILTER among the values


@dataclass(frozen=True)
class WindowOver:
    """The rows over which an aggregate is computed."""

    node: exp.Expr
    scope: SqlScope  # the scope of its arguments
    test: Sql | None = None
    distinct: bool = False

    def value(self, node: exp.Expr) -> Value:
        return value_of(node, self.scope)

    def filtered(self, function: Sql, *tests: Sql) -> Sql:
        test = all_of([*([self.test] if self.test is not None else []), *tests])
        return function if test == exp.true() else exp.Filter(this=function, expression=exp.Where(this=test))


def aggregate_call(node: exp.Expr, scope: SqlScope) -> Value:
    if not scope.aggregates:
        raise scope.refused(node, "an aggregate cannot be used here", "put conditions on aggregates into HAVING")
    scope.seen.aggregates += 1
    inner = replace(scope, aggregates=scope.of_group is not None, windows=False, of_group=None)
    inner = replace(inner, seen=scope.of_group) if scope.of_group is not None else inner
    test: Sql | None = None
    call = node
    if isinstance(call, exp.Filter):
        test = test_of(call.expression.this, inner)
        call = call.this
    call = call.this if isinstance(call, exp.IgnoreNulls) else call
    if isinstance(call, exp.WithinGroup):
        return _within_group(call, WindowOver(call, inner, test))
    over = WindowOver(call, inner, test, isinstance(call.this, exp.Distinct))
    handler = AGGREGATES.get(type(call), ("", None))[1]
    if handler is None:
        raise scope.refused(node, f"`{call.key}` is not a supported aggregate")
    value = _check_overflow(handler(call, over))
    used = {each.table for sql in value.alts.values() for each in sql.find_all(exp.Column)}
    if used & _outer_aliases(scope) and not used & _aliases(scope):
        raise scope.refused(node, "this aggregate uses only columns of the outer query")
    return value


def _aliases(scope: SqlScope) -> set[str]:
    return {table.alias for table in scope.tables}


def _outer_aliases(scope: SqlScope) -> set[str]:
    """Returns the aliases of the outer queries; inner ones do not matter."""
    return set() if scope.outer is None else _aliases(scope.outer) | _outer_aliases(scope.outer)


def in_pipe(name: str, values: list[Value], over: WindowOver) -> Value:
    if not SIGNATURES[name].least <= len(values):
        raise over.scope.refused(over.node, "this aggregate needs an argument")
    span = over.scope.text.span(over.node)
    arguments_by_name = {str(at): value for at, value in enumerate(values)}
    where = None
    if over.test is not None:
        arguments_by_name[_TEST] = Value({BOOL: over.test}, NULL)
        where = ast.Name(_TEST, span=span)
    arguments = tuple(ast.Name(str(at), span=span) for at in range(len(values)))
    call = ast.Call(name, arguments, where, over.distinct, span=span)
    return aggregate(
        Aggregated(call, PipeScope(over.scope.query, fixed_object(arguments_by_name)), None, grouped=False)
    )


def _check_overflow(value: Value) -> Value:
    """Keeps the error of a sum of more than 64 bits, so that it is noticed."""
    return replace(value, alts={kind: sql for kind, sql in value.alts.items() if kind != NULL}, nothing=NULL)


def _plain(name: str) -> Callable[[exp.Expr, WindowOver], Value]:
    def handler(call: exp.Expr, over: WindowOver) -> Value:
        argument = call.this
        if isinstance(argument, exp.Distinct):
            if len(argument.expressions) != 1:
                raise over.scope.refused(call, "DISTINCT takes one value here")
            argument = argument.expressions[0]
        values = [] if argument is None or isinstance(argument, exp.Star) else [over.value(argument)]
        return in_pipe(name, values, over)

    return handler


def _count_if(call: exp.Expr, over: WindowOver) -> Value:
    test = all_of([*([over.test] if over.test is not None else []), test_of(call.this, over.scope)])
    return in_pipe("count", [], replace(over, test=test))


def _quantile(call: exp.Expr, over: WindowOver) -> Value:
    return in_pipe("quantile", [over.value(call.this), over.value(call.expression)], over)


def _median(call: exp.Expr, over: WindowOver) -> Value:
    return in_pipe("quantile", [over.value(call.this), literal("float", 0.5)], over)


def _within_group(call: exp.WithinGroup, over: WindowOver) -> Value:
    if not isinstance(call.this, exp.PercentileCont):
        raise over.scope.refused(call, "WITHIN GROUP is supported with PERCENTILE_CONT only")
    (key,) = call.expression.expressions
    if key.args.get("desc"):
        raise over.scope.refused(call, "PERCENTILE_CONT is supported in ascending order only")
    return _check_overflow(in_pipe("quantile", [over.value(key.this), over.value(call.this.this)], over))


def _collect(call: exp.Expr, over: WindowOver) -> Value:
    value, made = _list(call.this, call, over)
    return Value({"array": made}, NULL, next(iter(value.alts)))


def _join_texts(call: exp.Expr, over: WindowOver) -> Value:
    separator = call.args.get("separator")
    between = over.value(separator).constant if separator is not None else ","
    value, made = _list(call.this, call, over)
    if set(value.alts) != {STRING} or not isinstance(between, str):
        raise over.scope.refused(call, "STRING_AGG takes strings and a constant separator")
    return Value({STRING: neutral("list_join", made, options=(between,))}, NULL)


def _list(argument: exp.Expr, call: exp.Expr, over: WindowOver) -> tuple[Value, Sql]:
    """Collects values in the given order, or else in the order of the values themselves, so that every engine returns
    the same list."""
    ordered = argument if isinstance(argument, exp.Order) else None
    of = argument.this if ordered is not None else argument
    if of is None:
        raise over.scope.refused(call, "a list needs a value")
    value = over.value(of.expressions[0] if isinstance(of, exp.Distinct) else of)
    if len(value.alts) != 1 or not set(value.alts) <= set(SIMPLE) or over.distinct or isinstance(of, exp.Distinct):
        raise over.scope.refused(call, "a list takes values of one kind, without DISTINCT")
    sql = next(iter(value.alts.values()))
    place = sql
    if ordered is not None:
        keys = [over.value(each.this) for each in ordered.expressions]
        if len(keys) != 1 or len(keys[0].alts) != 1 or ordered.expressions[0].args.get("desc"):
            raise over.scope.refused(call, "a list must be ordered by one value of one kind, ascending")
        place = next(iter(keys[0].alts.values()))
    return value, neutral("collected", over.filtered(neutral("collect", sql, place), is_set(sql)))


def _at_end(name: str) -> Callable[[exp.Expr, WindowOver], Value]:
    """Compiles ARG_MAX(value, by) and similar functions."""

    def handler(call: exp.Expr, over: WindowOver) -> Value:
        value, by = over.value(call.this), over.value(call.expression)
        if len(by.alts) != 1 or not set(value.alts) <= set(SIMPLE):
            raise over.scope.refused(
                call, "the value must be a scalar, and the value that orders it must have one kind"
            )
        place = next(iter(by.alts.values()))
        tests = [is_set(place), has_value(value)]
        return Value({kind: over.filtered(neutral(name, sql, place), *tests) for kind, sql in value.alts.items()}, NULL)

    return handler


Handler = Callable[[exp.Expr, WindowOver], Value]
AGGREGATES: dict[type[exp.Expr], tuple[str, Handler]] = {
    exp.Count: ("count", _plain("count")),
    exp.CountIf: ("count_if", _count_if),
    exp.Sum: ("sum", _plain("sum")),
    exp.Avg: ("avg", _plain("avg")),
    exp.Min: ("min", _plain("min")),
    exp.Max: ("max", _plain("max")),
    exp.AnyValue: ("any_value", _plain("any")),
    exp.IgnoreNulls: ("any_value", _plain("any")),
    exp.Stddev: ("stddev", _plain("stddev")),
    exp.StddevSamp: ("stddev_samp", _plain("stddev")),
    exp.LogicalAnd: ("bool_and", _plain("and")),
    exp.LogicalOr: ("bool_or", _plain("or")),
    exp.ApproxDistinct: ("approx_count_distinct", _plain("dcount")),
    exp.Median: ("median", _median),
    exp.PercentileCont: ("quantile_cont", _quantile),
    exp.ArrayAgg: ("array_agg", _collect),
    exp.GroupConcat: ("string_agg", _join_texts),
    exp.ArgMax: ("arg_max", _at_end("last_by")),
    exp.ArgMin: ("arg_min", _at_end("first_by")),
}
