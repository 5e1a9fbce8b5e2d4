"""Expressions, by precedence climbing. From loose to tight:

c ? a : b
or
and
not
== != < <= > >= ~ in like between      (one of them: they do not chain)
+ -
* / %
- !                                    before the operand
a.b  a[i]  a[i:j]  f(…)                after the operand"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from lochan.query.ast import (
    Between,
    Binary,
    Call,
    Conditional,
    Dot,
    Expr,
    Glob,
    Index,
    ListOf,
    Literal,
    Name,
    RecordOf,
    Regexp,
    Slice,
    Span,
    This,
    Unary,
)
from lochan.query.errors import did_you_mean
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.literals import INT_MAX, regexp_at
from lochan.query.syntax.tokens import LITERAL, QUOTED_NAME, RESERVED, WORD, Token, glob_at

OR, AND, NOT, COMPARE, ADD, MULTIPLY = range(1, 7)
LEVELS = {"or": OR, "and": AND, "in": COMPARE, "like": COMPARE, "between": COMPARE, "~": COMPARE}
LEVELS |= dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARE)
LEVELS |= {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY}

_LITERAL_WORDS = {"true": ("bool", True), "false": ("bool", False), "null": ("null", None)}
_TAKES_PATTERN = {"grep": 0, "regexp": 0, "regexp_replace": 1}  # the argument that may be a /re/


def expression(cursor: Cursor) -> Expr:
    start = cursor.at
    with cursor.deeper(start):
        test = _binary(cursor, OR)
        if not cursor.accept("?"):
            return test
        then = expression(cursor)
        cursor.expect(":", " of `c ? a : b`")
        return Conditional(test, then, expression(cursor), span=cursor.since(start))


def predicate(cursor: Cursor) -> Expr:
    """Parses an operand of `and`, `or` and `not`: a comparison, or a single sum."""
    return _binary(cursor, COMPARE)


def additive(cursor: Cursor) -> Expr:
    return _binary(cursor, ADD)


def path_of(value: Expr) -> tuple[str, ...] | None:
    """Returns the names of `a.b.c`, or None for anything but a plain field."""
    names: list[str] = []
    while isinstance(value, Dot):
        names.append(value.name)
        value = value.of
    return (value.name, *reversed(names)) if isinstance(value, Name) else None


def join_balanced(op: str, parts: list[Expr]) -> Expr:
    """Joins many parts by `and` or `or` in a balanced tree: a thousand of them are ten levels."""
    if len(parts) == 1:
        return parts[0]
    left, right = join_balanced(op, parts[: len(parts) // 2]), join_balanced(op, parts[len(parts) // 2 :])
    return Binary(op, left, right, span=Span(left.span.start, right.span.stop))


# ── operators between ────────────────────────────────────────────────────────────────────────────────────────────────


def _binary(cursor: Cursor, least: int) -> Expr:
    """Parses operands joined by operators of this level and the tighter ones."""
    start = cursor.at
    left = _not(cursor) if least <= NOT and cursor.word("not") else _unary(cursor)
    while True:
        op, negated = _operator(cursor)
        level = LEVELS.get(op, 0)
        if not op or level < least:
            return left
        if negated:
            cursor.take()
        if level in (OR, AND):
            left = join_balanced(op, [left, *_parse_level(cursor, op, level)])
        elif level == COMPARE:
            left = _comparison(cursor, start, op, left)
            left = Unary("not", left, span=left.span) if negated else left
        else:
            cursor.take()
            left = Binary(op, left, _binary(cursor, level + 1), span=cursor.since(start))


def _operator(cursor: Cursor) -> tuple[str, bool]:
    """Returns the next operator, or an empty text if there is none, and whether `not` precedes it."""
    if cursor.word("not") and (behind := cursor.after_next()) in ("in", "like", "between"):
        return behind, True
    if cursor.searching and cursor.symbol("*", "/") and cursor.lopsided():
        return "", False  # a glob, or the beginning of a /re/
    if cursor.symbol(*LEVELS) or cursor.word(*LEVELS):
        return cursor.peek().text, False
    return "", False


def _parse_level(cursor: Cursor, op: str, level: int) -> list[Expr]:
    parts: list[Expr] = []
    while cursor.accept_word(op):
        parts.append(_binary(cursor, level + 1))
    return parts


def _comparison(cursor: Cursor, start: int, op: str, left: Expr) -> Expr:
    cursor.take()
    if op == "~":
        value: Expr = Call("grep", (_pattern(cursor, additive), left), span=cursor.since(start))
    elif op == "between":
        low = additive(cursor)
        cursor.expect_word("and", " of `between low and high`")
        value = Between(left, low, additive(cursor), span=cursor.since(start))
    else:
        right = _members(cursor) if op == "in" else additive(cursor)
        value = Binary(op, left, right, span=cursor.since(start))
    if LEVELS.get(_operator(cursor)[0]) == COMPARE:
        raise cursor.error("comparisons do not chain", cursor.peek().span, hint="join them: a < b and b < c")
    return value


def _members(cursor: Cursor) -> Expr:
    """Parses the right side of `in`: any value, or a list in parentheses, as in SQL."""
    start = cursor.at
    if not cursor.accept("("):
        return additive(cursor)
    items = _items(cursor, ")")
    if len(items) == 1 and not isinstance(items[0], Literal):
        return items[0]
    return ListOf(tuple(items), span=cursor.since(start))


# ── operators in front ───────────────────────────────────────────────────────────────────────────────────────────────


def _not(cursor: Cursor) -> Expr:
    start = cursor.take().start
    with cursor.deeper(start):
        return Unary("not", _binary(cursor, NOT), span=cursor.since(start))


def _unary(cursor: Cursor) -> Expr:
    start = cursor.at
    if cursor.accept("!"):
        with cursor.deeper(start):
            return Unary("not", _unary(cursor), span=cursor.since(start))
    if not cursor.accept("-"):
        return _parse_suffixes(cursor, start, _primary(cursor))
    token = cursor.peek()
    if token.literal is not None and token.literal.kind in ("int", "float", "decimal", "duration"):
        return _negative(cursor, start)
    with cursor.deeper(start):
        return Unary("-", _unary(cursor), span=cursor.since(start))


def _negative(cursor: Cursor, start: int) -> Expr:
    """Parses a number with a minus, which is part of it: only so can the least number of 64 bits be written."""
    literal = cursor.take().literal
    assert literal is not None and isinstance(literal.value, int | float | Decimal)
    return Literal(literal.kind, -literal.value, span=cursor.since(start))


# ── what stands behind ───────────────────────────────────────────────────────────────────────────────────────────────


def _parse_suffixes(cursor: Cursor, start: int, value: Expr) -> Expr:
    while True:
        if cursor.accept("."):
            name = cursor.name()
            span = cursor.since(start)
            value = Name(name, span=span) if isinstance(value, This) else Dot(value, name, span=span)
        elif cursor.symbol("[") and cursor.touching("["):
            value = _index(cursor, start, value)
        else:
            return value


def _index(cursor: Cursor, start: int, value: Expr) -> Expr:
    cursor.expect("[")
    low = None if cursor.symbol(":") else expression(cursor)
    if low is not None and cursor.accept("]"):
        return Index(value, low, span=cursor.since(start))
    cursor.expect(":", " or `]`")
    high = None if cursor.symbol("]") else expression(cursor)
    cursor.expect("]")
    return Slice(value, low, high, span=cursor.since(start))


# ── the smallest parts ───────────────────────────────────────────────────────────────────────────────────────────────


def _primary(cursor: Cursor) -> Expr:
    token = cursor.peek()
    if token.kind == LITERAL and token.literal is not None:
        return _literal(cursor)
    if token.kind == QUOTED_NAME:
        cursor.take()
        return Name(token.text, span=token.span)
    if token.kind == WORD:
        return _word(cursor, token)
    match token.text:
        case "(":
            cursor.take()
            value = expression(cursor)
            cursor.expect(")")
            return value
        case "[":
            cursor.take()
            return ListOf(tuple(_items(cursor, "]")), span=cursor.since(token.start))
        case "{":
            return _record(cursor)
        case "/":
            raise cursor.error(
                "a regular expression cannot be used here",
                token.span,
                hint="use it after ~, in grep, regexp and regexp_replace, or in a search",
            )
    raise cursor.unexpected("a value")


def _literal(cursor: Cursor) -> Literal:
    token = cursor.take()
    literal = token.literal
    assert literal is not None
    if literal.kind == "int" and literal.value == INT_MAX + 1:
        return Literal("decimal", Decimal(INT_MAX + 1), span=token.span)
    return Literal(literal.kind, literal.value, span=token.span)


def _word(cursor: Cursor, token: Token) -> Expr:
    if cursor.text.startswith("(", token.stop) and token.text not in RESERVED - {"and", "or"}:
        return _call(cursor)
    if token.text == "this":
        cursor.take()
        return This(span=token.span)
    if token.text in _LITERAL_WORDS:
        cursor.take()
        kind, value = _LITERAL_WORDS[token.text]
        return Literal(kind, value, span=token.span)
    if token.text in RESERVED:
        raise cursor.unexpected(
            "a value", hint=f"a field of this name is written `{cursor.text[token.start : token.stop]}`, in backticks"
        )
    cursor.take()
    return Name(token.text, span=token.span)


def _call(cursor: Cursor) -> Expr:
    called = cursor.take()
    name = called.text
    signature = FUNCTIONS.get(name) or AGGREGATES.get(name)
    if signature is None:
        near = did_you_mean(name, [*FUNCTIONS, *AGGREGATES])
        raise cursor.error(f"unknown function `{name}`{near}", called.span)
    if name in AGGREGATES and not cursor.aggregates:
        raise cursor.error(
            f"`{name}` is an aggregate, which cannot be used here",
            called.span,
            hint=f"use it by itself: {signature.shown} by key; compute with its result in a `put` after it",
        )
    cursor.expect("(")
    if name == "count" and cursor.accept("*"):
        cursor.expect(")")
        return Call(name, (), span=cursor.since(called.start))
    distinct = name in AGGREGATES and cursor.word("distinct") and cursor.after_next() not in (")", ",", ".")
    if distinct:
        cursor.take()
    with cursor.aggregates_allowed(False):
        arguments = _items(cursor, ")", _TAKES_PATTERN.get(name))
    span = cursor.since(called.start)
    least, most = signature.least, signature.most
    if not least <= len(arguments) or (most is not None and len(arguments) > most):
        raise cursor.error(f"`{name}` takes {_number(least, most)}: {signature.shown}", span)
    return Call(name, tuple(arguments), distinct=distinct, span=span)


def _pattern(cursor: Cursor, otherwise: Callable[[Cursor], Expr]) -> Expr:
    """Parses /re/, a glob, or any other value."""
    start = cursor.at
    if cursor.symbol("/"):
        pattern, stop = regexp_at(cursor.text, start)
        cursor.jump(stop)
        return Regexp(pattern, span=cursor.since(start))
    if glob := glob_at(cursor.text, start):
        cursor.jump(start + len(glob))
        return Glob(glob, span=cursor.since(start))
    return otherwise(cursor)


def _items(cursor: Cursor, close: str, pattern_at: int | None = None) -> list[Expr]:
    """Parses items separated by commas, up to the closing symbol."""
    items: list[Expr] = []
    if cursor.accept(close):
        return items
    while True:
        items.append(_pattern(cursor, expression) if len(items) == pattern_at else expression(cursor))
        if cursor.accept(close):
            return items
        cursor.expect(",", f" or `{close}`")


def _record(cursor: Cursor) -> Expr:
    start = cursor.expect("{").start
    fields: list[tuple[str | None, Expr]] = []
    while not cursor.accept("}"):
        if fields:
            cursor.expect(",", " or `}`")
        fields.append(_field(cursor))
    return RecordOf(tuple(fields), span=cursor.since(start))


def _field(cursor: Cursor) -> tuple[str | None, Expr]:
    if cursor.accept("..."):
        return None, expression(cursor)
    token = cursor.peek()
    if token.literal is not None and token.literal.kind == "string":
        cursor.take()
        cursor.expect(":", " after the name of a field")
        return str(token.literal.value), expression(cursor)
    if token.kind in (WORD, QUOTED_NAME) and cursor.after_next() == ":":
        name = cursor.name()
        cursor.expect(":")
        return name, expression(cursor)
    value = expression(cursor)
    path = path_of(value)
    if path is None:
        raise cursor.error("this field has no name", value.span, hint="write {name: value}")
    return path[-1], value


def _number(least: int, most: int | None) -> str:
    if least == most:
        return "no arguments" if least == 0 else "one argument" if least == 1 else f"{least} arguments"
    return f"at least {least}" if most is None else f"{least} to {most} arguments"
