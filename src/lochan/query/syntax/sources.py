"""Parses the sources after `from`: `pool@ref:meta`, `repository@ref/path`, each read directly from the text.

Names and refs follow rules of their own, with dashes, slashes and times in braces, so no tokens are made of them."""

from __future__ import annotations

import re

from msgspec.structs import replace

from lochan.errors import Invalid
from lochan.query.ast import Expr, Glob, ListOf, Literal, Load, Regexp, Source, Span
from lochan.query.errors import did_you_mean
from lochan.query.syntax.cursor import Cursor
from lochan.query.syntax.expressions import additive
from lochan.query.syntax.literals import regexp_at, string_at
from lochan.query.syntax.tokens import is_glob
from lochan.versioning.uri import parse_ref

LAKE_META = (
    *("pools", "repositories", "branches", "tags", "users", "jobs", "joblog", "plans", "usage", "lineage"),
    "audit",
)
POOL_META = (
    *("branches", "tags", "settings", "indexrules", "branchlog", "journal"),
    *("objects", "partitions", "indexes", "log", "rawlog", "changes"),
    *("entries", "ranges", "staged", "sizes", "growth"),
    *("plans", "planned", "unreferenced", "lineage"),
)
NO_KEY = ".$nokey"

_NAME = re.compile(r"(?![-.])[-\w.$*?]+")
_REF = re.compile(r"(?:[^\s,|():/{}]|\{[^}]*\})+")
_TIME = re.compile(r"\{[^}]*\}")
_PATH = re.compile(r"[^\s,|()]+")
_META = re.compile(r"\w+")
_BEHIND = re.compile(r"[\s,|)]|=>|$")


def source(cursor: Cursor) -> Source:
    start = cursor.at
    found = _parts(cursor, start)
    while cursor.word("range", "tap"):
        found = replace(found, tap=True) if cursor.accept_word("tap") else _parse_range(cursor, found)
    return replace(found, span=cursor.since(start))


def load(cursor: Cursor, start: int) -> Load:
    """Parses `pool@branch message "…"`."""
    at = cursor.at
    into = _parts(cursor, at)
    if not isinstance(into.name, str) or into.path or into.meta or into.no_key:
        raise cursor.error("expected a pool, with or without a branch", cursor.since(at), hint="load logs@main")
    message = ""
    if cursor.accept_word("message"):
        message = str(cursor.literal("string", "the message, in quotes").value)
    return Load(into.name, into.ref, message, span=cursor.since(start))


def is_plain_name(name: str) -> bool:
    """Returns whether the name can be written without quotes."""
    return _NAME.fullmatch(name) is not None and not is_glob(name) and not name.endswith(NO_KEY)


def is_plain_path(path: str) -> bool:
    return _PATH.fullmatch(path) is not None and path[0] not in "'\""


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parts(cursor: Cursor, start: int) -> Source:
    text = cursor.text
    name, at = _name(cursor, start)
    no_key = text.startswith(NO_KEY, at)
    at += len(NO_KEY) if no_key else 0
    ref = path = meta = ""
    if text.startswith("@", at):
        ref, at = _ref(cursor, at, _REF)
    if text.startswith("/", at):
        path, at = _path(cursor, at)
    elif text.startswith(":", at):
        meta, at = _meta(cursor, at, name is None)
        if text.startswith("@{", at) and not ref:
            ref, at = _ref(cursor, at, _TIME)
    if not _BEHIND.match(text, at):
        raise cursor.error("this is not part of a source", Span(at, at + 1), hint=_HINT)
    if (no_key or isinstance(name, Glob | Regexp)) and (path or meta):
        raise cursor.error("files and metadata are of one pool or repository", Span(start, at))
    cursor.jump(at)
    return Source(name, ref, path, meta, no_key)


def _name(cursor: Cursor, at: int) -> tuple[str | Glob | Regexp | None, int]:
    text = cursor.text
    if text.startswith(":", at):
        return None, at
    if text[at : at + 1] in ("'", '"', "`"):
        name, stop = string_at(text, at)
        if not name:
            raise cursor.error("an empty name", Span(at, stop))
        return name, stop
    if text.startswith("/", at):
        pattern, stop = regexp_at(text, at)
        return Regexp(pattern, span=Span(at, stop)), stop
    found = _NAME.match(text, at)
    if found is None:
        raise cursor.error("expected a pool, a repository or metadata", Span(at, at + 1), hint=_HINT)
    name, stop = found[0], found.end()
    if name.endswith(NO_KEY) and name != NO_KEY:
        name, stop = name.removesuffix(NO_KEY), stop - len(NO_KEY)
    return (Glob(name, span=Span(at, stop)) if is_glob(name) else name), stop


def _ref(cursor: Cursor, at: int, pattern: re.Pattern[str]) -> tuple[str, int]:
    """Parses the ref after the @ that is here. It checks only that the ref is well-formed."""
    found = pattern.match(cursor.text, at + 1)
    if found is None:
        raise cursor.error("expected a branch, a tag, a commit or {a time} after the @", Span(at, at + 1))
    try:
        parse_ref(f"main@{found[0]}" if found[0].startswith("{") else found[0])
    except Invalid as error:
        raise cursor.error(
            error.message.replace("main@{", "{", 1), Span(at + 1, found.end()), hint=error.hint
        ) from None
    return found[0], found.end()


def _path(cursor: Cursor, at: int) -> tuple[str, int]:
    if cursor.text[at + 1 : at + 2] in ("'", '"'):
        path, stop = string_at(cursor.text, at + 1)
    else:
        found = _PATH.match(cursor.text, at + 1)
        path, stop = (found[0], found.end()) if found else ("", at + 1)
    if not path:
        raise cursor.error("expected a path or a glob after the slash", Span(at, stop))
    return path, stop


def _meta(cursor: Cursor, at: int, of_lake: bool) -> tuple[str, int]:
    found = _META.match(cursor.text, at + 1)
    allowed = LAKE_META if of_lake else POOL_META
    if found is None or found[0] not in allowed:
        word, stop = (found[0], found.end()) if found else ("", at + 1)
        whose = "the lake" if of_lake else "a pool or a repository"
        names = [f":{name}" for name in allowed]
        near = did_you_mean(f":{word}", names)
        hint = "there are " + ", ".join(names)
        raise cursor.error(f"unknown metadata `:{word}` of {whose}{near}", Span(at, stop), hint=hint)
    return found[0], found.end()


def _parse_range(cursor: Cursor, found: Source) -> Source:
    at = cursor.take().span
    if found.low is not None:
        raise cursor.error("`range` is given twice", at)
    low = _end(cursor)
    cursor.expect_word("to", " of `range low to high`")
    return replace(found, low=low, high=_end(cursor))


def _end(cursor: Cursor) -> Expr:
    value = additive(cursor)
    whole = value.items if isinstance(value, ListOf) else (value,)
    if not all(isinstance(each, Literal) for each in whole):
        raise cursor.error("a range goes from one literal to another", value.span)
    return value


_HINT = "such as logs, logs@dev, logs@main~2, sales@main/2026/*.parquet, logs:branches or 'a name'"
