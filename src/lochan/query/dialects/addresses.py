"""Addresses as texts, and in digits that order as addresses do: from the pieces in which engines differ."""

from __future__ import annotations

from collections.abc import Callable

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
