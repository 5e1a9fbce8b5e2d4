"""Reads and writes times and ETags as HTTP and S3 do: three forms of an HTTP date, and ISO 8601 in its basic and its
extended form; tags with or without quotes, one or several, strong or weak.

All times are in UTC. Reading returns whole seconds since the epoch, or None if the text is not such a date. The caller
decides what that means, because a broken If-Modified-Since is ignored and a broken X-Amz-Date is refused.
"""

import re
from calendar import timegm
from datetime import date
from functools import lru_cache
from time import gmtime
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBER = {name.lower(): number for number, name in enumerate(_MONTHS, 1)}

_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_ZONE = r"(?:GMT|UTC|[+-]0000)"
_HTTP_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # RFC 1123, RFC 850, asctime
        rf"(?:[a-z]{{3}}, )?(?P<day>[0-9]{{1,2}}) (?P<month>[a-z]{{3}}) (?P<year>[0-9]{{4}}) {_TIME} {_ZONE}",
        rf"[a-z]{{6,9}}, (?P<day>[0-9]{{2}})-(?P<month>[a-z]{{3}})-(?P<year>[0-9]{{2}}) {_TIME} {_ZONE}",
        rf"[a-z]{{3}} (?P<month>[a-z]{{3}}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)
_ISO_BASIC = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")
_ISO_EXTENDED = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?Z")


_MINUTES = [f" {minute // 60:02}:{minute % 60:02}:" for minute in range(24 * 60)]  # the minutes of a day
_SECONDS = [f"{second:02} GMT" for second in range(60)]


def http_date(seconds: int) -> str:
    """Returns the time as Last-Modified and Date write it. It differs for every object, so it is put together from
    known parts."""
    day, rest = divmod(seconds, 86_400)
    return _http_day(day) + _MINUTES[rest // 60] + _SECONDS[rest % 60]


@lru_cache(maxsize=1024)
def _http_day(day: int) -> str:
    year, month, day, _, _, _, weekday = gmtime(day * 86_400)[:7]
    return f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year:04}"


@lru_cache(maxsize=4096)
def iso_extended(seconds: int) -> str:
    """Returns the time as S3's XML writes it, without its milliseconds: `2009-10-12T17:50:30`."""
    year, month, day, hour, minute, second = gmtime(seconds)[:6]
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def iso_millis(micros: int) -> str:
    """Returns the time as S3's XML writes it: `2009-10-12T17:50:30.000Z`. It is rounded down, as HTTP's whole seconds
    are."""
    return f"{iso_extended(micros // 1_000_000)}.{micros // 1000 % 1000:03}Z"


def iso_basic(seconds: int) -> str:
    """Returns the time as X-Amz-Date writes it: `20130524T000000Z`."""
    return iso_extended(seconds).replace("-", "").replace(":", "") + "Z"


@lru_cache(maxsize=1024)
def parse_iso_basic(text: str) -> int | None:
    found = _ISO_BASIC.fullmatch(text)
    return found and _seconds(*map(int, found.groups()))


def parse_iso_extended(text: str) -> int | None:
    found = _ISO_EXTENDED.fullmatch(text)
    return found and _seconds(*map(int, found.groups()))


def parse_http_date(text: str) -> int | None:
    """Parses an HTTP date. It also accepts a zone of `+0000`, which many clients write and AWS's own examples have."""
    if len(text) > 40:
        return None
    for form in _HTTP_FORMS:
        if found := form.fullmatch(text.strip()):
            month = _MONTH_NUMBER.get(found["month"].lower(), 0)
            numbers = (int(found[name]) for name in ("day", "hour", "minute", "second"))
            return _seconds(_full_year(found["year"]), month, *numbers)
    return None


def _full_year(text: str) -> int:
    """Returns the year. Two digits mean 1970 to 2069."""
    year = int(text)
    return year if len(text) == 4 else year + (1900 if year >= 70 else 2000)


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    try:
        date(year, month, day)
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 60:  # 60 is a leap second
        return None
    return timegm((year, month, day, hour, minute, second))


def quote_etag(etag: str) -> str:
    return f'"{etag}"'


def unquote_etag(text: str) -> str:
    """Returns the tag without its quotes. Clients send tags with and without them."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def parse_etags(header: str | None, *, weakly: bool) -> tuple[str, ...] | None:
    """Returns the tags of If-Match or If-None-Match, or `*`. Returns None without the header. A weak tag never proves
    that bytes are the same, so it only counts if they are compared `weakly`."""
    if header is None:
        return None
    tags = [tag.strip() for tag in header.split(",")]
    return tuple(unquote_etag(tag.removeprefix("W/")) for tag in tags if weakly or not tag.startswith("W/"))


def if_range_holds(header: str | None, etag: str, modified: int) -> bool:
    """Returns whether a range belongs to the object of which the client already has a part. Otherwise the client is
    sent the whole object. A date must be exactly the one that the client knows, and a weak tag proves nothing."""
    if header is None:
        return True
    date = parse_http_date(header)
    if date is not None:
        return modified == date
    tags = parse_etags(header, weakly=False) or ()
    return "*" in tags or etag in tags


# Which bytes of an object are asked for.


# Longer numbers count as endless, because an integer of a thousand digits would only cost time.
_DIGITS_MAX = 19
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)
_COPY_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


class ByteSpan(NamedTuple):
    """The bytes from `start` up to but not including `end`."""

    start: int
    end: int

    def content_range(self, size: int) -> str:
        return f"bytes {self.start}-{self.end - 1}/{size}"


def requested_span(header: str, size: int) -> ByteSpan | None:
    """Parses the Range header for an object of this size. Returns None for the whole object: several ranges and invalid
    ones are ignored. Raises InvalidRange if the object has none of the bytes."""
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
    """Parses `x-amz-copy-source-range`, which must be exact and lie within the source."""
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
