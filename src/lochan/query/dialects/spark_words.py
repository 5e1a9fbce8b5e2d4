"""Names of types, texts and patterns, as Spark writes them."""

from __future__ import annotations

from functools import lru_cache

from lochan.errors import Refused
from lochan.pools.kinds import BOOL, DECIMAL, FLOAT, INT, JSON, NULL, STRING, TIME
from lochan.pools.layout import DIGITS_MAX, scale_of
from lochan.pools.shape import Array, Object, Type, kind_of
from lochan.query.dialects.backtracking import EXPONENTIAL, TooLarge, growth

_GROWTH_MAX = 2  # the power by which the ways to match a text grow: for `.*a.*b.*` it is two
TYPES = {
    INT: "BIGINT",
    FLOAT: "DOUBLE",
    STRING: "STRING",
    TIME: "TIMESTAMP",
    BOOL: "BOOLEAN",
    JSON: "STRING",
    NULL: "BOOLEAN",
    "decimal": "STRING",
    "duration": "BIGINT",
    "ip": "STRING",
}

# Java's \b includes letters beyond ASCII; RE2's does not.
_WORD_END = r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))"
_WORD_INSIDE = r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))"


def name_sql(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quote_text(value: str) -> str:
    """Quotes a text. Spark replaces `${env:…}` by the server's environment and settings anywhere in a text that it
    parses; in this notation it sees a dollar only after that."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"


def pattern(regexp: str) -> str:
    """Quotes a regular expression. Raises Refused for one that Java may take forever to match, because nothing can stop
    it."""
    _check_growth(regexp)
    out, at = "", 0
    while at < len(regexp):
        step = 2 if regexp[at] == "\\" else 1
        piece = regexp[at : at + step]
        out += {"\\b": _WORD_END, "\\B": _WORD_INSIDE}.get(piece, piece)
        at += step
    return quote_text(out)


@lru_cache(1_000)
def _check_growth(regexp: str) -> None:
    try:
        ways = growth(regexp.replace("\\z", "\\Z"))
    except TooLarge:
        ways = EXPONENTIAL
    if ways > _GROWTH_MAX:
        raise Refused(
            f"Spark cannot match {_shorten(regexp)}: it may take very long, and cannot be stopped meanwhile",
            hint="run it on duckdb, or write the pattern without repetitions inside repetitions",
        )


def _shorten(text: str) -> str:
    return f"/{text}/" if len(text) <= 60 else f"/{text[:60]}…/"


def matches(text: str, regexp: str) -> str:
    return f"REGEXP_LIKE({text}, {pattern(regexp)})"


def let(name: str, value: str, body: str) -> str:
    return f"TRANSFORM(ARRAY({value}), {name} -> {body})[0]"


def type_text(type: Type | None) -> str:
    if isinstance(type, Object):
        members = ", ".join(f"{name_sql(name)}: {type_text(each)}" for name, each in type.fields)
        return f"STRUCT<{members}>"
    if isinstance(type, Array):
        return f"ARRAY<{type_text(type.of)}>"
    if type is None:
        return "STRING"
    kind = kind_of(type)
    return f"DECIMAL({DIGITS_MAX}, {scale_of(type)})" if kind == DECIMAL and type != DECIMAL else TYPES[kind]
