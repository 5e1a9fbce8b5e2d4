"""A query that is wrong, and the place in its text."""

from __future__ import annotations

from collections.abc import Iterable

from lochan.errors import Invalid
from lochan.query.ast import Span

_WIDTH = 100  # of the line that is shown; a longer one is cut around the place


class QueryError(Invalid):
    """`line` and `column` count from 1, `length` in characters; the place may be one behind the last character."""

    def __init__(self, message: str, text: str, span: Span, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        start = max(0, min(span.start, len(text)))
        self.text = text
        self.start = start
        self.line = text.count("\n", 0, start) + 1
        self.column = start - (text.rfind("\n", 0, start) + 1) + 1
        self.length = max(1, min(span.stop, len(text)) - start)

    @property
    def place(self) -> str:
        """The line and carets under the place, ready to print."""
        line = self.text.split("\n")[self.line - 1]
        at, length = self.column - 1, max(1, min(self.length, len(line) - self.column + 1))
        cut = max(0, min(at - _WIDTH // 2, len(line) - _WIDTH))
        shown = "".join(each if each.isprintable() else " " for each in line[cut : cut + _WIDTH])
        shown, at = ("…" + shown[1:], at - cut) if cut else (shown, at)
        return f"{shown}\n{' ' * at}{'^' * min(length, _WIDTH - at + 1)}"

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}"
        return f"{self.message} ({where})\n{self.place}" + (f"\n{self.hint}" if self.hint else "")


class UnknownField(QueryError):
    """No row has such a field; perhaps one will have it tomorrow."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean …?`, to follow `unknown …`; empty if no name is near."""
    import difflib

    by_folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean `{by_folded[near[0]]}`?" if near else ""
