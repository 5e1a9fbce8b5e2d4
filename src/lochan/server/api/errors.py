"""Turns errors into answers, with one table over the kinds of `errors.py`, and the few errors whose status is more
precise than that of their kind."""

from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from lochan.access.rights import Denied
from lochan.api.queries import Cancelled, LimitReached, OutOfTime, SparkEnded
from lochan.errors import LochanError, NotFound, RaceLost

STATUSES: Mapping[str, int] = {
    "error": 500,
    "retry": 503,
    "transient": 503,
    "unknown": 503,
    "disk-full": 503,
    "mistake": 400,
    "not-found": 404,
    "gone": 410,
    "invalid": 400,
    "bad-digest": 400,
    "bad-part": 400,
    "bad-part-order": 400,
    "part-too-small": 400,
    "ambiguous": 400,
    "nothing-to-do": 400,
    "same-ref": 400,
    "refused": 400,
    "dirty": 400,
    "protected": 403,
    "read-only": 403,
    "unavailable": 503,
    "future-format": 500,
    "conflict": 409,
    "already-exists": 409,
    "key-reused": 422,
    "concurrent-commit": 409,
    "precondition-failed": 412,
    "hook-refused": 412,
    "paths-in-the-way": 409,
    "corrupt": 500,
}
AGAIN = (429, 503)  # the same request may succeed in a second
LIMITED = "ask for less, or for more by `memory` and `timeout`, as far as the server's settings allow"


class HttpError(Exception):
    """An answer with an error status that is not an error of the lake."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error_response(error: HttpError | LochanError) -> Response:
    if isinstance(error, HttpError):
        return message(error.status, error.message, error.headers)
    status = status_of(error)
    return message(status, text_of(error), {"retry-after": "1"} if status in AGAIN else {})


def message(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"message": text}, status, headers)


def status_of(error: LochanError) -> int:
    if isinstance(error, Denied):
        return 401
    if isinstance(error, OutOfTime):
        return 408
    if isinstance(error, LimitReached):
        return 413
    if isinstance(error, Cancelled):
        return 409
    if isinstance(error, SparkEnded):
        return 503
    if isinstance(error, RaceLost):
        return 429
    if isinstance(error.__cause__, NotFound):  # something that a query names does not exist
        return 404
    return STATUSES.get(error.kind, 500)


def text_of(error: LochanError) -> str:
    """Returns the text of an error. A mistake in a text includes its place. The hints of limits are left out, because
    they are for a command line."""
    return f"{error.message} ({LIMITED})" if isinstance(error, LimitReached) else str(error)
