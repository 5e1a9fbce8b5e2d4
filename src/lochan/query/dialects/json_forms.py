"""JSON texts: objects merged into one, and a text that orders as arrays and records do, in the same steps on both
engines.

For the order, each token of the JSON becomes a piece, and the pieces stand one behind the other: so arrays are compared
element by element, and records field by field, its name before its value. What begins another comes before it.

    0           the end of an array or a record: before everything that another may have there
    1  2        false, true
    3 key       a number (`decimals.py`), and a blank
    4 text      a string or a name by its characters, and a NUL
    5  6        the beginning of an array, of a record
    7           null

Kinds come as `pools/kind_order.py` has them. A NUL within a string is written as two ones, and a one as one and two, so
that nothing comes before a string's end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.query.dialects.words import Words

# Strings without a repetition of a choice: Java would go one deeper for each of their letters.
_TOKEN = r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null|[\[\]{}]'
_PIECES = {"]": "0", "}": "0", "f": "1", "t": "2", "[": "5", "{": "6", "n": "7"}


def json_order(words: Words, json: str, number_key: Callable[[str], str]) -> str:
    arms = " ".join(f"WHEN '{begins}' THEN '{piece}'" for begins, piece in _PIECES.items())
    string = f"'4' || {_characters(words, 'w')} || CHR(0)"
    number = f"'3' || {number_key('w')} || ' '"
    piece = f"CASE SUBSTRING(w, 1, 1) {arms} WHEN '\"' THEN {string} ELSE {number} END"
    return words.joined(words.each(words.found(json, words.quoted(_TOKEN)), "w", piece), "''")


def _characters(words: Words, token: str) -> str:
    """Control characters are only in texts with an escape."""
    plain = words.json_string([token], ())
    escaped = f"REPLACE(REPLACE({plain}, CHR(1), CHR(1) || CHR(2)), CHR(0), CHR(1) || CHR(1))"
    has_escape = f"CONTAINS({token}, {words.quoted(chr(92))})"
    return f"CASE WHEN {has_escape} THEN {escaped} ELSE SUBSTRING({token}, 2, LENGTH({token}) - 2) END"


def merged_parts(arguments: Sequence[str], options: tuple[Any, ...]) -> tuple[Sequence[str], dict[str, str]]:
    """Of `json_merged`: the texts, and the names that go where a test holds."""
    if options[:1] != ("gone",):
        return arguments, {}
    count = len(arguments) - len(options) + 1
    return arguments[:count], dict(zip(options[1:], arguments[count:], strict=True))


def json_merged(words: Words, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """The last value of a name wins, in the place of the first."""
    texts, gone = merged_parts(arguments, options)
    objects = words.kept(words.list_of(texts), "o", "o IS NOT NULL")
    fields = f"FLATTEN({words.each(objects, 'o', words.json_fields('o'))})"
    if gone:
        stays = " AND ".join(f"NOT (x.k = {words.quoted(name)} AND ({test}))" for name, test in gone.items())
        fields = words.kept(fields, "x", stays)
    elif options:
        fields = _renamed_field(words, fields, *options[1:])
    value = words.last(words.kept("f", "y", "y.k = n"))
    names = words.firsts(words.each("f", "x", "x.k"))
    inside = words.joined(words.each(names, "n", f"{words.json_text('n')} || ':' || {value}.v"), "','")
    return words.let("f", fields, f"'{{' || {inside} || '}}'")


def _renamed_field(words: Words, fields: str, name: str, new: str) -> str:
    """A field that had the new name gives way."""
    is_old = f"x.k = {words.quoted(name)}"
    others = words.kept("e", "x", f"{is_old} OR x.k <> {words.quoted(new)}")
    renamed = f"CASE WHEN {is_old} THEN {words.quoted(new)} ELSE x.k END"
    changed = words.each(others, "x", words.members({"k": renamed, "v": "x.v"}))
    return words.let("e", fields, f"CASE WHEN {words.some('e', 'x', is_old)} THEN {changed} ELSE e END")
