"""Addresses, durations and JSON as texts, by the same steps on both engines.

An address is kept in digits that have the same order as addresses: `4` and 8 digits, or `6` and 32. A duration is
written as 1d2h3m4.5s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.query.dialects.neutral import Words

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = f"^({_OCTET}[.]){{3}}{_OCTET}\\z"
IPV6 = "^[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}\\z"
_NOT_IPV6 = "^:[^:]|[^:]:\\z|:::|::.*::"

_UNITS = {"w": 604_800e6, "d": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
_AMOUNT = "[0-9]+(?:[.][0-9]+)?"
DURATION = "^-?" + "".join(f"(?:{_AMOUNT}{unit})?" for unit in _UNITS) + "\\z"


def ip_digits(words: Words, text: str) -> str:
    """Returns the digits, or NULL if the text is not an address."""
    return words.once(text, lambda text: _digits(words, text))


def _digits(words: Words, text: str) -> str:
    four = f"CASE WHEN {words.matches(text, IPV4)} THEN {words.ipv4_digits(text)} END"
    return f"COALESCE({four}, {_ipv6_digits(words, text)})"


def _ipv6_digits(words: Words, text: str) -> str:
    left, right = (f"COALESCE({_groups_of_four(words, _side(text, at))}, '')" for at in (1, 2))
    length = f"(LENGTH({left}) + LENGTH({right}))"
    zeros = f"REPEAT('0', CAST(32 - {length} AS INT))"
    fits = f"CASE WHEN {text} LIKE '%::%' THEN {length} <= 28 ELSE {length} = 32 END"
    test = f"{words.matches(text, IPV6)} AND NOT {words.matches(text, _NOT_IPV6)} AND {fits}"
    return f"CASE WHEN {test} THEN LOWER('6' || {left} || {zeros} || {right}) END"


def _groups_of_four(words: Words, text: str) -> str:
    return words.joined(words.each(words.split(f"NULLIF({text}, '')", "':'"), "g", "LPAD(g, 4, '0')"), "''")


def ip_text(words: Words, digits: str) -> str:
    """Returns the canonical form: without leading zeros, and with `::` for the first of the longest runs of zeros."""
    return words.once(digits, lambda digits: _address(words, digits))


def _address(words: Words, digits: str) -> str:
    groups = (f"REGEXP_REPLACE(SUBSTRING({digits}, {at}, 4), '^0{{1,3}}', '')" for at in range(2, 34, 4))
    six = words.let("whole", "(':' || " + " || ':' || ".join(groups) + " || ':')", _compress_zeros("whole"))
    return f"CASE WHEN {digits} LIKE '4%' THEN {words.ipv4_text(digits)} ELSE {six} END"


def _compress_zeros(whole: str) -> str:
    arms = []
    for zeros in range(8, 1, -1):
        row = ":" + ":".join("0" * zeros) + ":"
        before = _side(whole, 1, row)
        behind = f"SUBSTRING({whole}, LENGTH({before}) + {len(row) + 1})"
        arms.append(f"WHEN CONTAINS({whole}, '{row}') THEN {_inner(before)} || '::' || {_inner(behind)}")
    return f"CASE {' '.join(arms)} ELSE {_inner(whole)} END"


def _inner(text: str) -> str:
    """Removes the colons at the ends."""
    return f"TRIM(BOTH ':' FROM {text})"


def _side(text: str, at: int, mark: str = "::") -> str:
    return f"SPLIT_PART({text}, '{mark}', {at})"


def parse_duration(words: Words, text: str) -> str:
    """Returns the microseconds of a text such as 1h30m or -1.5s, or NULL if it is not a duration."""
    return words.once(text, lambda text: _micros(words, text))


def _micros(words: Words, text: str) -> str:
    parts = []
    for unit, micros in _UNITS.items():
        behind = "(?:[^s]|\\z)" if unit == "m" else ""
        amount = f"REGEXP_EXTRACT({text}, {words.quoted(f'({_AMOUNT}){unit}{behind}')}, 1)"
        parts.append(f"COALESCE(TRY_CAST(NULLIF({amount}, '') AS DOUBLE), 0e0) * {micros!r}e0")
    sign = f"CASE WHEN {text} LIKE '-%' THEN -1e0 ELSE 1e0 END"
    whole = f"TRY_CAST(ROUND({sign} * ({' + '.join(parts)})) AS BIGINT)"
    return f"CASE WHEN {words.matches(text, DURATION)} AND {words.matches(text, '[0-9]')} THEN {whole} END"


def duration_text(words: Words, micros: str) -> str:
    """Returns the text of a duration, without the parts that are zero."""
    size, text = f"ABS({micros})", words.text
    parts = [f"CASE WHEN {micros} < 0 THEN '-' ELSE '' END"]
    for unit, length, among in (("d", 86_400_000_000, 0), ("h", 3_600_000_000, 24), ("m", 60_000_000, 60)):
        count = words.divided(size, length) + (f" % {among}" if among else "")
        parts.append(f"CASE WHEN {count} > 0 THEN CAST({count} AS {text}) || '{unit}' ELSE '' END")
    rest = f"({size} % 60000000)"
    digits = words.right_trim(f"LPAD(CAST({rest} % 1000000 AS {text}), 6, '0')", "0")
    fraction = f"CASE WHEN {rest} % 1000000 = 0 THEN '' ELSE '.' || {digits} END"
    seconds = f"CAST({words.divided(rest, 1_000_000)} AS {text}) || {fraction}"
    parts.append(f"CASE WHEN {rest} > 0 OR {micros} = 0 THEN {seconds} || 's' ELSE '' END")
    return f"({' || '.join(parts)})"


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


# Strings are matched without a repetition of a choice, because Java would recurse for each of their letters.
_TOKEN = r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null|[\[\]{}]'
_PIECES = {"]": "0", "}": "0", "f": "1", "t": "2", "[": "5", "{": "6", "n": "7"}


def json_order(words: Words, json: str, number_key: Callable[[str], str]) -> str:
    """Returns a text with the order of arrays and records.

    Each token of the JSON becomes a piece, and the pieces stand one behind the other: so arrays are compared element by
    element, and records field by field, its name before its value. What begins another comes before it.

        0           the end of an array or a record: before everything that another may have there
        1  2        false, true
        3 key       a number (`decimals.py`), and a blank
        4 text      a string or a name by its characters, and a NUL
        5  6        the beginning of an array, of a record
        7           null

    Kinds come as `pools/kinds.py` has them. A NUL within a string is written as two ones, and a one as one and
    two, so that nothing sorts before a string's end.
    """
    arms = " ".join(f"WHEN '{begins}' THEN '{piece}'" for begins, piece in _PIECES.items())
    string = f"'4' || {_characters(words, 'w')} || CHR(0)"
    number = f"'3' || {number_key('w')} || ' '"
    piece = f"CASE SUBSTRING(w, 1, 1) {arms} WHEN '\"' THEN {string} ELSE {number} END"
    return words.joined(words.each(words.found(json, words.quoted(_TOKEN)), "w", piece), "''")


def _characters(words: Words, token: str) -> str:
    """Escapes control characters. Only texts with an escape can have them."""
    plain = words.json_string([token], ())
    escaped = f"REPLACE(REPLACE({plain}, CHR(1), CHR(1) || CHR(2)), CHR(0), CHR(1) || CHR(1))"
    has_escape = f"CONTAINS({token}, {words.quoted(chr(92))})"
    return f"CASE WHEN {has_escape} THEN {escaped} ELSE SUBSTRING({token}, 2, LENGTH({token}) - 2) END"


def merged_parts(arguments: Sequence[str], options: tuple[Any, ...]) -> tuple[Sequence[str], dict[str, str]]:
    """Splits the arguments of `json_merged` into the texts and the names that are removed where a test holds."""
    if options[:1] != ("gone",):
        return arguments, {}
    count = len(arguments) - len(options) + 1
    return arguments[:count], dict(zip(options[1:], arguments[count:], strict=True))


def json_merged(words: Words, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Merges objects. The last value of a name wins, at the place of the first."""
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
    """Renames a field. It replaces a field that had the new name."""
    is_old = f"x.k = {words.quoted(name)}"
    others = words.kept("e", "x", f"{is_old} OR x.k <> {words.quoted(new)}")
    renamed = f"CASE WHEN {is_old} THEN {words.quoted(new)} ELSE x.k END"
    changed = words.each(others, "x", words.members({"k": renamed, "v": "x.v"}))
    return words.let("e", fields, f"CASE WHEN {words.some('e', 'x', is_old)} THEN {changed} ELSE e END")
