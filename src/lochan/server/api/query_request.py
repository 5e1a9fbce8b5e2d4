"""Reads the request of a query: its body, checked against the limits of the server, and the form of the answer, which
the Accept header names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from lochan.api.queries import check_ref, format_size, is_sql
from lochan.config.kinds import LENGTH, SIZE, SettingKind, ValueContext
from lochan.errors import Invalid
from lochan.server.api.errors import HttpError
from lochan.server.settings import QuerySettings

TEXT_CHARACTERS_MAX = 1_000_000
_NOWHERE = ValueContext(Path("/"), Path("/"))
NDJSON = "application/x-ndjson"
# The names that results have for each media type. The first one is the default.
FORMS = {
    NDJSON: "ndjson",
    "application/json": "json",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.parquet": "parquet",
}
_SENT_AS = {"text/csv": "text/csv; charset=utf-8; header=present"}


class QueryRequest(NamedTuple):
    query: str
    engine: str
    limit: int | None  # the largest number of rows
    seconds: float
    memory_bytes: int
    at: str  # the ref at which sources are read that name none
    pool: str  # the pool that a query without `from` reads
    go_on: bool


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    language: Literal["query", "sql"] = "query"
    engine: Literal["auto", "duckdb", "spark"] = "auto"
    limit: int | None = None
    timeout: float | str | None = None
    memory: int | str | None = None
    at: str = ""
    pool: str = ""
    go_on: bool = False


def check_request(body: QueryBody, settings: QuerySettings) -> QueryRequest:
    """Checks the body. Raises 400, naming the wrong field. A request for more than the server allows is also wrong."""
    if len(body.query) > TEXT_CHARACTERS_MAX:
        raise HttpError(413, f"a query has at most {TEXT_CHARACTERS_MAX:,} characters")
    if body.limit is not None and body.limit < 0:
        raise HttpError(400, "limit: must be 0 or more")
    _check_language(body)
    seconds = _within("timeout", body.timeout, LENGTH, settings.seconds, f"{settings.seconds:g}s")
    memory = _within("memory", body.memory, SIZE, settings.memory_bytes, format_size(settings.memory_bytes))
    at = _ref(body.at)
    return QueryRequest(body.query, body.engine, body.limit, seconds, int(memory), at, body.pool, body.go_on)


def _check_language(body: QueryBody) -> None:
    if not body.query.strip():
        raise HttpError(400, "query: must not be empty")
    if body.language == "sql" and not is_sql(body.query):
        raise HttpError(400, "query: this is not SQL: it must begin with select or with")


def _within(name: str, given: float | str | None, kind: SettingKind, most: float, most_shown: str) -> float:
    if given is None:
        return most
    try:
        value = kind.parse(str(given), _NOWHERE)
    except ValueError:
        raise HttpError(400, f"{name}: {str(given)[:50]!r} is not {kind.expected}") from None
    assert isinstance(value, int | float)
    if not 0 < value <= most:
        raise HttpError(
            400, f"{name}: {str(given)[:50]} is not between 0 and {most_shown}, the most this server allows"
        )
    return value


def _ref(text: str) -> str:
    """Returns a ref, checked as it is written after an @. Raises 400."""
    if text:
        try:
            check_ref(text)
        except Invalid as error:
            raise HttpError(400, f"at: {error}") from None
    return text


class OutputForm(NamedTuple):
    name: str
    media_type: str  # the media type as it is sent


def accepted_form(header: str) -> OutputForm:
    """Returns the form with the highest quality, or the first of several. Raises 406."""
    best, found = 0.0, ""
    for pattern, quality in _ranges(header or "*/*"):
        fits = next((each for each in FORMS if _fits(pattern, each)), "")
        if fits and quality > best:
            best, found = quality, fits
    if not found:
        raise HttpError(406, f"Accept must name one of {', '.join(FORMS)}")
    return OutputForm(FORMS[found], _SENT_AS.get(found, found))


def _ranges(header: str) -> Iterator[tuple[str, float]]:
    for part in header.split(","):
        pattern, *parameters = (each.strip().lower() for each in part.split(";"))
        named = dict(each.partition("=")[::2] for each in parameters)
        try:
            yield pattern, float(named.get("q", "1"))
        except ValueError:
            yield pattern, 0.0


def _fits(pattern: str, media_type: str) -> bool:
    kind, _, rest = pattern.partition("/")
    return pattern in ("*/*", media_type) or (rest == "*" and media_type.startswith(f"{kind}/"))
