"""Reads what the headers of a request say about the commit that it makes, for bodies that are only rows or bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request

from lochan.api.options import CommitOptions
from lochan.server.api.errors import HttpError

MESSAGE, AUTHOR, METADATA, DATE = "X-Commit-Message", "X-Commit-Author", "X-Commit-Metadata", "X-Commit-Date"
COMMIT_HEADERS: Mapping[str, str] = {
    MESSAGE: "the message of the commit, in UTF-8",
    AUTHOR: "its author; by default the user",
    METADATA: "a JSON object; values that are not texts are kept as JSON",
    DATE: "its date, in ISO 8601; by default now",
}


def commit_options(request: Request, key: str) -> CommitOptions:
    """Returns the options. Raises 400, naming the header."""
    return CommitOptions(
        message=_text(request, MESSAGE),
        author=_text(request, AUTHOR),
        metadata=plain_metadata(_json(request)),
        date=_date(_text(request, DATE)),
        key=key,
    )


def plain_metadata(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the metadata as texts, as a commit keeps them. Other values are written as JSON."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in given.items()
    }


def _text(request: Request, name: str) -> str:
    given = request.headers.get(name, "")
    try:
        return given.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise HttpError(400, f"{name}: this is not UTF-8") from None


def _json(request: Request) -> dict[str, Any]:
    text = _text(request, METADATA)
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise HttpError(400, f"{METADATA}: this is not a JSON object: {error}") from None


def _date(text: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise HttpError(400, f"{DATE}: {text[:40]!r} is not a time in ISO 8601") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
