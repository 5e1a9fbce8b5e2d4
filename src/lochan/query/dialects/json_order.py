"""A text that orders as arrays and records do, made of their JSON by the same steps on both engines.

Each token of the JSON becomes a piece, and the pieces stand one behind the other: so arrays are compared element by
element, and records field by field, its name before its value. What begins another comes before it.

    0           the end of an array or a record: before everything that another may have there
    1  2        false, true
    3 key       a number (`decimals.py`), and a blank
    4 text      a string or a name by its characters, and a NUL
    5  6        the beginning of an array, of a record
    7           null

A NUL within a string is written as two ones, and a one as one and two, so that nothing comes before a string's end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lochan.query.dialects.form import Form

# Strings without a repetition of a choice: Java would go one deeper for each of their letters.
_TOKEN = r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null|[\[\]{}]'
_PIECES = {"]": "0", "}": "0", "f": "1", "t": "2", "[": "5", "{": "6", "n": "7"}


class Words(NamedTuple):
    """What the engines call differently."""

    quoted: Callable[[str], str]
    found: Callable[[str, str], str]  # a text and a pattern: a list of all that it matches
    each: Callable[[str, str, str], str]  # a list, a name for its elements, what is made of each
    joined: Callable[[str], str]  # a list of texts as one
    json_string: Form
    number_key: Form


def form(words: Words) -> Form:
    return lambda arguments, options: _order(words, arguments[0])


def _order(words: Words, json: str) -> str:
    arms = " ".join(f"WHEN '{begins}' THEN '{piece}'" for begins, piece in _PIECES.items())
    string = f"'4' || {_characters(words, 'w')} || CHR(0)"
    number = f"'3' || {words.number_key(['w'], ())} || ' '"
    piece = f"CASE SUBSTRING(w, 1, 1) {arms} WHEN '\"' THEN {string} ELSE {number} END"
    return words.joined(words.each(words.found(json, words.quoted(_TOKEN)), "w", piece))


def _characters(words: Words, token: str) -> str:
    """Control characters are only in texts with an escape."""
    plain = words.json_string([token], ())
    escaped = f"REPLACE(REPLACE({plain}, CHR(1), CHR(1) || CHR(2)), CHR(0), CHR(1) || CHR(1))"
    has_escape = f"CONTAINS({token}, {words.quoted(chr(92))})"
    return f"CASE WHEN {has_escape} THEN {escaped} ELSE SUBSTRING({token}, 2, LENGTH({token}) - 2) END"
