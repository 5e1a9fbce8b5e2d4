"""Text to sqlglot's tree, by DuckDB's grammar. A source may stand without quotes behind FROM and JOIN, and wherever it
has an @: it gets them here, and places are told in the text as it was written."""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from lochan.query.ast import Span
from lochan.query.errors import QueryError

_SOURCE = r"[A-Za-z_*?][\w*?-]*(?:\.\$nokey)?"
_REF = r"@(?:\{[^}\n]*\}|[\w.~^@+-])+"
_BEHIND = r"(?:/[^\s,();]+|:(?!:)\w+(?:@\{[^}\n]*\})?)?"
# What is never closed goes on to the end, and no source begins within another: so no letter is looked at twice.
_TOKEN = re.compile(
    rf"""(?P<skip>'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?<![\w@.$*?-])(?P<ref>{_SOURCE}{_REF}{_BEHIND})
    |\b(?:from|join)\s+(?P<named>:(?!:)\w+(?:@\{{[^}}\n]*\}})?|{_SOURCE}:(?!:)\w+(?:@\{{[^}}\n]*\}})?|\w+\.\$nokey|\w+[*?]+(?=\s|$))
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Text:
    """A query as it was written, and where sqlglot's places are in it."""

    written: str
    quoted: str
    quotes: tuple[int, ...]  # places of the quotes that were put in, in `quoted`

    def error(self, message: str, start: int, stop: int, hint: str = "") -> QueryError:
        """From and to places in `quoted`."""
        return QueryError(message, self.written, Span(self._back(start), self._back(stop)), hint=hint)

    def refused(self, node: exp.Expr, message: str, hint: str = "") -> QueryError:
        return self.error(message, *_places(node), hint=hint)

    def span(self, node: exp.Expr) -> Span:
        start, stop = _places(node)
        return Span(self._back(start), self._back(stop))

    def _back(self, place: int) -> int:
        return place - sum(1 for quote in self.quotes if quote < place)


def parsed(text: str) -> tuple[Text, exp.Query]:
    """Raises QueryError."""
    known = _quoted(text)
    try:
        statements = list(sqlglot.parse(known.quoted, read="duckdb", error_level=ErrorLevel.IMMEDIATE))
    except ParseError as error:
        raise _explained(known, error) from None
    except TokenError:
        raise known.error("a quote or a comment is never closed", len(known.quoted), len(known.quoted)) from None
    except RecursionError:
        raise known.error("the query is nested too deeply", 0, 1) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise known.error("expected one query", 0, 1, hint="only SELECT can be asked here, and one at a time")
    return known, statements[0]


def _quoted(text: str) -> Text:
    """With quotes around sources that SQL does not know without."""
    parts: list[str] = []
    quotes: list[int] = []
    at = length = 0
    for found in _TOKEN.finditer(text):
        group = found.lastgroup
        if group not in ("ref", "named"):
            continue
        start, stop = found.span(group)
        parts += [text[at:start], '"', text[start:stop], '"']
        quotes += [length + start, length + stop + 1]
        length += 2
        at = stop
    return Text(text, "".join([*parts, text[at:]]), tuple(quotes))


def _places(node: exp.Expr) -> tuple[int, int]:
    """The node's own, or from the first to the last of what is in it."""
    known = [each.meta for each in node.walk() if "start" in each.meta]
    if not known:
        return 0, 1
    if "start" in node.meta:
        return node.meta["start"], node.meta["end"] + 1
    return min(each["start"] for each in known), max(each["end"] for each in known) + 1


def _explained(text: Text, error: ParseError) -> QueryError:
    known = error.errors[0] if error.errors else {}
    word = known.get("highlight") or ""
    lines = text.quoted.split("\n")
    line, column = known.get("line") or 1, known.get("col") or 1
    stop = sum(len(each) + 1 for each in lines[: line - 1]) + column
    start = max(0, stop - len(word))
    said = known.get("description") or ""
    if said.startswith("Expecting"):
        message = f"expected {said.removeprefix('Expecting').strip()}, but found `{word}`"
    elif "missing" in said:
        message = f"something is missing behind `{word}`"
    else:
        message = f"`{word}` was not expected here" if word else "this is no SQL"
    return text.error(
        message, start, stop, "SQL has no `|`; the pipe language begins with `from`" if word == "|" else ""
    )
