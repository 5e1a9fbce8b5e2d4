"""Times that are written as text. The names of the formats are stored on disk, in shapes.

A format looks like what it writes: years to microseconds, `f` for each digit of a second's fraction.

    YYYY-MM-DD                    YYYY-MM-DD HH:MM:SS.fff
    YYYY-MM-DDTHH:MM:SSZ          YYYY-MM-DDTHH:MM:SS.ffffff+00:00
    native                        a timestamp of Parquet or Arrow, not a text; written in the shortest form, with Z
    text                          any other time in RFC 3339; the text is kept beside the time

A text has one of the other formats only if the time reproduces it exactly. A text with an offset, or with more than six
digits after the second, has the format `text`; 2026-02-30 has none. Times are UTC, in microseconds since 1970. Further
digits are cut off, not rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

NATIVE, TEXT = "native", "text"
_DATE, _CLOCK = "YYYY-MM-DD", "HH:MM:SS"
_TEXT = re.compile(r"\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d:\d\d(?:\.(\d{1,6}))?(Z|\+00:00)?)?", re.ASCII)
# For RE2 too. Does not check whether the day exists.
RFC3339 = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:\.([0-9]+))?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)
_RFC3339 = re.compile(RFC3339)
_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
# Times have a year of four digits, in UTC.
MICROS_MIN = (datetime.min.replace(tzinfo=UTC) - _START) // _MICRO
MICROS_MAX = (datetime.max.replace(tzinfo=UTC) - _START) // _MICRO

# For RE2: every text that is a time begins with this, and so do some that are not.
LIKE_TIMES = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}|$)"

# Days that every month has, then those of longer months. The 29th of February is checked elsewhere.
_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_TIME_OF_DAY = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"


class Moment(int):
    """A time in microseconds since 1970, with the digits of the fraction after the sixth."""

    finer: str

    def __new__(cls, micros: int, finer: str) -> Moment:
        made = super().__new__(cls, micros)
        made.finer = finer
        return made

    def __eq__(self, other: object) -> bool:
        return int(self) == other and self.finer == getattr(other, "finer", "")

    def __hash__(self) -> int:
        return hash((int(self), self.finer))


def format_of(text: str) -> str | None:
    """Returns the format of a time, or None if the text is not a time, or if no format reproduces it."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    mark, fraction, zone = match.groups()
    format = _DATE if mark is None else _format_text(mark, len(fraction or ""), zone or "")
    try:
        parse(text)
    except ValueError:
        return None
    return format


def micros_in(text: str) -> int | None:
    """Parses any text in RFC 3339; without an offset it is UTC. Returns None if the text is not in RFC 3339."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    end = match.end(1)
    cut = text if end < 0 else text[: min(end, match.start(1) + 6)] + text[end:]
    try:
        return parse(cut.upper())
    except ValueError:
        return None


def parse(text: str) -> int:
    """Parses a time. Raises ValueError if the day or the time does not exist, or if its offset moves it before the year
    1 or after 9999."""
    micros = micros_of(datetime.fromisoformat(text))
    if not in_years(micros):
        raise ValueError(f"{text} is before the year 1 or after the year 9999")
    return micros


def in_years(micros: int) -> bool:
    return MICROS_MIN <= micros <= MICROS_MAX


def micros_of(moment: date) -> int:
    """Returns microseconds since 1970. Without a zone the time is UTC. A date counts as its first moment."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _START) // _MICRO


def render(micros: int, format: str) -> str:
    """Writes a time. Years after 9999 get more digits, and those before 1 a minus: files from other programs may have
    such times."""
    if not in_years(micros):
        found: str = render_all(pa.array([micros], pa.timestamp("us")), format)[0].as_py()
        return found
    moment = _START + timedelta(microseconds=micros)
    text = f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}.{moment.microsecond:06}"
    if format in (NATIVE, TEXT):
        return text.rstrip("0").rstrip(".") + "Z"
    if format == _DATE:
        return text[:10]
    mark, digits, zone = parts(format)
    whole = text[:19] + (text[19 : 20 + digits] if digits else "")
    return f"{whole[:10]}{mark}{whole[11:]}{zone}"


def render_all(times: pa.Array, format: str) -> pa.Array:
    """Applies `render` to each time."""
    text = times.cast(pa.timestamp("us")).cast(pa.string())  # far faster than strftime
    day = pc.utf8_slice_codeunits(text, 0, -16)  # a year may have more than four digits
    clock = pc.utf8_slice_codeunits(text, -15)
    if format == _DATE:
        return day
    if format in (NATIVE, TEXT):
        shortest = pc.utf8_rtrim(pc.utf8_rtrim(clock, "0"), ".")
        return pc.binary_join_element_wise(day, "T", shortest, "Z", "")
    mark, digits, zone = parts(format)
    cut = pc.utf8_slice_codeunits(clock, 0, 9 + digits if digits else 8)
    return pc.binary_join_element_wise(day, mark, cut, zone, "")


@cache
def pattern(format: str) -> str:
    """Returns a pattern for RE2 that matches only texts of this format, but not all of them."""
    day = f"{_YEAR}-{_DAY}"
    if format == _DATE:
        return day
    if format == TEXT:
        return _text_pattern()
    mark, digits, zone = parts(format)
    fraction = rf"\.[0-9]{{{digits}}}" if digits else ""
    return rf"{day}{mark}{_TIME_OF_DAY}{fraction}{re.escape(zone)}"


def _text_pattern() -> str:
    """Returns a pattern that matches no text of another format. Its years are such that no offset leads out of the
    valid ones."""
    day, fraction, utc = f"[1-8][0-9]{{3}}-{_DAY}", r"(?:\.[0-9]+)?", r"(?:Z|\+00:00)?"
    offset = r"(?:-(?:[01][0-9]|2[0-3]):[0-5][0-9]|\+(?:0[1-9]|1[0-9]|2[0-3]):[0-5][0-9]|\+00:(?:0[1-9]|[1-5][0-9]))"
    ways = (
        f"[Tt ]{_TIME_OF_DAY}{fraction}(?:{offset}|z)",
        rf"[T ]{_TIME_OF_DAY}\.[0-9]{{7,}}{utc}",
        f"t{_TIME_OF_DAY}{fraction}{utc}",
    )
    return f"{day}(?:{'|'.join(ways)})"


def parts(format: str) -> tuple[str, int, str]:
    """Returns the separator of day and time, the number of digits of the fraction, and the zone."""
    rest = format[len(_DATE) + 1 + len(_CLOCK) :]
    digits = rest.count("f")
    return format[len(_DATE)], digits, rest[digits + 1 :] if digits else rest


def _format_text(mark: str, digits: int, zone: str) -> str:
    fraction = f".{'f' * digits}" if digits else ""
    return f"{_DATE}{mark}{_CLOCK}{fraction}{zone}"
