"""Pipes: operators in a row, and which operator it is that stands there."""

from __future__ import annotations

from lochan.query.ast import Operator, Pipe, Where
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax import aggregates
from lochan.query.syntax.assignments import path_before
from lochan.query.syntax.branches import BRANCHING, JOIN_KINDS
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.operators import SIMPLE, put
from lochan.query.syntax.search import bare, ended
from lochan.query.syntax.spelling import refuse_misspelt

OPERATORS_MAX = 200  # in a row: each may become a query within the next one's
OPERATORS = (*SIMPLE, *BRANCHING, "pass")
_COMPARED = ("==", "!=", "<", "<=", ">", ">=", "~", ":=")


def pipe(cursor: Cursor, *, sourced: bool) -> Pipe:
    """Up to what ends it. `pass` does nothing, and so leaves nothing in the tree."""
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
            "`from` begins a query, and stands nowhere else",
            cursor.peek().span,
            hint="rows of another source come by join (from …) or union (from …)",
        )
    if word:
        cursor.take()
        return SIMPLE[word](cursor, start) if word in SIMPLE else BRANCHING[word](cursor, start, pipe)
    if aggregates.begins(cursor):
        return aggregates.aggregate(cursor)
    if path_before(cursor, ":=") is not None:
        cursor.jump(start)
        return put(cursor, start)
    if ended(cursor):
        raise cursor.unexpected("an operator")
    refuse_misspelt(cursor, OPERATORS)
    return Where(bare(cursor), span=cursor.since(start))


def _operator_word(cursor: Cursor) -> str:
    """The name of the operator that stands here; empty where none is named.

    A field may be named as an operator is, and a function too: `head == 1`, `union(x) by k`, `join(tags, ",") == "a"`.
    """
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
