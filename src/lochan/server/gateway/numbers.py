"""Numbers in a query: how many, and which part."""

from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.errors import S3Error

PAGE_MAX = 1_000


def page_size(request: Request, name: str) -> int:
    """At most a thousand. Raises InvalidArgument."""
    return min(PAGE_MAX, number(request, name, PAGE_MAX, 0, (1 << 31) - 1))


def number(request: Request, name: str, default: int | None, low: int, high: int) -> int:
    text = request.query.get(name, "")
    if not text and default is not None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 10 or not low <= int(text) <= high:
        raise S3Error(
            "InvalidArgument",
            f"Argument {name} must be an integer between {low} and {high}",
            ArgumentName=name,
            ArgumentValue=text[:64],
        )
    return int(text)
