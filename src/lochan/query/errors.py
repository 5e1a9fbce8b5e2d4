"""Errors of a query, with the place in its text."""

from __future__ import annotations

from collections.abc import Iterable

from lochan.errors import QueryError as QueryError


class UnknownField(QueryError):
    """No row has such a field, though a later row may have it."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Returns `; did you mean …?`, to follow `unknown …`, or an empty text if no name is similar."""
    import difflib

    by_folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean `{by_folded[near[0]]}`?" if near else ""
