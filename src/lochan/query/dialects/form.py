"""How a neutral part is written: its arguments' texts and its options become a text that needs no parentheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Form = Callable[[Sequence[str], tuple[Any, ...]], str]
Forms = dict[str, Form]

CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def plain(template: str) -> Form:
    """`{0}`, `{1}` … are the arguments, `{o0}`, `{o1}` … the options as they are."""

    def form(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        return template.format(*arguments, **{f"o{at}": each for at, each in enumerate(options)})

    return form


def named(name: str) -> Form:
    """A function of all arguments."""
    return lambda arguments, options: f"{name}({', '.join(arguments)})"


def by_option(forms: dict[Any, Form]) -> Form:
    """The first option chooses."""
    return lambda arguments, options: forms[options[0]](arguments, options)


def folded(word: str) -> str:
    """ASCII letters small, all others as they are."""
    return word.translate(str.maketrans(CAPITALS, SMALL))


def folds_alike(word: str) -> bool:
    """Whether an engine that folds all of Unicode finds nothing else by this word: two letters beyond ASCII fold to k
    and i."""
    return word.isascii() and not set(folded(word)) & set("ki")


def like_pattern(word: str) -> str:
    return "%" + "".join(f"\\{letter}" if letter in "%_\\" else letter for letter in word) + "%"


def rounded(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Halves away from zero, in the same steps everywhere: the engines' own ways differ in the last digit."""
    value, scale = arguments[0], f"1e{options[0]}"
    moved = f"(ABS({value}) * {scale} + 5e-1)"
    whole = f"(({moved} - {moved} % 1e0) / {scale})"
    return f"CASE WHEN ABS({value}) >= 1e15 THEN {value} WHEN {value} < 0 THEN -{whole} + 0e0 ELSE {whole} END"


_UNITS = {"w": 604_800e6, "d": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
_AMOUNT = "[0-9]+(?:[.][0-9]+)?"
_DURATION = "^-?" + "".join(f"(?:{_AMOUNT}{unit})?" for unit in _UNITS) + "\\z"


def parsed_duration(text: str, quoted: Callable[[str], str], matches: Callable[[str], str]) -> str:
    """Microseconds of a text such as 1h30m or -1.5s; NULL if it is none. `matches` tests the text by a pattern."""
    parts = []
    for unit, micros in _UNITS.items():
        behind = "(?:[^s]|\\z)" if unit == "m" else ""
        amount = f"REGEXP_EXTRACT({text}, {quoted(f'({_AMOUNT}){unit}{behind}')}, 1)"
        parts.append(f"COALESCE(TRY_CAST(NULLIF({amount}, '') AS DOUBLE), 0e0) * {micros!r}e0")
    sign = f"CASE WHEN {text} LIKE '-%' THEN -1e0 ELSE 1e0 END"
    whole = f"TRY_CAST(ROUND({sign} * ({' + '.join(parts)})) AS BIGINT)"
    return f"CASE WHEN {matches(_DURATION)} AND {matches('[0-9]')} THEN {whole} END"


def written_duration(micros: str, divided: Callable[[str, int], str], text: str, trimmed: Callable[[str], str]) -> str:
    """1d2h3m4.5s, without the parts that are zero. `divided` cuts towards zero, `trimmed` takes zeros from the end."""
    size = f"ABS({micros})"
    parts = [f"CASE WHEN {micros} < 0 THEN '-' ELSE '' END"]
    for unit, length, among in (("d", 86_400_000_000, 0), ("h", 3_600_000_000, 24), ("m", 60_000_000, 60)):
        count = divided(size, length) + (f" % {among}" if among else "")
        parts.append(f"CASE WHEN {count} > 0 THEN CAST({count} AS {text}) || '{unit}' ELSE '' END")
    rest = f"({size} % 60000000)"
    digits = trimmed(f"LPAD(CAST({rest} % 1000000 AS {text}), 6, '0')")
    seconds = (
        f"CAST({divided(rest, 1_000_000)} AS {text}) || CASE WHEN {rest} % 1000000 = 0 THEN '' ELSE '.' || {digits} END"
    )
    parts.append(f"CASE WHEN {rest} > 0 OR {micros} = 0 THEN {seconds} || 's' ELSE '' END")
    return f"({' || '.join(parts)})"


_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = f"^({_OCTET}[.]){{3}}{_OCTET}\\z"
IPV6 = "^[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}\\z"
NOT_IPV6 = "^:[^:]|[^:]:\\z|:::|::.*::"


Body = Callable[[str], str]
Let = Callable[[str, Body], str]  # a text that stands in another many times, written once


def ipv6_digits(text: str, groups: Body, matches: Body) -> str:
    """`6` and 32 digits; NULL for what is no address. `groups` writes the parts between colons, four digits each."""
    left, right = (f"COALESCE({groups(_side(text, at))}, '')" for at in (1, 2))
    length = f"(LENGTH({left}) + LENGTH({right}))"
    zeros = f"REPEAT('0', CAST(32 - {length} AS INT))"
    fits = f"CASE WHEN {text} LIKE '%::%' THEN {length} <= 28 ELSE {length} = 32 END"
    test = f"{matches(IPV6)} AND NOT {matches(NOT_IPV6)} AND {fits}"
    return f"CASE WHEN {test} THEN LOWER('6' || {left} || {zeros} || {right}) END"


def ipv6_text(digits: str, shortened: Body, let: Let) -> str:
    """The canonical form: no zeros in front, and the first of the longest rows of zeros as `::`."""
    groups = (shortened(f"SUBSTRING({digits}, {at}, 4)") for at in range(2, 34, 4))
    return let("(':' || " + " || ':' || ".join(groups) + " || ':')", _compressed)


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
