"""Addresses and durations as texts, in the same steps on both engines.

An address is kept in digits that order as addresses do: `4` and 8 digits, or `6` and 32. A duration is written as
1d2h3m4.5s.
"""

from __future__ import annotations

from lochan.query.dialects.words import Words

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = f"^({_OCTET}[.]){{3}}{_OCTET}\\z"
IPV6 = "^[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}\\z"
_NOT_IPV6 = "^:[^:]|[^:]:\\z|:::|::.*::"

_UNITS = {"w": 604_800e6, "d": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
_AMOUNT = "[0-9]+(?:[.][0-9]+)?"
DURATION = "^-?" + "".join(f"(?:{_AMOUNT}{unit})?" for unit in _UNITS) + "\\z"


def ip_digits(words: Words, text: str) -> str:
    """NULL for what is no address."""
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
    """The canonical form: no zeros in front, and the first of the longest rows of zeros as `::`."""
    return words.once(digits, lambda digits: _address(words, digits))


def _address(words: Words, digits: str) -> str:
    groups = (f"REGEXP_REPLACE(SUBSTRING({digits}, {at}, 4), '^0{{1,3}}', '')" for at in range(2, 34, 4))
    six = words.let("whole", "(':' || " + " || ':' || ".join(groups) + " || ':')", _compressed("whole"))
    return f"CASE WHEN {digits} LIKE '4%' THEN {words.ipv4_text(digits)} ELSE {six} END"


def _compressed(whole: str) -> str:
    arms = []
    for zeros in range(8, 1, -1):
        row = ":" + ":".join("0" * zeros) + ":"
        before = _side(whole, 1, row)
        behind = f"SUBSTRING({whole}, LENGTH({before}) + {len(row) + 1})"
        arms.append(f"WHEN CONTAINS({whole}, '{row}') THEN {_inner(before)} || '::' || {_inner(behind)}")
    return f"CASE {' '.join(arms)} ELSE {_inner(whole)} END"


def _inner(text: str) -> str:
    """Without the colons at the ends."""
    return f"TRIM(BOTH ':' FROM {text})"


def _side(text: str, at: int, mark: str = "::") -> str:
    return f"SPLIT_PART({text}, '{mark}', {at})"


def parse_duration(words: Words, text: str) -> str:
    """Microseconds of a text such as 1h30m or -1.5s; NULL if it is none."""
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
    """Without the parts that are zero."""
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
