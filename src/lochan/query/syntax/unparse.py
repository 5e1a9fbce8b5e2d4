"""A tree as the text that parses to it again: for `explain`, and to test the parser against."""

from __future__ import annotations

from lochan.query.ast import (
    Aggregate,
    Assigned,
    Between,
    Binary,
    Call,
    Conditional,
    Cut,
    Dot,
    Drop,
    Expr,
    Fork,
    From,
    Fuse,
    Glob,
    Head,
    Index,
    Join,
    ListOf,
    Literal,
    Load,
    Name,
    Operator,
    Over,
    Pipe,
    Put,
    RecordOf,
    Regexp,
    Rename,
    Sample,
    Slice,
    Sort,
    SortKey,
    Source,
    Switch,
    Tail,
    Term,
    This,
    Top,
    Unary,
    Union,
    Uniq,
    Where,
    Yield,
)
from lochan.query.syntax.expressions import ADD, COMPARE, LEVELS, MULTIPLY, NOT
from lochan.query.syntax.literals import quoted, written, written_regexp
from lochan.query.syntax.sources import NO_KEY, is_plain_name, is_plain_path
from lochan.query.syntax.tokens import is_bare


def unparse(pipe: Pipe) -> str:
    return " | ".join(map(_operator, pipe.operators)) or "pass"


def _operator(operator: Operator) -> str:
    match operator:
        case From():
            return "from " + ", ".join(map(_source, operator.sources))
        case Where():
            name = "search" if holds_terms(operator.test) else "where"
            return f"{name} {text_of(operator.test)}"
        case Cut():
            return "cut " + _assignments(operator.fields)
        case Put():
            return "put " + _assignments(operator.fields)
        case Drop():
            return "drop " + ", ".join(map(path_text, operator.paths))
        case Rename():
            return "rename " + ", ".join(f"{path_text(new)} := {path_text(old)}" for new, old in operator.fields)
        case Sort():
            return "sort" + (" -r" if operator.reverse else "") + "".join(_keys(operator.keys))
        case Head() | Tail() | Sample():
            return f"{type(operator).__name__.lower()} {operator.count}"
        case Top():
            return f"top {operator.count}" + "".join(_keys(operator.keys))
        case Uniq():
            return "uniq -c" if operator.counted else "uniq"
        case Aggregate():
            return _aggregate(operator)
        case Yield():
            return "yield " + ", ".join(map(text_of, operator.values))
        case Over():
            return "over " + ", ".join(map(text_of, operator.values))
        case Fuse():
            return "fuse"
        case Load():
            return _load(operator)
    return _branching(operator)


def _branching(operator: Join | Union | Fork | Switch) -> str:
    match operator:
        case Join():
            on = f"{text_of(operator.left, 'operand')} = {text_of(operator.right, 'operand')}"
            fields = " " + _assignments(operator.fields) if operator.fields else ""
            return f"{operator.kind} join ({unparse(operator.other)}) on {on}{fields}"
        case Union():
            return f"union ({unparse(operator.other)})"
        case Fork():
            return "fork (" + " ".join(f"=> {unparse(arm)}" for arm in operator.arms) + ")"
    of = f" {text_of(operator.of)}" if operator.of is not None else ""
    return f"switch{of} (" + " ".join(_case(value, arm) for value, arm in operator.cases) + ")"


def _case(value: Expr | None, arm: Pipe) -> str:
    return f"case {text_of(value)} => {unparse(arm)}" if value is not None else f"default => {unparse(arm)}"


def _assignments(fields: tuple[Assigned, ...]) -> str:
    return ", ".join(f"{path_text(path)} := {text_of(value)}" if path else text_of(value) for path, value in fields)


def _keys(keys: tuple[SortKey, ...]) -> str:
    return "".join(
        f"{',' if at else ''} {text_of(key.value)} {'desc' if key.descending else 'asc'}"
        + (" nulls first" if key.nulls_first else "")
        for at, key in enumerate(keys)
    )


def _aggregate(operator: Aggregate) -> str:
    values = ", ".join(map(_aggregated, operator.values))
    by = "by " + _assignments(operator.keys) if operator.keys else ""
    every = f"every {operator.every}us" if operator.every is not None else ""
    return " ".join(part for part in ("summarize", values, by, every) if part)


def _aggregated(assigned: Assigned) -> str:
    call = assigned.value
    where = f" where {text_of(call.where)}" if isinstance(call, Call) and call.where is not None else ""
    return _assignments((assigned,)) + where


def _source(source: Source) -> str:
    meta = f":{source.meta}" if source.meta else ""
    ref = f"@{source.ref}" if source.ref else ""
    path = f"/{source.path if is_plain_path(source.path) else quoted(source.path)}" if source.path else ""
    name = _name(source.name) + (NO_KEY if source.no_key else "")
    text = f"{name}{ref}{path}{meta}" if source.name is not None else f"{meta}{ref}"
    if source.low is not None and source.high is not None:
        text += f" range {text_of(source.low)} to {text_of(source.high)}"
    return text + (" tap" if source.tap else "")


def _name(name: str | Glob | Regexp | None) -> str:
    match name:
        case None:
            return ""
        case Glob():
            return name.pattern
        case Regexp():
            return written_regexp(name.pattern)
    return name if is_plain_name(name) else quoted(name, "'")


def _load(load: Load) -> str:
    branch = f"@{load.branch}" if load.branch else ""
    message = f" message {quoted(load.message)}" if load.message else ""
    return f"load {_name(load.pool)}{branch}{message}"


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


_ALL, _OPERAND, _FRONT, _BEHIND = 0, ADD, MULTIPLY + 1, MULTIPLY + 2
_PLACES = {"all": _ALL, "operand": _OPERAND}


def text_of(value: Expr, place: str = "all") -> str:
    """With parentheses where the tree needs them, and around `and` within `and`, `or` within `or`. `place`: where
    anything can stand, or only what binds as tightly as a sum."""
    return _text(value, _PLACES[place])


def path_text(path: tuple[str, ...]) -> str:
    return ".".join(map(name_text, path))


def name_text(name: str) -> str:
    return name if is_bare(name) else quoted(name, "`")


def holds_terms(value: Expr) -> bool:
    match value:
        case Binary(op="and" | "or"):
            return holds_terms(value.left) or holds_terms(value.right)
        case Unary(op="not"):
            return holds_terms(value.of)
    return isinstance(value, Term)


def _text(value: Expr, least: int) -> str:
    text, level = _written(value)
    return text if level >= least else f"({text})"


def _written(value: Expr) -> tuple[str, int]:
    """And how tight it binds."""
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
            text = written(value)
            return text, _FRONT if text.startswith("-") else _BEHIND
    return _tight(value), _BEHIND


def _binary(value: Binary) -> tuple[str, int]:
    level = LEVELS[value.op]
    left = level if level > COMPARE else level + 1
    right = _text(value.right, level + 1)
    if value.op == "in" and right.startswith("("):
        right = f"({right})"  # one alone in parentheses is itself, where it is no literal
    return f"{_text(value.left, left)} {value.op} {right}", level


def _tight(value: Expr) -> str:
    match value:
        case This():
            return "this"
        case Name():
            return name_text(value.name)
        case Dot():
            return f"{_before(value.of)}.{name_text(value.name)}"
        case Index():
            return f"{_before(value.of)}[{_text(value.at, _ALL)}]"
        case Slice():
            start = _text(value.start, _ALL) if value.start is not None else ""
            stop = _text(value.stop, _ALL) if value.stop is not None else ""
            return f"{_before(value.of)}[{start} : {stop}]"
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
            return quoted(value.what) if isinstance(value.what, str) else _text(value.what, _ALL)
    raise AssertionError(f"no text for {value!r}")


def _before(value: Expr) -> str:
    """What a dot or a bracket stands behind; a literal's own dot would be another's."""
    text = _text(value, _BEHIND)
    return f"({text})" if isinstance(value, Literal) else text


def _list(values: tuple[Expr, ...]) -> str:
    return ", ".join(_text(value, _ALL) for value in values)


def _field(name: str | None, value: Expr) -> str:
    return f"{name_text(name)}: {_text(value, _ALL)}" if name is not None else f"...{_text(value, _ALL)}"
