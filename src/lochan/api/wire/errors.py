"""Errors as JSON, and back: a client gets the very class that the verb has raised, with its attributes.

{"message": "…", "kind": "paths-in-the-way", "error": "PathsInTheWay", "hint": "…", "details": {"paths": […]}}"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from lochan import errors
from lochan.api.object_results import Conflict, conflicts_of, has_conflicts
from lochan.config.settings import near_names
from lochan.errors import LochanError, NotFound, PathsInTheWay, RulesUnmet

CONFLICTS_MAX = 1_000  # the most in an answer; the error's count includes them all
_ELSEWHERE = {
    "Cancelled": "lochan.engines.duckdb.limits",
    "ConditionFailed": "lochan.api.conditions",
    "Denied": "lochan.access.rights",
    "LimitReached": "lochan.engines.duckdb.limits",
    "OutOfTime": "lochan.engines.duckdb.limits",
    "SparkEnded": "lochan.engines.spark.errors",
    "SparkFailed": "lochan.engines.spark.errors",
    "UnknownField": "lochan.query.errors",
}


class ErrorBody(msgspec.Struct, omit_defaults=True):
    message: str
    kind: str = ""
    error: str = ""  # the name of its class
    hint: str = ""
    details: dict[str, Any] = {}


async def error_body(error: LochanError) -> ErrorBody:
    body = simple_error_body(error)
    if has_conflicts(error):
        found = body.details["conflicts"] = []
        async for each in conflicts_of(error):
            if len(found) == CONFLICTS_MAX:
                break
            found.append(each.as_json())
    return body


def simple_error_body(error: LochanError) -> ErrorBody:
    """Returns an error as JSON, without the conflicts that it may have."""
    nearest = next(each for each in type(error).__mro__ if _is_known(each))
    values = {name: getattr(error, name, None) for name in _FIELDS}
    details = {name: _json_value(value) for name, value in values.items() if value not in (None, "", ())}
    if error.place and isinstance(error.__cause__, NotFound):  # a query whose source does not exist
        details["absent"] = True
    if isinstance(error, NotFound) and error.name and error.among is not None:
        details["near"] = near_names(error.name, list(error.among()))
    return ErrorBody(error.message, error.kind, nearest.__name__, error.hint, details)


def _is_known(each: type) -> bool:
    found = _ELSEWHERE.get(each.__name__)
    return each.__module__ == (found or errors.__name__)


# Attributes of errors that say more than their texts.
_FIELDS = ("name", "paths", "reasons", "count", "keys", "condition", "etag", "of_source", "text", "start", "length")


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _json_value(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_json_value(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def error_of(body: ErrorBody, status: int) -> LochanError:
    """Returns the error that a server has sent."""
    made = _decode_error(body, status)
    if "conflicts" in body.details:
        made.conflicts = tuple(msgspec.convert(body.details["conflicts"], list[Conflict]))  # type: ignore[attr-defined]
        made.count = body.details.get("count", 0)  # type: ignore[attr-defined]
    return made


def _decode_error(body: ErrorBody, status: int) -> LochanError:
    kind: Any = _class_of(body, status)
    details = body.details
    made: LochanError
    if issubclass(kind, PathsInTheWay):
        names = {name: details.get(name, ()) for name in ("paths", "keys")}
        made = kind(body.message, hint=body.hint, count=details.get("count", 0), **names)
        return made
    if body.error == "ConditionFailed":
        source = details.get("of_source", False)
        made = kind(body.message, details.get("condition", ""), details.get("etag"), of_source=source)
        return made
    if body.error in ("QueryError", "UnknownField"):
        start = details.get("start", 0)
        span = (start, start + details.get("length", 1))
        made = kind(body.message, details.get("text", ""), span, hint=body.hint)
        if details.get("absent"):
            made.__cause__ = NotFound(body.message)
        return made
    if issubclass(kind, RulesUnmet):
        made = kind(body.message, hint=body.hint, reasons=details.get("reasons", ()))
        return made
    made = kind(body.message, hint=body.hint)
    if not isinstance(made, NotFound):
        return made
    near = [str(each) for each in details.get("near", ())]
    return made.named(details.get("name", ""), (lambda: near) if near else None)


def _class_of(body: ErrorBody, status: int) -> type[LochanError]:
    if body.error in _ELSEWHERE:
        found: type[LochanError] = getattr(import_module(_ELSEWHERE[body.error]), body.error)
        return found
    kind = getattr(errors, body.error, None)
    if isinstance(kind, type) and issubclass(kind, LochanError):
        return kind
    return _BY_STATUS.get(status, lambda: errors.LochanError)()


def _denied_class() -> type[LochanError]:
    from lochan.access.rights import Denied

    return Denied


# For an answer without a class: from a proxy, or from the server before it has found the verb.
_BY_STATUS: Mapping[int, Callable[[], type[LochanError]]] = {
    400: lambda: errors.Invalid,
    401: _denied_class,
    403: lambda: errors.Refused,
    404: lambda: errors.NotFound,
    408: lambda: errors.Transient,
    409: lambda: errors.Conflict,
    412: lambda: errors.PreconditionFailed,
    413: lambda: errors.Invalid,
    415: lambda: errors.Invalid,
    429: lambda: errors.Transient,
    502: lambda: errors.Transient,
    503: lambda: errors.Transient,
    504: lambda: errors.Transient,
}
