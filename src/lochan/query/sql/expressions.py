"""SQL expressions as values, and as tests with three outcomes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from lochan.pools.json_row import exact_number
from lochan.pools.kinds import BOOL, DECIMAL, DURATION, FLOAT, INT, NULL, SIMPLE, STRING
from lochan.pools.shape import Type
from lochan.query.checkpoint import checkpoint
from lochan.query.compile.arithmetic import arithmetic, negative
from lochan.query.compile.constructors import array_of, common_type
from lochan.query.compile.fields import element
from lochan.query.compile.fields import member as member_of
from lochan.query.compile.logic import all_of, any_of, case, coalesce, negate, surely
from lochan.query.compile.sql import FALSE, INT_MAX, TRUE, Sql, cast, null_of
from lochan.query.compile.value import NUMBERS, Value, fixed_object, has_value, literal
from lochan.query.dialects.neutral import neutral
from lochan.query.sql import comparison
from lochan.query.sql.scope import SqlScope, of_test, plain
from lochan.query.sql.table_tests import UNITS

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%", exp.IntDiv: "/"}
NOTHING = Value({}, NULL)
_DIGITS_MAX = 400  # digits of a number literal


def value_of(node: exp.Expr, scope: SqlScope) -> Value:
    """Returns the value of an expression. Raises QueryError for anything that is not supported."""
    checkpoint()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(node, scope)
    if type(node) in COMPARISONS or isinstance(node, _TESTS):
        return of_test(test_of(node, scope, sure=False))
    if type(node) in ARITHMETIC:
        return _arithmetic(node, scope)
    if isinstance(node, exp.Query | exp.Subquery):
        from lochan.query.sql.subqueries import scalar

        return scalar(node, scope)
    if isinstance(node, exp.Window):
        from lochan.query.sql.windows import window_value

        return window_value(node, scope)
    from lochan.query.sql.calls import call_value

    return call_value(node, scope)


def test_of(node: exp.Expr, scope: SqlScope, *, sure: bool = True) -> Sql:
    """Returns a test that is true where the expression is. With `sure`, false and NULL count alike, so that tests stay
    simple enough to be pushed down; without it, they are kept apart."""
    match node:
        case exp.Paren():
            return test_of(node.this, scope, sure=sure)
        case exp.And():
            return all_of(test_of(each, scope, sure=sure) for each in node.flatten())
        case exp.Or():
            return any_of(test_of(each, scope, sure=sure) for each in node.flatten())
        case exp.Not():
            return negate(test_of(node.this, scope, sure=False))
        case exp.Is():
            return _is(node, scope)
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            same = comparison.same(value_of(node.left, scope), value_of(node.right, scope))
            return same if isinstance(node, exp.NullSafeEQ) else negate(same)
        case exp.Between():
            value = value_of(node.this, scope)
            ends = [(">=", node.args["low"]), ("<=", node.args["high"])]
            return all_of(comparison.compare(op_, value, value_of(end, scope), sure=sure) for op_, end in ends)
        case exp.In():
            return _in(node, scope, sure)
        case exp.Like() | exp.ILike():
            return negate(_like(node, scope)) if node.args.get("negate") else _like(node, scope)
        case exp.Exists():
            from lochan.query.sql.subqueries import exists

            return exists(node, scope)
    if type(node) in COMPARISONS:
        assert isinstance(node, exp.Binary)
        left, right = value_of(node.left, scope), value_of(node.right, scope)
        return comparison.compare(COMPARISONS[type(node)], left, right, sure=sure)
    value = value_of(node, scope)
    if BOOL not in value.alts and value.alts:
        raise scope.refused(node, "this is not a condition", "compare it with something")
    return value.alts.get(BOOL, exp.Cast(this=exp.Null(), to=exp.DataType.build("boolean")))


_TESTS = (exp.And, exp.Or, exp.Not, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In)
_TESTS += (exp.Like, exp.ILike, exp.Exists)  # type: ignore[assignment]


# ── tests ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is(node: exp.Is, scope: SqlScope) -> Sql:
    value = value_of(node.this, scope)
    match node.expression:
        case exp.Null():
            return negate(has_value(value))
        case exp.Boolean():
            test = surely(value.alts.get(BOOL, FALSE))
            return test if node.expression.this else all_of([has_value(value, [BOOL]), negate(test)])
    raise scope.refused(node, "IS takes NULL, TRUE or FALSE")


def _in(node: exp.In, scope: SqlScope, sure: bool) -> Sql:
    if node.args.get("query") is not None:
        from lochan.query.sql.subqueries import among

        return among(node, scope)
    if node.args.get("unnest") is not None or node.args.get("field") is not None:
        raise scope.refused(node, "IN takes a list in parentheses, or a query")
    value = value_of(node.this, scope)
    return comparison.one_of(value, [value_of(each, scope) for each in node.expressions], sure=sure)


def _like(node: exp.Like | exp.ILike, scope: SqlScope) -> Sql:
    pattern = value_of(node.expression, scope).constant
    if not isinstance(pattern, str):
        raise scope.refused(node.expression, "the pattern of LIKE must be a constant text")
    text = value_of(node.this, scope).alts.get(STRING)
    if text is None:
        return FALSE
    if isinstance(node, exp.ILike):
        folded = "".join(each.lower() if each.isascii() else each for each in pattern)
        return neutral("like", neutral("lower", text), options=(folded,))
    return neutral("like", text, options=(pattern,))


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _literal(node: exp.Literal, scope: SqlScope) -> Value:
    if node.is_string:
        return literal(STRING, node.this)
    if node.this.isdecimal():
        if len(node.this) > _DIGITS_MAX:
            raise scope.refused(node, "this number is too large")
        whole = int(node.this)
        return literal(INT, whole) if whole <= INT_MAX else literal(DECIMAL, Decimal(whole))
    try:
        value = exact_number(node.this)
    except (ValueError, ArithmeticError):
        raise scope.refused(node, f"{node.this} is not a number, or is too large") from None
    return literal(DECIMAL if isinstance(value, Decimal) else FLOAT, value)


def _negative(node: exp.Neg, scope: SqlScope) -> Value:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        text = node.this.this
        if text.isdecimal() and int(text) <= INT_MAX + 1:
            return literal(INT, -int(text))
        of = _literal(node.this, scope)
        assert isinstance(of.constant, int | float | Decimal)
        return literal(next(iter(of.alts)), -of.constant)
    return plain(negative(value_of(node.this, scope)))


def _arithmetic(node: exp.Expr, scope: SqlScope) -> Value:
    assert isinstance(node, exp.Binary)
    return plain(arithmetic(ARITHMETIC[type(node)], value_of(node.left, scope), value_of(node.right, scope)))


def _divide(node: exp.Div, scope: SqlScope) -> Value:
    """Divides as both engines do: the result is a float, and NULL where the divisor is 0."""
    return plain(arithmetic("/", _real(value_of(node.left, scope)), _real(value_of(node.right, scope))))


def _real(value: Value) -> Value:
    if INT not in value.alts:
        return value
    reals = [cast(value.alts[INT], FLOAT)] + ([value.alts[FLOAT]] if FLOAT in value.alts else [])
    rest = {kind: sql for kind, sql in value.alts.items() if kind not in NUMBERS}
    return Value({**rest, FLOAT: coalesce(*reals)}, value.nothing)


def _concatenate(node: exp.DPipe, scope: SqlScope) -> Value:
    return plain(arithmetic("+", _text(value_of(node.left, scope)), _text(value_of(node.right, scope))))


def _text(value: Value) -> Value:
    """Converts ints to texts, because `||` accepts them too."""
    if INT not in value.alts:
        return value
    texts = [cast(value.alts[INT], STRING)] + ([value.alts[STRING]] if STRING in value.alts else [])
    rest = {kind: sql for kind, sql in value.alts.items() if kind not in (INT, STRING)}
    return Value({**rest, STRING: coalesce(*texts)}, value.nothing)


def _case(node: exp.Case, scope: SqlScope) -> Value:
    of = node.this
    arms: list[tuple[Sql, Value]] = []
    for each in node.args["ifs"]:
        if of is None:
            test = test_of(each.this, scope)
        else:
            test = comparison.compare("==", value_of(of, scope), value_of(each.this, scope), sure=True)
        arms.append((test, value_of(each.args["true"], scope)))
    default = node.args.get("default")
    return choice(arms, value_of(default, scope) if default is not None else NOTHING, node, scope)


def _if(node: exp.If, scope: SqlScope) -> Value:
    other = node.args.get("false")
    arms = [(test_of(node.this, scope), value_of(node.args["true"], scope))]
    return choice(arms, value_of(other, scope) if other is not None else NOTHING, node, scope)


def choice(arms: list[tuple[Sql, Value]], other: Value, node: exp.Expr, scope: SqlScope) -> Value:
    """Returns the value of the first arm whose test is true."""
    element, arms = common_type([*arms, (TRUE, other)])
    values = [value for _, value in arms]
    if any("object" in value.alts for value in values):
        raise scope.refused(node, "a choice between records is not supported", "choose among their fields")
    kinds = dict.fromkeys(kind for value in values for kind in value.alts)
    alts = {kind: _arm(kind, arms, element) for kind in kinds}
    nothing = "" if all(not value.nothing for value in values) else NULL
    return Value(alts, nothing, element)


def _arm(kind: str, arms: list[tuple[Sql, Value]], element: Type | None) -> Sql:
    ifs = [(test, value.alts.get(kind, exp.Null())) for test, value in arms[:-1]]
    made = case(*ifs, other=arms[-1][1].alts.get(kind))
    return null_of(kind, element) if isinstance(made, exp.Null) else made


def first_of(values: list[Value], node: exp.Expr, scope: SqlScope) -> Value:
    """Compiles COALESCE."""
    kinds = {kind for value in values for kind in value.alts}
    if len(kinds) == 1 and kinds <= set(SIMPLE):
        kind = kinds.pop()
        sure = any(not value.nothing for value in values)
        return Value({kind: coalesce(*(value.alts[kind] for value in values if value.alts))}, "" if sure else NULL)
    return choice([(has_value(value), value) for value in values[:-1]], values[-1], node, scope)


def _coalesce(node: exp.Coalesce, scope: SqlScope) -> Value:
    return first_of([value_of(each, scope) for each in [node.this, *node.expressions]], node, scope)


def _null_if(node: exp.Nullif, scope: SqlScope) -> Value:
    value, other = value_of(node.this, scope), value_of(node.expression, scope)
    return choice([(comparison.compare("==", value, other, sure=True), NOTHING)], value, node, scope)


def _index(node: exp.Bracket, scope: SqlScope) -> Value:
    """Compiles an index. sqlglot counts from 0 here, as we do."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise scope.refused(node, "an index must be one number or one name")
    of, at = value_of(node.this, scope), value_of(node.expressions[0], scope).constant
    if isinstance(at, bool) or not isinstance(at, int | str):
        raise scope.refused(node.expressions[0], "an index must be a constant number or name")
    return plain(member_of(of, at) if isinstance(at, str) else element(of, at))


def _dot(node: exp.Dot, scope: SqlScope) -> Value:
    if not isinstance(node.expression, exp.Identifier):
        raise scope.refused(node, "a dot must be followed by a name")
    return plain(member_of(value_of(node.this, scope), node.expression.name))


def _array(node: exp.Array, scope: SqlScope) -> Value:
    return plain(array_of([value_of(each, scope) for each in node.expressions]))


def _struct(node: exp.Struct, scope: SqlScope) -> Value:
    members: dict[str, Value] = {}
    for each in node.expressions:
        if not isinstance(each, exp.PropertyEQ):
            raise scope.refused(each, "a record is made of names and values: {'a': 1}")
        members[each.this.name] = value_of(each.expression, scope)
    return fixed_object(members)


def _interval(node: exp.Interval, scope: SqlScope) -> Value:
    unit = node.args["unit"].name.upper() if node.args.get("unit") is not None else ""
    micros = UNITS.get(unit.removesuffix("S"))
    if micros is None or not isinstance(node.this, exp.Literal):
        raise scope.refused(node, "an interval is a number of weeks, days, hours, minutes, seconds or less")
    try:
        return literal(DURATION, round(float(node.this.this) * micros))
    except ValueError:
        raise scope.refused(node, f"{node.this.this!r} is not a number of {unit.lower()}s") from None


_HANDLERS: dict[type[exp.Expr], Callable[..., Value]] = {
    exp.Column: lambda node, scope: scope.column(node),
    exp.Paren: lambda node, scope: value_of(node.this, scope),
    exp.Literal: _literal,
    exp.Boolean: lambda node, scope: literal(BOOL, bool(node.this)),
    exp.Null: lambda node, scope: NOTHING,
    exp.Neg: _negative,
    exp.Div: _divide,
    exp.DPipe: _concatenate,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _null_if,
    exp.Bracket: _index,
    exp.Dot: _dot,
    exp.Interval: _interval,
    exp.Array: _array,
    exp.Struct: _struct,
}
