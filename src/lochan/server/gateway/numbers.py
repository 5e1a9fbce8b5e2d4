"""Numbers in a query: how many, and which part."""

from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.uploads import PARTS_MAX

PAGE_MAX = 1_000
PART_NUMBERS = "Part number must be an integer between 1 and 10000, inclusive"


def page_size(request: Request, name: str) -> int:
    """At most a thousand. Raises InvalidArgument."""
    return min(PAGE_MAX, number(request, name, PAGE_MAX, 0, (1 << 31) - 1))


def part_number(request: Request) -> int:
    """Raises InvalidArgument."""
    try:
        return number(request, "partNumber", None, 1, PARTS_MAX)
    except S3Error as error:
        raise S3Error("InvalidArgument", PART_NUMBERS, **error.fields) from None


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
