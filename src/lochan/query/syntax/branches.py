"""The operators that hold pipes of their own: join, union, fork, switch. Each gets the parser of pipes."""

from __future__ import annotations

from typing import Protocol

from lochan.query.ast import Expr, Fork, Join, Operator, Pipe, Switch, Union
from lochan.query.syntax.assignments import assigned, listed
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import additive, expression
from lochan.query.syntax.search import ended


class PipeParser(Protocol):
    def __call__(self, cursor: Cursor, *, sourced: bool) -> Pipe:
        """`sourced`: the pipe may begin with a `from`; an arm goes on with the rows it is given."""


class BranchParser(Protocol):
    def __call__(self, cursor: Cursor, start: int, pipe: PipeParser) -> Operator: ...


def _join(cursor: Cursor, start: int, pipe: PipeParser, kind: str = "inner") -> Join:
    """`join (query) on left = right fields`; one name alone is that of both sides."""
    other = _other(cursor, pipe)
    cursor.expect_word("on", " and the two values that are to be equal")
    left = right = additive(cursor)
    if cursor.accept("=") or cursor.accept("=="):
        right = additive(cursor)
    fields = () if ended(cursor) else listed(cursor, assigned)
    return Join(kind, other, left, right, fields, span=cursor.since(start))


def _sided(kind: str) -> BranchParser:
    def parse(cursor: Cursor, start: int, pipe: PipeParser) -> Join:
        cursor.expect_word("join")
        return _join(cursor, start, pipe, kind)

    return parse


def _union(cursor: Cursor, start: int, pipe: PipeParser) -> Union:
    return Union(_other(cursor, pipe), span=cursor.since(start))


def _other(cursor: Cursor, pipe: PipeParser) -> Pipe:
    cursor.expect("(", " and the other query")
    before, cursor.in_switch = cursor.in_switch, False
    other = pipe(cursor, sourced=True)
    cursor.in_switch = before
    cursor.expect(")")
    return other


def _fork(cursor: Cursor, start: int, pipe: PipeParser) -> Fork:
    cursor.expect("(", " and the branches")
    before, cursor.in_switch = cursor.in_switch, False
    arms: list[Pipe] = []
    while not arms or not cursor.symbol(")"):
        cursor.expect("=>", " before each branch")
        arms.append(pipe(cursor, sourced=False))
    cursor.in_switch = before
    cursor.expect(")")
    return Fork(tuple(arms), span=cursor.since(start))


def _switch(cursor: Cursor, start: int, pipe: PipeParser) -> Switch:
    of = None
    if not (cursor.symbol("(") and cursor.after_next() in ("case", "default")):
        of = expression(cursor)
    cursor.expect("(", " and the cases")
    before, cursor.in_switch = cursor.in_switch, True
    cases: list[tuple[Expr | None, Pipe]] = []
    while not cases or not cursor.symbol(")"):
        if cases and cases[-1][0] is None:
            raise cursor.unexpected("`)`: nothing comes behind the default")
        cases.append(_case(cursor, pipe))
    cursor.in_switch = before
    cursor.expect(")")
    return Switch(of, tuple(cases), span=cursor.since(start))


def _case(cursor: Cursor, pipe: PipeParser) -> tuple[Expr | None, Pipe]:
    if not cursor.word("case", "default"):
        raise cursor.unexpected("`case` or `default`")
    value = expression(cursor) if cursor.take().text == "case" else None
    cursor.expect("=>", " before what is done in this case")
    return value, pipe(cursor, sourced=False)


JOIN_KINDS = ("inner", "left", "right", "anti")

BRANCHING: dict[str, BranchParser] = {
    "join": _join,
    "union": _union,
    "fork": _fork,
    "switch": _switch,
    **{kind: _sided(kind) for kind in JOIN_KINDS},
}
