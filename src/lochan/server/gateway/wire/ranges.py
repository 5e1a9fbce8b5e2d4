"""Which bytes of an object are asked for."""

import re
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error

# Longer numbers are as good as endless; an integer of a thousand digits would only cost time.
_DIGITS_MAX = 19
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)
_COPY_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


class ByteSpan(NamedTuple):
    """From `start` up to but not including `end`."""

    start: int
    end: int

    def content_range(self, size: int) -> str:
        return f"bytes {self.start}-{self.end - 1}/{size}"


def requested_span(header: str, size: int) -> ByteSpan | None:
    """Of a Range header on an object of this size; None is all of it: several ranges and nonsense are ignored.

    Raises InvalidRange where not one byte of it exists.
    """
    found = _RANGE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        length = _number(found[2])
        span = ByteSpan(max(0, size - length), size)
    else:
        first = _number(found[1])
        last = _number(found[2]) if found[2] else size - 1
        if found[2] and last < first:
            return None
        span = ByteSpan(first, min(last + 1, size))
    if span.start >= span.end:
        raise _unsatisfiable(header, size)
    return span


def copied_span(header: str, size: int) -> ByteSpan:
    """Of `x-amz-copy-source-range`, which must be exact and lie within the source."""
    found = _COPY_RANGE.fullmatch(header)
    if found is None or _number(found[2]) < _number(found[1]):
        raise S3Error(
            "InvalidArgument",
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "
            "zero-based offsets of the first and last bytes to copy",
            ArgumentName="x-amz-copy-source-range",
            ArgumentValue=header[:256],
        )
    span = ByteSpan(_number(found[1]), _number(found[2]) + 1)
    if span.end > size:
        raise _unsatisfiable(header, size)
    return span


def _number(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _DIGITS_MAX else 10**_DIGITS_MAX


def _unsatisfiable(header: str, size: int) -> S3Error:
    error = S3Error("InvalidRange", RangeRequested=header[:256], ActualObjectSize=str(size))
    return error.with_header("content-range", f"bytes */{size}")
