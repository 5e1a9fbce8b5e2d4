"""Parses text to sqlglot's tree, by DuckDB's grammar. A source may be written without quotes after FROM and JOIN, and
wherever it has an @: it gets the quotes here, and errors show places in the text as it was written. A name with dashes
is a difference in SQL's grammar where one is possible, as in EXTRACT(… FROM a-b); elsewhere it is a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from lochan.query.ast import Span
from lochan.query.errors import QueryError

_SOURCE = r"[A-Za-z_*?][\w*?-]*(?:\.\$nokey)?"
_REF = r"@(?:\{[^}\n]*\}|[\w.~^@+-])+"
_BEHIND = r"(?:/[^\s,();]+|:(?!:)\w+(?:@\{[^}\n]*\})?)?"
# A quote or comment that is never closed extends to the end, and no source begins within another, so no letter is read
# twice.
_TOKEN = re.compile(
    rf"""(?P<skip>'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?<![\w@.$*?-])(?P<ref>{_SOURCE}{_REF}{_BEHIND})
    |\b(?:from|join)\s+(?P<named>:(?!:)\w+(?:@\{{[^}}\n]*\}})?|{_SOURCE}:(?!:)\w+(?:@\{{[^}}\n]*\}})?|\w[\w-]*\.\$nokey|\w[\w-]*[*?]+(?=[\s;)]|$))
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_DASHED = re.compile(r"(?<![\w-])\w+(?:-\w+)+")
_BEFORE_A_TABLE = re.compile(r"(?:\b(?:from|join)|,)\Z", re.IGNORECASE)
_DASHED_MAX = 50  # each is found by parsing the query once more


@dataclass(frozen=True)
class Text:
    """A query as it was written, with the original positions of sqlglot's places."""

    written: str
    quoted: str
    quotes: tuple[int, ...]  # places of the quotes that were added, in `quoted`

    def error(self, message: str, start: int, stop: int, hint: str = "") -> QueryError:
        """Returns an error between two places in `quoted`."""
        return QueryError(message, self.written, Span(*self.written_places(start, stop)), hint=hint)

    def refused(self, node: exp.Expr, message: str, hint: str = "") -> QueryError:
        return self.error(message, *_places(node), hint=hint)

    def span(self, node: exp.Expr) -> Span:
        return Span(*self.written_places(*_places(node)))

    def written_places(self, start: int, stop: int) -> tuple[int, int]:
        return self._back(start), self._back(stop)

    def _back(self, place: int) -> int:
        return place - sum(1 for quote in self.quotes if quote < place)


def parse_query(text: str) -> tuple[Text, exp.Query]:
    """Parses one query. Raises QueryError."""
    source, statements = _read(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise source.error("expected one query", 0, 1, hint="only SELECT is supported, one query at a time")
    return source, statements[0]


def _read(text: str) -> tuple[Text, list[exp.Expr | None]]:
    """Parses the text. Names with dashes get their quotes one by one, at each place where the grammar fails."""
    names: list[tuple[int, int]] = []
    for _ in range(_DASHED_MAX):
        parsed = _quote_names(text, names)
        try:
            return parsed, list(sqlglot.parse(parsed.quoted, read="duckdb", error_level=ErrorLevel.IMMEDIATE))
        except ParseError as error:
            dashed = _dashed_table(parsed, error)
            if dashed is None or dashed in names:
                raise _explain(parsed, error) from None
            names.append(dashed)
        except TokenError:
            raise parsed.error("a quote or a comment is never closed", len(parsed.quoted), len(parsed.quoted)) from None
        except RecursionError:
            raise parsed.error("the query is nested too deeply", 0, 1) from None
    raise parsed.error(f"more than {_DASHED_MAX} names with dashes are not quoted", 0, 1, 'such as "web-logs"')


def _dashed_table(text: Text, error: ParseError) -> tuple[int, int] | None:
    """Returns the place of a table's name with dashes in the original text, if that is the mistake."""
    start, stop = text.written_places(*_error_span(text, error))
    for found in _DASHED.finditer(text.written):
        if found.start() <= start and stop <= found.end():
            before = text.written[: found.start()].rstrip()
            return found.span() if _BEFORE_A_TABLE.search(before[-5:]) else None
    return None


def _quote_names(text: str, names: Sequence[tuple[int, int]] = ()) -> Text:
    """Puts quotes around sources that SQL cannot read without them, and around these names."""
    sources = [found.span(found.lastgroup) for found in _TOKEN.finditer(text) if found.lastgroup in ("ref", "named")]
    parts: list[str] = []
    quotes: list[int] = []
    at = length = 0
    for start, stop in sorted([*sources, *names]):
        parts += [text[at:start], '"', text[start:stop], '"']
        quotes += [length + start, length + stop + 1]
        length += 2
        at = stop
    return Text(text, "".join([*parts, text[at:]]), tuple(quotes))


def _places(node: exp.Expr) -> tuple[int, int]:
    """Returns the node's own places, or those from the first to the last node inside it."""
    spots = [each.meta for each in node.walk() if "start" in each.meta]
    if not spots:
        return 0, 1
    if "start" in node.meta:
        return node.meta["start"], node.meta["end"] + 1
    return min(each["start"] for each in spots), max(each["end"] for each in spots) + 1


def _error_span(text: Text, error: ParseError) -> tuple[int, int]:
    """Returns the places of the word at the error, in `quoted`."""
    details = error.errors[0] if error.errors else {}
    lines = text.quoted.split("\n")
    line, column = details.get("line") or 1, details.get("col") or 1
    stop = sum(len(each) + 1 for each in lines[: line - 1]) + column
    return max(0, stop - len(details.get("highlight") or "")), stop


def _explain(text: Text, error: ParseError) -> QueryError:
    details = error.errors[0] if error.errors else {}
    word = details.get("highlight") or ""
    start, stop = _error_span(text, error)
    description = details.get("description") or ""
    if description.startswith("Expecting"):
        message = f"expected {description.removeprefix('Expecting').strip()}, but found `{word}`"
    elif "missing" in description:
        message = f"something is missing after `{word}`"
    else:
        message = f"`{word}` was not expected here" if word else "this is no SQL"
    return text.error(
        message, start, stop, "SQL has no `|`; the pipe language begins with `from`" if word == "|" else ""
    )


# ── the parts that a node may have ───────────────────────────────────────────────────────────────────────────────────


# sqlglot expresses much by a node's arguments, such as NOT LIKE and BETWEEN SYMMETRIC. One that is not listed here is
# refused: ignoring it would return other rows.
_ALWAYS = {"this", "expression", "expressions"}
_SET = {"with_", "distinct", "by_name", "order", "limit", "offset"}
_MORE: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset"}
    | {"distinct", "with_"},
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
    exp.With: {"recursive"},
    exp.CTE: {"alias"},
    exp.Table: {"alias", "db", "catalog"},
    exp.TableAlias: {"columns"},
    exp.Subquery: {"alias", "with_"},
    exp.Join: {"on", "using", "side", "kind", "method"},
    exp.Column: {"table", "db", "catalog"},
    exp.Identifier: {"quoted"},
    exp.Alias: {"alias"},
    exp.Star: {"except_", "replace", "rename"},
    exp.Literal: {"is_string"},
    exp.Cast: {"to"},
    exp.TryCast: {"to", "safe", "requires_string"},
    exp.Case: {"ifs", "default"},
    exp.If: {"true", "false"},
    exp.Between: {"low", "high"},
    exp.In: {"query"},
    exp.Like: {"negate"},
    exp.ILike: {"negate"},
    exp.Div: {"typed", "safe"},
    exp.DPipe: {"safe"},
    exp.Bracket: {"offset", "safe", "returns_list_for_maps"},
    exp.Group: {"all"},
    exp.Ordered: {"desc", "nulls_first"},
    exp.Distinct: {"on"},
    exp.Window: {"partition_by", "order", "spec", "over", "alias", "first"},
    exp.WindowSpec: {"kind", "start", "start_side", "end", "end_side", "exclude"},
    exp.Lag: {"offset", "default"},
    exp.Lead: {"offset", "default"},
    exp.Count: {"big_int"},
    exp.GroupConcat: {"separator"},
    exp.ArrayAgg: {"nulls_excluded"},
    exp.Greatest: {"ignore_nulls"},
    exp.Least: {"ignore_nulls"},
    exp.Coalesce: {"is_nvl"},
    exp.Interval: {"unit"},
    exp.TimestampTrunc: {"unit"},
    exp.DateTrunc: {"unit", "unabbreviate"},
    exp.DateBin: {"unit"},
    exp.TimeToStr: {"format"},
    exp.StrToTime: {"format"},
    exp.Round: {"decimals"},
    exp.Substring: {"start", "length"},
    exp.Trim: {"position"},
    exp.Replace: {"replacement"},
    exp.RegexpReplace: {"replacement", "modifiers", "single_replace"},
    exp.RegexpLike: {"flag"},
    exp.Array: {"bracket_notation"},
    exp.Concat: {"safe", "coalesce"},
}


def check_parts(text: Text, tree: exp.Query) -> None:
    """Raises QueryError for a part of the query that is not supported."""
    for node in tree.walk(prune=lambda node: isinstance(node, exp.DataType)):
        if isinstance(node, exp.DataType):
            continue
        allowed = _ALWAYS | _MORE.get(type(node), set())
        extra = [key for key, value in node.args.items() if value and key not in allowed]
        if extra:
            word = extra[0].rstrip("_").replace("_", " ").upper()
            raise text.refused(node, f"{word} is not supported here", "the page on SQL lists what is supported")
        lacking = [key for key, needed in node.arg_types.items() if needed and node.args.get(key) in (None, [])]
        if lacking and isinstance(node, exp.Func):
            raise text.refused(node, f"`{node.sql_name().lower()}` needs an argument")
