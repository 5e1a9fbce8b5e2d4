"""A query as text that parses to it again, to test the parser against."""

from __future__ import annotations

from lochan.query.ast import (
    Aggregate,
    Assigned,
    Binary,
    Call,
    Cut,
    Drop,
    Expr,
    Fork,
    From,
    Fuse,
    Glob,
    Head,
    Join,
    Load,
    Operator,
    Over,
    Pipe,
    Put,
    Regexp,
    Rename,
    Sample,
    Sort,
    SortKey,
    Source,
    Switch,
    Tail,
    Term,
    Top,
    Unary,
    Union,
    Uniq,
    Where,
    Yield,
)
from lochan.query.syntax.literals import quote_text, written_regexp
from lochan.query.syntax.sources import NO_KEY, is_plain_name, is_plain_path
from lochan.query.syntax.unparse import name_text, text_of


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
    path = f"/{source.path if is_plain_path(source.path) else quote_text(source.path)}" if source.path else ""
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
    return name if is_plain_name(name) else quote_text(name, "'")


def _load(load: Load) -> str:
    branch = f"@{load.branch}" if load.branch else ""
    message = f" message {quote_text(load.message)}" if load.message else ""
    return f"load {_name(load.pool)}{branch}{message}"


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def path_text(path: tuple[str, ...]) -> str:
    return ".".join(map(name_text, path))


def holds_terms(value: Expr) -> bool:
    match value:
        case Binary(op="and" | "or"):
            return holds_terms(value.left) or holds_terms(value.right)
        case Unary(op="not"):
            return holds_terms(value.of)
    return isinstance(value, Term)
