"""What a query's request asks for: its body, understood and within what the server allows."""

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from lochan.config.kinds import LENGTH, SIZE, SettingKind, ValueContext
from lochan.engines.duckdb.limits import shown
from lochan.errors import Invalid
from lochan.query.sql.beginning import is_sql
from lochan.server.api.failures import Failure
from lochan.server.settings import QuerySettings
from lochan.versioning.expression import parse as parse_ref

BODY_BYTES_MAX = 1 << 20
_NOWHERE = ValueContext(Path("/"), Path("/"))


class Wish(NamedTuple):
    query: str
    engine: str
    limit: int | None  # of rows
    seconds: float
    memory_bytes: int
    at: str  # where sources are read that name no ref
    pool: str  # what a query without `from` reads
    go_on: bool


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    language: Literal["query", "sql"] = "query"
    engine: Literal["auto", "duckdb", "spark"] = "auto"
    limit: int | None = None
    timeout: float | str | None = None
    memory: int | str | None = None
    at: str = ""
    pool: str = ""
    go_on: bool = False


def read(data: bytes, settings: QuerySettings) -> Wish:
    """Raises 400, saying which field is wrong. More than the server allows is asked for in vain, and said so."""
    try:
        body = _decoder.decode(data)
    except msgspec.DecodeError as error:  # no JSON, or not of this form
        raise Failure(400, f"the body is no wish for a query: {error}") from None
    if body.limit is not None and body.limit < 0:
        raise Failure(400, "limit: this is no number of rows")
    _check_language(body)
    seconds = _within("timeout", body.timeout, LENGTH, settings.seconds, f"{settings.seconds:g}s")
    memory = _within("memory", body.memory, SIZE, settings.memory_bytes, shown(settings.memory_bytes))
    at = _ref(body.at)
    return Wish(body.query, body.engine, body.limit, seconds, int(memory), at, body.pool, body.go_on)


def _check_language(body: _Body) -> None:
    if not body.query.strip():
        raise Failure(400, "query: it is empty")
    if body.language == "sql" and not is_sql(body.query):
        raise Failure(400, "query: this is no SQL: it begins with neither select nor with")


def _within(name: str, given: float | str | None, kind: SettingKind, most: float, most_shown: str) -> float:
    if given is None:
        return most
    try:
        value = kind.parse(str(given), _NOWHERE)
    except ValueError:
        raise Failure(400, f"{name}: {str(given)[:50]!r} is not {kind.expected}") from None
    assert isinstance(value, int | float)
    if not 0 < value <= most:
        raise Failure(400, f"{name}: {str(given)[:50]} is not within what this server allows, {most_shown}")
    return value


def _ref(text: str) -> str:
    """As it stands behind an @."""
    if text:
        try:
            parse_ref(f"main@{text}" if text.startswith("{") else text)
        except Invalid as error:
            raise Failure(400, f"at: {error}") from None
    return text


_decoder = msgspec.json.Decoder(_Body)
