"""The whole query."""

from __future__ import annotations

from lochan.query.ast import Expr, Node, Pipe, Span
from lochan.query.errors import QueryError
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import expression
from lochan.query.syntax.pipes import OPERATORS, pipe

TREE_MAX = 120  # levels: whoever walks the tree may do it by recursion


def parse(text: str) -> Pipe:
    """Without a `from` where the query leaves it out: whoever asks decides what is meant. Raises QueryError."""
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
    """`cut host where status == 200`"""
    return "operators are joined by |" if cursor.word(*OPERATORS) else ""


def parse_expression(text: str) -> Expr:
    """An expression by itself, such as what rows are deleted by. Raises QueryError."""
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
    """A long sum is a deep tree without a parenthesis in it."""
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
