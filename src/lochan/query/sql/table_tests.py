"""The tests of a WHERE on the rows of one table, by which objects can be pruned before they are opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

from lochan.pools import times
from lochan.pools.json_row import exact_number
from lochan.query import ast
from lochan.query.compile.sql import INT_MAX
from lochan.query.syntax.expressions import join_balanced

UNITS = {"WEEK": 604_800_000_000, "DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}
UNITS |= {"SECOND": 1_000_000, "MILLISECOND": 1_000, "MICROSECOND": 1}
_NULL = ast.Literal("null", None)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_CASTS = {"int64": exp.DataType.INTEGER_TYPES, "float64": exp.DataType.REAL_TYPES, "string": exp.DataType.TEXT_TYPES}
_COMPARED = {exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def time_of(text: str) -> int | None:
    """Returns the microseconds since 1970 of a text that denotes a time as in SQL, or None."""
    try:
        return times.parse(text.strip())
    except ValueError:
        return None


def own_tests(select: exp.Select, table: str) -> Iterator[ast.Expr]:
    """Yields the tests in WHERE that are about this table alone, if no join can add rows that need not pass them."""
    where = select.args.get("where")
    if where is None or not only_joins_rows(select):
        return
    parts = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    for part in parts:
        test = _test(part, table, qualifier(select, table))
        if test is not None:
            yield test


def only_joins_rows(select: exp.Select) -> bool:
    """Returns whether each input row is made of one row of every table. An outer join adds other rows, and an ANTI join
    has more rows if a table has fewer."""
    joins = select.args.get("joins") or []
    return not any(join.side or join.kind in ("ANTI", "SEMI") for join in joins)


def qualifier(select: exp.Select, table: str) -> str | None:
    """Returns the qualifier that a column of this table must have, or None if a bare name is enough."""
    return None if not select.args.get("joins") and _is_table(select) else table


def _is_table(select: exp.Select) -> bool:
    """Returns False for a subquery within an expression: there a bare name may belong to the query around it."""
    around = select.parent
    while isinstance(around, exp.Subquery | exp.SetOperation):
        around = around.parent
    return around is None or isinstance(around, exp.CTE | exp.From | exp.Join)


def chooses_none(select: exp.Select) -> bool:
    """Returns whether it has a row for each row of its only table, except for its LIMIT: any so many rows are right."""
    choosing = ("joins", "where", "group", "distinct", "order", "offset", "having", "qualify")
    return not any(select.args.get(key) for key in choosing) and is_row_by_row(select)


def is_row_by_row(select: exp.Select) -> bool:
    """Returns whether none of its columns depends on several rows."""
    several = (exp.AggFunc, exp.IgnoreNulls, exp.Window, exp.Query, exp.Anonymous)
    return not any(True for item in select.expressions for _ in item.find_all(*several))


def _test(node: exp.Expr, alias: str, whose: str | None, *, exact: bool = False) -> ast.Expr | None:
    """Returns the test in the pipe language, or None if it is not about single fields. Unless `exact`, it may be true
    for more rows."""
    match node:
        case exp.Paren():
            return _test(node.this, alias, whose, exact=exact)
        case exp.And() | exp.Or():
            op = "and" if isinstance(node, exp.And) else "or"
            tests = [_test(each, alias, whose, exact=exact) for each in node.flatten()]
            usable = [each for each in tests if each is not None]
            some = op == "and" and not exact
            return join_balanced(op, usable) if usable and (some or len(usable) == len(tests)) else None
        case exp.Not():
            return _negate(_test(node.this, alias, whose, exact=True))
        case exp.Between():
            return _between(node, alias, whose)
        case exp.In():
            return _in(node, alias, whose)
        case exp.Is():
            return _is(node, alias, whose)
        case exp.Like():
            return _like(node, alias, whose)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _comparison(node, alias, whose)
        case exp.Column():
            return field_of(node, alias, whose)
    return None


def _negate(test: ast.Expr | None) -> ast.Expr | None:
    return None if test is None else ast.Unary("not", test)


def _is(node: exp.Is, alias: str, whose: str | None) -> ast.Expr | None:
    of = field_of(node.this, alias, whose)
    if of is None:
        return None
    match node.expression:
        case exp.Null():
            return ast.Binary("or", ast.Binary("==", of, _NULL), ast.Call("missing", (of,)))
        case exp.Boolean():
            return ast.Binary("==", of, ast.Literal("bool", bool(node.expression.this)))
    return None


def _like(node: exp.Like, alias: str, whose: str | None) -> ast.Expr | None:
    of, pattern = field_of(node.this, alias, whose), node.expression
    if of is None or not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return None
    like = ast.Binary("like", of, ast.Literal("string", pattern.this))
    return _negate(like) if node.args.get("negate") else like


def _comparison(node: exp.Binary, alias: str, whose: str | None) -> ast.Expr | None:
    op = _COMPARED[type(node)]
    left, right = field_of(node.left, alias, whose), _constants(node.right)
    if left is None:
        left, right = field_of(node.right, alias, whose), _constants(node.left)
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    if left is None or not right:
        return None
    return join_balanced("and" if op == "!=" else "or", [ast.Binary(op, left, each) for each in right])


def _between(node: exp.Between, alias: str, whose: str | None) -> ast.Expr | None:
    of, low, high = field_of(node.this, alias, whose), _constants(node.args["low"]), _constants(node.args["high"])
    if of is None or not low or not high:
        return None
    ends = ((">=", low), ("<=", high))
    over, under = (join_balanced("or", [ast.Binary(op, of, each) for each in values]) for op, values in ends)
    return ast.Binary("and", over, under)


def _in(node: exp.In, alias: str, whose: str | None) -> ast.Expr | None:
    of = field_of(node.this, alias, whose)
    items = [_constants(each) for each in node.expressions]
    if of is None or not items or not all(items):
        return None
    return ast.Binary("in", of, ast.ListOf(tuple(value for each in items for value in each)))


def field_of(node: exp.Expr, alias: str, whose: str | None) -> ast.Expr | None:
    """Returns the column as a field of this table's rows. In a join it must be qualified."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    parts = [each.name for each in node.parts]
    if len(parts) > 1 and parts[0] == alias:
        parts = parts[1:]
    elif whose is not None:
        return None
    found: ast.Expr = ast.Name(parts[0])
    for name in parts[1:]:
        found = ast.Dot(found, name)
    return found


def _constants(node: exp.Expr) -> list[ast.Expr]:
    """Returns the values that a constant may be compared as: a text that denotes a time may be meant as one."""
    match node:
        case exp.Paren():
            return _constants(node.this)
        case exp.Literal(is_string=True):
            return [ast.Literal("string", node.this), *_times(node.this)]
        case exp.Literal():
            return _number(node.this)
        case exp.Boolean():
            return [ast.Literal("bool", bool(node.this))]
        case exp.Neg():
            return [ast.Unary("-", each) for each in _constants(node.this)]
        case exp.Add() | exp.Sub() | exp.Mul():
            op = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}[type(node)]
            sides = _constants(node.left), _constants(node.right)
            return [ast.Binary(op, *sides[0], *sides[1])] if [len(each) for each in sides] == [1, 1] else []
        case exp.Interval():
            return _interval(node)
        case exp.CurrentTimestamp():
            return [ast.Call("now", ())]
        case exp.Anonymous() if node.name.lower() == "now" and not node.expressions:
            return [ast.Call("now", ())]
        case exp.Cast() | exp.TryCast():
            return _cast(node)
    return []


def _times(text: str) -> list[ast.Expr]:
    micros = time_of(text)
    return [] if micros is None else [ast.Literal("time", micros)]


def _cast(node: exp.Cast) -> list[ast.Expr]:
    to, of = node.to, node.this
    if isinstance(of, exp.Literal) and of.is_string and to.is_type(*exp.DataType.TEMPORAL_TYPES):
        return [] if to.is_type("date", "time", "timetz") and not _DAY.fullmatch(of.this) else _times(of.this)
    name = next((name for name, types in _CASTS.items() if to.is_type(*types)), None)
    inner = _constants(of)[:1]
    return [ast.Call(name, (each,)) for each in inner] if name else []


def _interval(node: exp.Interval) -> list[ast.Expr]:
    unit = node.args["unit"].name.upper() if node.args.get("unit") is not None else ""
    micros = UNITS.get(unit.removesuffix("S"))
    if micros is None or not isinstance(node.this, exp.Literal):
        return []
    try:
        return [ast.Literal("duration", round(float(node.this.this) * micros))]
    except ValueError:
        return []


def _number(text: str) -> list[ast.Expr]:
    """Returns the number exactly: the nearest float is another number, and would prune other objects."""
    try:
        if text.isdecimal():
            whole = int(text)
            return [ast.Literal("int", whole) if whole <= INT_MAX else ast.Literal("decimal", Decimal(whole))]
        value = exact_number(text)
    except (ValueError, ArithmeticError):
        return []
    return [ast.Literal("decimal" if isinstance(value, Decimal) else "float", value)]
