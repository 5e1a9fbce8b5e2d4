"""What an answer is to look like, by the Accept header."""

from collections.abc import Iterator
from typing import NamedTuple

from lochan.server.api.failures import Failure

NDJSON = "application/x-ndjson"
# By what a result calls them; the first is for who does not say.
FORMS = {
    NDJSON: "ndjson",
    "application/json": "json",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.parquet": "parquet",
}
_SENT_AS = {"text/csv": "text/csv; charset=utf-8; header=present"}


class Form(NamedTuple):
    name: str
    media_type: str  # as it is sent


def accepted(header: str) -> Form:
    """The one that is liked best, the earlier of equals. Raises 406."""
    best, found = 0.0, ""
    for pattern, quality in _ranges(header or "*/*"):
        fits = next((each for each in FORMS if _fits(pattern, each)), "")
        if fits and quality > best:
            best, found = quality, fits
    if not found:
        raise Failure(406, f"rows are given as {', '.join(FORMS)}: Accept names none of these")
    return Form(FORMS[found], _SENT_AS.get(found, found))


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
