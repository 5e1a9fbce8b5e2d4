"""A search: terms and conditions side by side. `error or status >= 500` looks for a word and compares a field.

A condition is a comparison or a call. Everything else is a term: a plain word, a text in quotes, a glob, a /regexp/.
So a field that is true or false by itself is not a condition here; `where ok` is one.
"""

from __future__ import annotations

import re

from lochan.query.ast import Between, Binary, Call, Conditional, Expr, Glob, Literal, Regexp, Span, Term, Unary
from lochan.query.errors import QueryError
from lochan.query.functions import CONDITIONS
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import COMPARE, LEVELS, expression, join_balanced, predicate
from lochan.query.syntax.literals import regexp_at
from lochan.query.syntax.tokens import QUOTED_NAME, is_glob, word_at

_JOINING = ("and", "or", "not")
_ANOTHER = re.compile(r"\s*(?:$|[|)\"'`]|=>)|\s+[^-+*/%:?.\s,=<>!~\[\]{};]")


def search(cursor: Cursor) -> Expr:
    parts = [_side_by_side(cursor)]
    while cursor.accept_word("or"):
        parts.append(_side_by_side(cursor))
    return join_balanced("or", parts)


def bare(cursor: Cursor) -> Expr:
    """Parses the text between two pipes without an operator's name: a condition or a search."""
    return _whole(cursor) or search(cursor)


def ended(cursor: Cursor) -> bool:
    """Returns whether the operator ends here."""
    if cursor.in_switch and cursor.word("case", "default"):
        return True
    return cursor.ended() or cursor.symbol("|", ")", "=>")


def _whole(cursor: Cursor) -> Expr | None:
    """Parses `c ? a : b`, true, false or null, which a search does not have."""
    start = cursor.at
    if cursor.word("true", "false", "null") or cursor.text.find("?", start) >= 0:
        try:
            value: Expr | None = expression(cursor)
        except QueryError:
            value = None
        constant = isinstance(value, Literal) and value.kind in ("bool", "null")
        if (constant or isinstance(value, Conditional)) and ended(cursor):
            return value
        cursor.jump(start)
    return None


def _side_by_side(cursor: Cursor) -> Expr:
    parts = [_not(cursor)]
    while cursor.accept_word("and") or not (ended(cursor) or cursor.word("or")):
        parts.append(_not(cursor))
    return join_balanced("and", parts)


def _not(cursor: Cursor) -> Expr:
    start = cursor.at
    if not (cursor.accept_word("not") or cursor.accept("!")):
        return _term(cursor)
    with cursor.deeper(start):
        return Unary("not", _not(cursor), span=cursor.since(start))


def _term(cursor: Cursor) -> Expr:
    start = cursor.at
    if cursor.symbol("/"):
        return _regexp(cursor)
    try:
        with cursor.searching_terms():
            value: Expr | None = predicate(cursor)
        failed = None
    except QueryError as error:
        value, failed = None, error
    if value is not None and _decides(value):
        return value
    cursor.jump(start)
    if cursor.accept("("):
        with cursor.deeper(start):
            found = search(cursor)
            cursor.expect(")")
            return found
    return _quoted_term(cursor, failed) or _word(cursor, value, failed)


def _decides(value: Expr) -> bool:
    match value:
        case Binary():
            return LEVELS[value.op] == COMPARE
        case Unary(op="not"):
            return _decides(value.of)
    return isinstance(value, Between) or (isinstance(value, Call) and value.name in CONDITIONS)


def _regexp(cursor: Cursor) -> Term:
    start = cursor.at
    pattern, stop = regexp_at(cursor.text, start)
    cursor.jump(stop)
    return Term(Regexp(pattern, span=Span(start, stop)), span=Span(start, stop))


def _quoted_term(cursor: Cursor, failed: QueryError | None) -> Term | None:
    """Parses a text in quotes, or a name in backticks, which counts as a text here."""
    if cursor.text[cursor.at : cursor.at + 1] not in ('"', "'", "`"):
        return None
    token = cursor.take()
    if failed is not None and not (ended(cursor) or _goes_on(cursor, token.stop)):
        raise failed
    text = token.text if token.kind == QUOTED_NAME or token.literal is None else str(token.literal.value)
    if not text:
        raise cursor.error("an empty text is found everywhere", token.span)
    return Term(text, span=token.span)


def _word(cursor: Cursor, value: Expr | None, failed: QueryError | None) -> Term:
    start = cursor.at
    word = word_at(cursor.text, start)
    span = Span(start, start + len(word))
    if (
        not word
        or word in (*_JOINING, *map(str.upper, _JOINING))
        or (failed is not None and not _goes_on(cursor, span.stop) and not is_glob(word))
    ):
        if failed is not None and (word or failed.start > start or cursor.unreadable()):
            raise failed
        raise _no_condition(cursor, value) or cursor.unexpected("a condition or a search term")
    if value is not None and value.span.stop > span.stop and not is_glob(word):
        raise _no_condition(cursor, value) or cursor.unexpected("a condition or a search term")
    if word.strip("*?") == "":
        raise cursor.error("this finds everything", span)
    cursor.jump(span.stop)
    return Term(Glob(word, span=span) if is_glob(word) else word, span=span)


def _goes_on(cursor: Cursor, stop: int) -> bool:
    """Returns whether a word is followed by another term, or the end; otherwise the word began a condition."""
    return _ANOTHER.match(cursor.text, stop) is not None


def _no_condition(cursor: Cursor, value: Expr | None) -> QueryError | None:
    if value is None:
        return None
    hint = "compare it with something; or, to search for it, put it in quotes"
    return cursor.error("this is a value, not a condition", value.span, hint=hint)
