"""Parses a whole query of the pipe language: pipes, and the operators that contain pipes."""

from __future__ import annotations

from typing import Protocol

from lochan.query.ast import Expr, Fork, Join, Node, Operator, Pipe, Span, Switch, Union, Where
from lochan.query.errors import QueryError
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import additive, expression
from lochan.query.syntax.operators import SIMPLE, aggregate, is_aggregate, parse_assigned, parse_list, path_before, put
from lochan.query.syntax.search import bare, ended
from lochan.query.syntax.spelling import refuse_misspelt

TREE_MAX = 120  # levels, so that functions may walk through the tree by recursion


def parse(text: str) -> Pipe:
    """Parses a query. If it has no `from`, neither has the result: the caller decides what to read. Raises
    QueryError."""
    _check_characters(text)
    cursor = Cursor(text)
    if cursor.ended():
        raise cursor.error("the query is empty", Span(0, 0), hint="such as: from logs | head 10")
    found = pipe(cursor, sourced=True)
    if not cursor.ended():
        raise cursor.unexpected("`|` or the end of the query", _missing_bar(cursor))
    _check_depth(text, found)
    return found


def _missing_bar(cursor: Cursor) -> str:
    """Returns a hint for texts such as `cut host where status == 200`."""
    return "operators are joined by |" if cursor.word(*OPERATORS) else ""


def parse_expression(text: str) -> Expr:
    """Parses an expression by itself, such as the condition of `delete`. Raises QueryError."""
    _check_characters(text)
    cursor = Cursor(text)
    if cursor.ended():
        raise cursor.error("the expression is empty", Span(0, 0), hint="such as: status >= 500")
    found = expression(cursor)
    if not cursor.ended():
        raise cursor.unexpected("an operator or the end of the expression")
    _check_depth(text, found)
    return found


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError("this is no UTF-8", text, Span(error.start, error.end)) from None


def _check_depth(text: str, root: Node) -> None:
    """Raises QueryError for a tree that is too deep. A long sum is a deep tree without any parenthesis."""
    level: list[Node] = [root]
    for _ in range(TREE_MAX):
        level = [below for node in level for each in node.__struct_fields__ for below in _nodes(getattr(node, each))]
        if not level:
            return
    raise QueryError(f"nested more than {TREE_MAX} deep", text, level[0].span)


def _nodes(value: object) -> list[Node]:
    if isinstance(value, Node):
        return [value]
    return [node for each in value for node in _nodes(each)] if isinstance(value, tuple) else []


# ── pipes: operators in a row ────────────────────────────────────────────────────────────────────────────────────────


OPERATORS_MAX = 200  # operators in a row: each may become a query within the next one's
_COMPARED = ("==", "!=", "<", "<=", ">", ">=", "~", ":=")


def pipe(cursor: Cursor, *, sourced: bool) -> Pipe:
    """Parses a pipe up to its end. `pass` does nothing, and so adds nothing to the tree."""
    start = cursor.at
    operators: list[Operator] = []
    with cursor.deeper(start):
        while True:
            word = _operator_word(cursor)
            if word == "pass":
                cursor.take()
            else:
                operators.append(_operator(cursor, word, sourced and not operators))
            if not cursor.accept("|"):
                return Pipe(tuple(operators), span=cursor.since(start))
            if len(operators) >= OPERATORS_MAX:
                raise cursor.error(f"more than {OPERATORS_MAX} operators in a row", cursor.peek().span)


def _operator(cursor: Cursor, word: str, sourced: bool) -> Operator:
    start = cursor.at
    if word == "from" and not sourced:
        raise cursor.error(
            "`from` can only begin a query",
            cursor.peek().span,
            hint="use join (from …) or union (from …) for rows of another source",
        )
    if word:
        cursor.take()
        return SIMPLE[word](cursor, start) if word in SIMPLE else BRANCHING[word](cursor, start, pipe)
    if is_aggregate(cursor):
        return aggregate(cursor)
    if path_before(cursor, ":=") is not None:
        cursor.jump(start)
        return put(cursor, start)
    if ended(cursor):
        raise cursor.unexpected("an operator")
    refuse_misspelt(cursor, OPERATORS)
    return Where(bare(cursor), span=cursor.since(start))


def _operator_word(cursor: Cursor) -> str:
    """Returns the name of the operator that is next, or an empty text if there is none.

    A field may have the name of an operator, and a function too: `head == 1`, `union(x) by k`, `join(tags, ",") ==
    "a"`."""
    if not cursor.word(*OPERATORS):
        return ""
    token = cursor.peek()
    behind = cursor.after_next()
    if behind in _COMPARED or cursor.text.startswith(".", token.stop):
        return ""
    if token.text in JOIN_KINDS and behind != "join":
        return ""
    if cursor.text.startswith("(", token.stop) and (token.text in FUNCTIONS or token.text in AGGREGATES):
        return token.text if cursor.text[token.stop + 1 :].lstrip().startswith("from ") else ""
    return token.text


# ── operators that hold pipes of their own ───────────────────────────────────────────────────────────────────────────


class PipeParser(Protocol):
    def __call__(self, cursor: Cursor, *, sourced: bool) -> Pipe:
        """Parses a pipe. With `sourced`, it may begin with a `from`; an arm continues with the rows it is given."""


class BranchParser(Protocol):
    def __call__(self, cursor: Cursor, start: int, pipe: PipeParser) -> Operator: ...


def _join(cursor: Cursor, start: int, pipe: PipeParser, kind: str = "inner") -> Join:
    """Parses `join (query) on left = right fields`. A single name is that of both sides."""
    other = _other(cursor, pipe)
    cursor.expect_word("on", " and the two values that are to be equal")
    left = right = additive(cursor)
    if cursor.accept("=") or cursor.accept("=="):
        right = additive(cursor)
    fields = () if ended(cursor) else parse_list(cursor, parse_assigned)
    return Join(kind, other, left, right, fields, span=cursor.since(start))


def _join_parser(kind: str) -> BranchParser:
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
            raise cursor.unexpected("`)`: nothing may follow the default")
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
    **{kind: _join_parser(kind) for kind in JOIN_KINDS},
}

OPERATORS = (*SIMPLE, *BRANCHING, "pass")
