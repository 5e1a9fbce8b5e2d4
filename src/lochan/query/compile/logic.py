"""Tests and choices in SQL: comparisons, `and`, `or`, `not`, NULL, and CASE. Parts whose result is known beforehand are
left out."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from lochan.pools.kinds import NULL
from lochan.query.compile.sql import FALSE, TRUE, Sql, null_of, op, tight

COMPARISONS: dict[str, type[exp.Binary]] = {
    "==": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # with the sides exchanged
_TOTAL = (exp.Is, exp.Boolean)  # tests that are never NULL


def eq(left: Sql, right: Sql) -> Sql:
    return op(exp.EQ, left, right)


def is_null(value: Sql) -> Sql:
    if _is_literal(value):
        return FALSE
    return exp.Is(this=tight(value), expression=exp.Null())


def is_set(value: Sql) -> Sql:
    return negate(is_null(value))


def negate(value: Sql) -> Sql:
    if isinstance(value, exp.Boolean):
        return exp.false() if value.this else exp.true()
    return exp.Not(this=tight(value))


def all_of(tests: Iterable[Sql]) -> Sql:
    return _join(exp.And, [test for test in tests if test != TRUE], TRUE)


def any_of(tests: Iterable[Sql]) -> Sql:
    return _join(exp.Or, [test for test in tests if test != FALSE], FALSE)


def surely(test: Sql) -> Sql:
    """Returns the same test, but false where it would be NULL."""
    return test if isinstance(test, exp.Boolean) else coalesce(test, FALSE)


def coalesce(*values: Sql) -> Sql:
    """Returns a COALESCE. Nested ones are flattened, which means the same and is less deep."""
    flat: list[Sql] = []
    for each in values:
        flat += [each.this, *each.expressions] if isinstance(each, exp.Coalesce) else [each]
    if len(flat) == 1:
        return flat[0]
    return exp.Coalesce(this=flat[0].copy(), expressions=[each.copy() for each in flat[1:]])


def case(*arms: tuple[Sql, Sql], other: Sql | None = None) -> Sql:
    """Returns `CASE WHEN test THEN value … ELSE other END`. Arms that never hold are left out."""
    kept = [(test, value) for test, value in arms if test != FALSE]
    if kept and kept[0][0] == TRUE:
        return kept[0][1]
    if not kept:
        return other if other is not None else exp.Null()
    ifs = [exp.If(this=test.copy(), true=value.copy()) for test, value in kept]
    return exp.Case(ifs=ifs, default=None if other is None else other.copy())


def flag(test: Sql) -> Sql:
    """Returns TRUE or NULL, as the columns of the kinds null and object have."""
    if test == FALSE:
        return null_of(NULL)
    return test if test == TRUE else case((test, TRUE))


def flag_test(value: Sql) -> Sql:
    """Tests whether a flag is set: by the test that it was made of, if that is never NULL."""
    if isinstance(value, exp.Case) and len(value.args["ifs"]) == 1 and value.args.get("default") is None:
        arm = value.args["ifs"][0]
        if arm.args["true"] == TRUE and all(isinstance(each, _TOTAL) for each in _operands(arm.this)):
            test: Sql = arm.this
            return test
    return is_set(value)


def _operands(test: Sql) -> list[Sql]:
    """Returns the tests that `and`, `or` and `not` join."""
    found, left = [], [test]
    while left:
        each = left.pop()
        if isinstance(each, exp.And | exp.Or):
            left += [each.this, each.expression]
        elif isinstance(each, exp.Not | exp.Paren):
            left.append(each.this)
        else:
            found.append(each)
    return found


def _is_literal(value: Sql) -> bool:
    """Returns whether the value is a constant of the query, which is never NULL."""
    if isinstance(value, exp.Cast | exp.Neg | exp.Paren):
        value = value.this
    return isinstance(value, exp.Literal | exp.Boolean)


def _join(node: type[exp.Connector], parts: list[Sql], nothing: Sql) -> Sql:
    """Joins the parts in a balanced tree, so that a thousand parts are ten levels. Parts that are joined themselves are
    taken apart first."""
    parts = list(dict.fromkeys(each for part in parts for each in _take_apart(node, part)))
    return _balance(node, parts, nothing)


def _take_apart(node: type[exp.Connector], part: Sql) -> list[Sql]:
    found: list[Sql] = []
    left = [part]
    while left:
        each = left.pop()
        inner = each.this if isinstance(each, exp.Paren) else each
        if isinstance(inner, node):
            left += [inner.expression, inner.this]
        else:
            found.append(each)
    return found


def _balance(node: type[exp.Connector], parts: list[Sql], nothing: Sql) -> Sql:
    if any(part == negate(nothing) for part in parts):
        return negate(nothing)
    if not parts:
        return nothing.copy()
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return op(node, _balance(node, parts[:middle], nothing), _balance(node, parts[middle:], nothing))
