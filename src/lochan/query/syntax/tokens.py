"""Reads one token of the pipe language at a place in the text. The meaning of a slash or a star depends on its place,
so tokens are read on demand. Regexps, globs, search words and sources are read by the parsers that expect them."""

from __future__ import annotations

import re
from typing import NamedTuple

from lochan.query.ast import Literal, Span
from lochan.query.errors import QueryError
from lochan.query.syntax import literals

WORD = "word"  # a bare name or a keyword
QUOTED_NAME = "name"  # `in backticks`: always a field's name
LITERAL = "literal"
SYMBOL = "symbol"
END = "end"


class Token(NamedTuple):
    kind: str
    text: str  # a word's letters, a quoted name's content, a symbol
    start: int
    stop: int
    literal: Literal | None = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.stop)


def token_at(text: str, start: int) -> Token:
    """Returns the token that begins at `start`, where there is no blank and no comment. Raises QueryError."""
    if start >= len(text):
        return Token(END, "", len(text), len(text))
    first = text[start]
    if first in "\"'":
        value, stop = literals.string_at(text, start)
        return _literal(Literal("string", value), text, start, stop)
    if first == "`":
        name, stop = literals.string_at(text, start)
        return Token(QUOTED_NAME, name, start, stop)
    if first in "0123456789" or _ADDRESS_V6.match(text, start):
        literal, stop = literals.number_at(text, start)
        return _literal(literal, text, start, stop)
    if word := _WORD.match(text, start):
        return Token(WORD, _IN_CAPITALS.get(word[0], word[0]), start, word.end())
    if symbol := _SYMBOL.match(text, start):
        return Token(SYMBOL, symbol[0], start, symbol.end())
    raise QueryError(f"unexpected {first!r}", text, Span(start, start + 1), hint=_FOREIGN.get(first, ""))


def after_blanks(text: str, start: int) -> int:
    """Returns the place where blanks and comments end: `-- to the end of the line` and `/* between */`."""
    start = _skip_blanks(text, start)
    if text.startswith("/*", start):
        raise QueryError("this comment never ends", text, Span(start, start + 2), hint="close it with */")
    return start


def is_sql(text: str) -> bool:
    """Returns whether a query is SQL. All others are in the pipe language."""
    return _SQL.match(text, _skip_blanks(text, 0)) is not None


def _skip_blanks(text: str, start: int) -> int:
    """Skips one blank after the other: a repetition of repetitions would try all ways to divide them."""
    while blank := _BLANK.match(text, start):
        start = blank.end()
    return start


def is_bare(name: str) -> bool:
    """Returns whether a field's name can be written without backticks."""
    is_reserved = name in RESERVED or name in _IN_CAPITALS or name in ("case", "default")
    return _WORD.fullmatch(name) is not None and not is_reserved


RESERVED = frozenset({"and", "or", "not", "in", "like", "between", "true", "false", "null", "this"})

# SQL's keywords are often written so. A search for such a word, or a field of that name, must be quoted.
_IN_CAPITALS = {word.upper(): word for word in ("and", "or", "not", "in", "like", "between")}

_WORD = re.compile(r"[^\W\d]\w*")
_SYMBOL = re.compile(r":=|==|!=|<=|>=|=>|\.\.\.|[<>=+\-*/%()\[\]{},.:?!~|]")
_ADDRESS_V6 = re.compile(r"[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_BLANK = re.compile(r"\s+|--[^\n]*|/\*.*?\*/", re.DOTALL)
_SQL = re.compile(r"(?:select|with)\b", re.IGNORECASE)
_FOREIGN = {"&": "write `and`", ";": "one query at a time", "@": "an @ stands in a source only: from pool@branch"}


def _literal(literal: Literal, text: str, start: int, stop: int) -> Token:
    return Token(LITERAL, text[start:stop], start, stop, literal)


# ── words of a search, and globs: as they stand in the text, for `web-1.example*` is no difference ───────────────────


# Characters that separate tokens elsewhere end a word too. A comma does not: the next parser refuses it.
_PART = r"[^\s\x00-\x1f\x7f|()\"'`,=<>!~\[\]{};]"
_SEARCH_WORD = re.compile(rf"{_PART}+")
_LETTER = re.compile(r"\w")
_STARS = re.compile(r"[*?]+")


def word_at(text: str, start: int) -> str:
    """Returns the word that begins here, or an empty text. Signs alone are not a word, because they are more likely a
    mistake."""
    found = _SEARCH_WORD.match(text, start)
    return found[0] if found and (_LETTER.search(found[0]) or is_glob(found[0])) else ""


def glob_at(text: str, start: int) -> str:
    """Returns the word with a star or a question mark, and other letters, that begins here, or an empty text."""
    found = _SEARCH_WORD.match(text, start)
    word = found[0] if found and is_glob(found[0]) else ""
    return word if not _STARS.fullmatch(word) and not word.startswith(("/", "-", "*/")) else ""


def is_glob(word: str) -> bool:
    return "*" in word or "?" in word
