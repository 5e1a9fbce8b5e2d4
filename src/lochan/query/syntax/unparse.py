"""Writes an expression as text that parses to it again."""

from __future__ import annotations

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
    Term,
    This,
    Unary,
)
from lochan.query.syntax.expressions import ADD, COMPARE, LEVELS, MULTIPLY, NOT
from lochan.query.syntax.literals import literal_text, quote_text, written_regexp
from lochan.query.syntax.tokens import is_bare

_ALL, _OPERAND, _FRONT, _BEHIND = 0, ADD, MULTIPLY + 1, MULTIPLY + 2
_PLACES = {"all": _ALL, "operand": _OPERAND}


def text_of(value: Expr, place: str = "all") -> str:
    """Returns the text, with parentheses where the tree needs them, and around `and` within `and`, `or` within `or`.
    With the `place` "all" any expression can be there, with "operand" only one that binds as tightly as a sum."""
    return _text(value, _PLACES[place])


def name_text(name: str) -> str:
    return name if is_bare(name) else quote_text(name, "`")


def _text(value: Expr, least: int) -> str:
    text, level = _expression_text(value)
    return text if level >= least else f"({text})"


def _expression_text(value: Expr) -> tuple[str, int]:
    """Returns the text, and how tightly it binds."""
    match value:
        case Binary():
            return _binary(value)
        case Unary(op="not"):
            return f"not {_text(value.of, NOT)}", NOT
        case Unary():
            number = isinstance(value.of, Literal) and value.of.kind in ("int", "float", "decimal", "duration")
            return f"- {f'({_text(value.of, _ALL)})' if number else _text(value.of, _FRONT)}", _FRONT
        case Between():
            low, high = _text(value.low, _OPERAND), _text(value.high, _OPERAND)
            return f"{_text(value.of, _OPERAND)} between {low} and {high}", COMPARE
        case Conditional():
            return f"{_text(value.test, 1)} ? {_text(value.then, _ALL)} : {_text(value.other, _ALL)}", _ALL
        case Literal():
            text = literal_text(value)
            return text, _FRONT if text.startswith("-") else _BEHIND
    return _tight_text(value), _BEHIND


def _binary(value: Binary) -> tuple[str, int]:
    level = LEVELS[value.op]
    left = level if level > COMPARE else level + 1
    right = _text(value.right, level + 1)
    if value.op == "in" and right.startswith("("):
        right = f"({right})"  # one alone in parentheses is itself, where it is no literal
    return f"{_text(value.left, left)} {value.op} {right}", level


def _tight_text(value: Expr) -> str:
    match value:
        case This():
            return "this"
        case Name():
            return name_text(value.name)
        case Dot():
            return f"{_text_before(value.of)}.{name_text(value.name)}"
        case Index():
            return f"{_text_before(value.of)}[{_text(value.at, _ALL)}]"
        case Slice():
            start = _text(value.start, _ALL) if value.start is not None else ""
            stop = _text(value.stop, _ALL) if value.stop is not None else ""
            return f"{_text_before(value.of)}[{start} : {stop}]"
        case Call():
            distinct = "distinct " if value.distinct else ""
            return f"{value.name}({distinct}{_list(value.arguments)})"
        case ListOf():
            return f"[{_list(value.items)}]"
        case RecordOf():
            return "{" + ", ".join(_field(name, each) for name, each in value.fields) + "}"
        case Regexp():
            return written_regexp(value.pattern)
        case Glob():
            return value.pattern
        case Term():
            return quote_text(value.what) if isinstance(value.what, str) else _text(value.what, _ALL)
    raise AssertionError(f"no text for {value!r}")


def _text_before(value: Expr) -> str:
    """Returns the text before a dot or a bracket. A literal is put in parentheses, because it may have a dot of its
    own."""
    text = _text(value, _BEHIND)
    return f"({text})" if isinstance(value, Literal) else text


def _list(values: tuple[Expr, ...]) -> str:
    return ", ".join(_text(value, _ALL) for value in values)


def _field(name: str | None, value: Expr) -> str:
    return f"{name_text(name)}: {_text(value, _ALL)}" if name is not None else f"...{_text(value, _ALL)}"
