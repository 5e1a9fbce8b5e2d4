"""A query that is wrong, and the place in its text."""

from __future__ import annotations

from collections.abc import Iterable

from lochan.errors import QueryError as QueryError


class UnknownField(QueryError):
    """No row has such a field; perhaps one will have it tomorrow."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean …?`, to follow `unknown …`; empty if no name is near."""
    import difflib

    by_folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean `{by_folded[near[0]]}`?" if near else ""
