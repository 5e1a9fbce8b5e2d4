"""Finds misspelt operators, which are errors and not searches: `srot ts` would find the rows that hold both words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lochan.query.errors import QueryError
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.tokens import END, SYMBOL, WORD, after_blanks, token_at

_ALONE = ("sort", "fuse", "uniq", "sample", "pass")  # these operators are complete without anything after them
_NUMBERED = ("head", "tail", "top", "sample")
_ELSEWHERE = {  # names in other languages
    "filter": "where",
    "limit": "head",
    "take": "head",
    "project": "cut",
    "fields": "cut",
    "extend": "put",
    "eval": "put",
    "order": "sort",
    "orderby": "sort",
    "group": "summarize … by",
    "groupby": "summarize … by",
    "stats": "summarize",
    "distinct": "by",
    "dedup": "uniq",
    "explode": "over",
    "flatten": "over",
}
# Operators of the Zed lake that do not exist here: a search for such a word would find nothing.
_NOT_HERE = {
    "combine": "the branches of a fork come together by themselves",
    "merge": "the branches of a fork come together by themselves; to order them: sort ts",
    "shape": "cast single fields: put x:=int64(x)",
    "crop": "name the fields to keep: cut a, b",
    "fill": "give every row the same fields: fuse",
    "assert": "look at the rows that break it: where not (…)",
    "debug": "look at the rows with head",
    "get": "name a source: from …",
    "file": "name a source: from repository@branch/path",
    "tee": "use fork (=> … => …)",
    "output": "rows are printed at the end of the query",
}


def refuse_misspelt(cursor: Cursor, operators: Iterable[str]) -> None:
    """Raises QueryError if a search begins with a word that looks like an operator."""
    if not cursor.is_name() or cursor.peek().kind != WORD:
        return
    token = cursor.peek()
    word = token.text
    fits = _what_follows(cursor, token.stop)
    if word in _NOT_HERE and fits("sort"):
        raise cursor.error(f"there is no operator `{word}` here: {_NOT_HERE[word]}", token.span, hint=_search_for(word))
    near = [_ELSEWHERE[word]] if word in _ELSEWHERE and fits(_ELSEWHERE[word]) else []
    near += [name for name in operators if _near(word, name) and fits(name)]
    if near:
        raise cursor.error(f"unknown operator `{word}`; did you mean `{near[0]}`?", token.span, hint=_search_for(word))


def _search_for(word: str) -> str:
    return f"to look for the word: search {word}"


def _what_follows(cursor: Cursor, stop: int) -> Callable[[str], bool]:
    """Returns a test of whether the text after the word could belong to an operator of a given name."""
    text = cursor.text
    if stop < len(text) and not text[stop].isspace() and text[stop] not in "|)":
        return lambda name: False  # a call, or a longer word
    try:
        token = token_at(text, after_blanks(text, stop))
    except QueryError:
        return lambda name: name not in _NUMBERED
    if token.kind == END or token.text in ("|", ")", "=>"):
        return lambda name: name in _ALONE
    if token.literal is not None and token.literal.kind == "int":
        return lambda name: True
    joined = token.text in ("and", "or", "in", "like", "between")
    if joined or (token.kind == SYMBOL and token.text not in ("-", "(", "{", "[")):
        return lambda name: False
    return lambda name: name not in _NUMBERED


def _near(word: str, name: str) -> bool:
    """Returns whether the word has one letter more, less or different, two letters swapped, or other capitals. Short
    words are similar to too many others, so they are excluded."""
    if word.lower() == name:
        return True
    if len(name) < 4 or word[0] != name[0] or abs(len(word) - len(name)) > 1:
        return False
    if len(word) == len(name):
        differ = [at for at in range(len(word)) if word[at] != name[at]]
        return len(differ) == 1 or (len(differ) == 2 and sorted(word) == sorted(name) and differ[1] == differ[0] + 1)
    longer, shorter = (word, name) if len(word) > len(name) else (name, word)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
