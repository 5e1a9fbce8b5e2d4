"""Spans of paths as spans of bytes. A path is compared by its UTF-8, and a span is `low <= path < high`."""

from typing import NamedTuple

NO_END = b"\xff"  # above every path: the byte does not occur in UTF-8


class PathSpan(NamedTuple):
    low: bytes
    high: bytes


def encoded(text: str) -> bytes:
    """What is no Unicode text is the beginning of no path, and no error."""
    return text.encode(errors="surrogatepass")


def behind(prefix: bytes) -> bytes:
    """The least bytes above everything that begins with `prefix`."""
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else NO_END


def span(prefix: str, after: str = "") -> PathSpan:
    """The paths that begin with `prefix` and are greater than `after`."""
    low, high = encoded(prefix), behind(encoded(prefix))
    return PathSpan(max(low, encoded(after) + b"\0") if after else low, high)
