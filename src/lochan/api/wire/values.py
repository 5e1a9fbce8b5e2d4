"""Arguments and results as JSON: the spelling of `-f json`, which is that of the structs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os import PathLike, fspath
from typing import Any

import msgspec

from lochan.api.results import Result, WorkspaceInfo
from lochan.errors import Invalid, LochanError

LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
BYTES = "application/octet-stream"
JSON = "application/json"


class HandleNames(msgspec.Struct, frozen=True, omit_defaults=True):
    """The names of a handle in an answer."""

    name: str
    made_at: str = ""  # the commit where the verb has put it
    opened: WorkspaceInfo | None = None  # the workspace, if the verb opened one


class OpenedInfo(Result, frozen=True, kw_only=True):
    """An object that was opened. Its bytes are read by its ETag, so that bytes of a later object are never mixed in."""

    path: str
    size: int
    etag: str
    mtime: datetime
    content_type: str
    headers: Mapping[str, str]
    metadata: Mapping[str, str]
    checksums: Mapping[str, str]
    parts: tuple[int, ...] = ()


def encode(value: Any) -> bytes:
    """Encodes a result as JSON."""
    return _encoder.encode(value.as_json() if isinstance(value, Result) else value)


def plain(name: str, value: Any) -> Any:
    """Returns an argument as a value that JSON has. Raises Invalid for an object that exists only in a process."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Result():
            return value.as_json()
        case msgspec.Struct() | datetime():
            return msgspec.to_builtins(value)
        case PathLike():
            return fspath(value)
        case Mapping():
            return {str(key): plain(name, each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(name, each) for each in value]
    if hasattr(value, "repository_name") and hasattr(value, "name"):
        return value.name
    raise Invalid(f"{name}: a {type(value).__name__} cannot be sent to a server")


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Returns a decoder for what `encode` makes of a value of that type."""
    return msgspec.json.Decoder(kind, dec_hook=_of_json)


def _as_json(value: Any) -> Any:
    from lochan.api.wire.errors import ErrorBody, simple_error_body

    if isinstance(value, Result):
        return value.as_json()
    if isinstance(value, LochanError):
        return simple_error_body(value)
    return ErrorBody(str(value)) if isinstance(value, Exception) else str(value)


def _of_json(kind: type, value: Any) -> Any:
    from lochan.api.wire.errors import ErrorBody, error_of

    if kind is Exception:
        return error_of(msgspec.convert(value, ErrorBody), 500)
    raise NotImplementedError(kind)


_encoder = msgspec.json.Encoder(enc_hook=_as_json)
