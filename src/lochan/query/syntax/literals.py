"""Literals: texts, numbers, times, durations, addresses and networks, from and to their written form."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lochan.pools.json_row import exact_number
from lochan.pools.times import Moment, in_years
from lochan.query.ast import Literal, Span
from lochan.query.errors import QueryError

INT_MAX = 2**63 - 1
_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}

# The longest match of one of these counts; its value is computed below.
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w:])", re.ASCII)
_NETWORK_V4 = re.compile(r"\d+\.\d+\.\d+\.\d+/\d+(?![\w.])", re.ASCII)
_ADDRESS_V4 = re.compile(r"\d+\.\d+\.\d+\.\d+(?![\w.])", re.ASCII)
_ADDRESS_V6 = re.compile(r"[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:/\d{1,3})?(?![\w:])", re.ASCII)
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|us|[wdhms]))+(?!\w)", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|[wdhms])", re.ASCII)
_FLOAT = re.compile(r"\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?![\w.])", re.ASCII)
_INT = re.compile(r"\d+(?![\w.])", re.ASCII)
_RUN = re.compile(r"[\w.:]+")
_DIGITS_MAX = 400  # digits of the longest literal


def number_at(text: str, start: int) -> tuple[Literal, int]:
    """Reads a literal that begins with a digit, or is an address. Returns it and its end."""
    for pattern, read in _READERS:
        if found := pattern.match(text, start):
            return read(text, Span(start, found.end())), found.end()
    run = _RUN.match(text, start)
    stop = run.end() if run else start + 1
    raise QueryError(
        f"{_shorten(text[start:stop])} is not a number, time, duration or address",
        text,
        Span(start, stop),
        hint="such as 5, 1.5e3, 2026-11-01T10:00:00Z, 1h30m, 10.0.0.1 or 10.0.0.0/8; a text stands in quotes",
    )


def string_at(text: str, start: int) -> tuple[str, int]:
    """Reads the text in the quotes that open at `start`. Returns it with its escapes resolved, and its end."""
    quote, at, parts = text[start], start + 1, []
    while found := _PLAIN[quote].match(text, at):
        parts.append(found[0])
        at = found.end()
        if at >= len(text):
            break
        if text[at] == quote:
            return "".join(parts), at + 1
        escaped, at = _escape(text, at)
        parts.append(escaped)
    raise QueryError("this quote is never closed", text, Span(start, start + 1), hint=f"close it with {quote}")


def regexp_at(text: str, start: int) -> tuple[str, int]:
    """Reads the text between the slash at `start` and the next unescaped one, which must be on the same line."""
    found = _REGEXP.match(text, start)
    if found is None:
        raise QueryError("this regular expression never ends", text, Span(start, start + 1), hint="close it with /")
    if not found[1]:
        raise QueryError("the regular expression is empty", text, Span(start, found.end()))
    return _PAIR.sub(lambda pair: "/" if pair[0] == r"\/" else pair[0], found[1]), found.end()


# ── back to text ─────────────────────────────────────────────────────────────────────────────────────────────────────


def literal_text(literal: Literal) -> str:
    value = literal.value
    match literal.kind:
        case "null":
            return "null"
        case "bool":
            return "true" if value else "false"
        case "string":
            return quote_text(str(value))
        case "time":
            assert isinstance(value, int)
            at = (_1970 + timedelta(microseconds=value)).replace(tzinfo=None)
            finer = getattr(value, "finer", "")
            return (at.isoformat(timespec="microseconds") + finer if finer else at.isoformat()) + "Z"
        case "duration":
            assert isinstance(value, int)
            return _write_duration(value)
        case "float":
            shown = repr(value)
            return shown if "." in shown or "e" not in shown else shown.replace("e", ".0e")
    return str(value)


def quote_text(text: str, quote: str = '"') -> str:
    return quote + _QUOTED.sub(lambda each: _write_escape(each[0], quote), text) + quote


def written_regexp(pattern: str) -> str:
    return "/" + _PAIR.sub(lambda pair: r"\/" if pair[0] == "/" else pair[0], pattern) + "/"


# ── each kind ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _time(text: str, span: Span) -> Literal:
    shown = text[span.start : span.stop]
    fraction = re.search(r"\.(\d+)", shown)
    finer = fraction[1][6:].rstrip("0") if fraction else ""
    six = re.sub(r"(\.\d{6})\d+", r"\1", shown)
    try:
        moment = datetime.fromisoformat(six)
    except ValueError:
        raise QueryError(f"{shown} is not a time", text, span, hint="such as 2026-11-01T10:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = (moment - _1970) // timedelta(microseconds=1)
    if not in_years(micros):
        hint = "times are those of the years 1 to 9999, in UTC"
        raise QueryError(f"{shown} lies before the year 1 or after the year 9999", text, span, hint=hint)
    return Literal("time", Moment(micros, finer) if finer else micros, span=span)


def _duration(text: str, span: Span) -> Literal:
    parts = _DURATION_PART.findall(text[span.start : span.stop])
    if any(len(count) > _DIGITS_MAX for count, _ in parts):
        raise _too_large(text, span)
    total = 0
    for count, unit in parts:
        whole, _, fraction = count.partition(".")
        micros, rest = divmod(int(whole + fraction) * _MICROSECONDS[unit], 10 ** len(fraction))
        if rest:
            raise QueryError("durations keep microseconds, and this one is more precise", text, span)
        total += micros
    if total > INT_MAX:
        raise _too_large(text, span)
    return Literal("duration", total, span=span)


def _address(text: str, span: Span) -> Literal:
    import ipaddress

    shown = text[span.start : span.stop]
    try:
        if "/" in shown:
            return Literal("net", str(ipaddress.ip_network(shown, strict=False)), span=span)
        return Literal("ip", str(ipaddress.ip_address(shown)), span=span)
    except ValueError:
        raise QueryError(
            f"{_shorten(shown)} is not an address", text, span, hint="such as 10.0.0.1 or 10.0.0.0/8"
        ) from None


def _float(text: str, span: Span) -> Literal:
    """Returns a float, or the exact number if no float equals it."""
    shown = text[span.start : span.stop]
    if len(shown) > _DIGITS_MAX:
        raise _too_large(text, span)
    try:
        value = exact_number(shown)
    except ArithmeticError:
        raise _too_large(text, span) from None
    return Literal("decimal" if isinstance(value, Decimal) else "float", value, span=span)


def _int(text: str, span: Span) -> Literal:
    """Returns an int. One more than the greatest is accepted: with a minus it is the least."""
    if span.stop - span.start > _DIGITS_MAX:
        raise _too_large(text, span)
    value = int(text[span.start : span.stop])
    if value > INT_MAX + 1:
        return Literal("decimal", Decimal(value), span=span)
    return Literal("int", value, span=span)


_READERS = (
    (_TIME, _time),
    (_NETWORK_V4, _address),
    (_ADDRESS_V4, _address),
    (_ADDRESS_V6, _address),
    (_DURATION, _duration),
    (_FLOAT, _float),
    (_INT, _int),
)


def _too_large(text: str, span: Span) -> QueryError:
    return QueryError("this number is too large", text, span, hint="whole numbers and durations have 64 bits")


def _shorten(shown: str) -> str:
    return shown if len(shown) <= 40 else shown[:40] + "…"


def _write_duration(microseconds: int) -> str:
    parts, left = [], abs(microseconds)
    for unit in ("h", "m", "s", "ms", "us"):
        count, left = divmod(left, _MICROSECONDS[unit])
        parts += [f"{count}{unit}"] if count else []
    return ("-" if microseconds < 0 else "") + ("".join(parts) or "0s")


# ── quotes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_PLAIN = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'`"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"} | {each: each for each in "\\/\"'`"}
_UNICODE = re.compile(r"\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))")
_QUOTED = re.compile(r"[\x00-\x1f\x7f\\\"'`\ud800-\udfff]")
_REGEXP = re.compile(r"/((?:\\[^\n]|[^\\/\n])*)/")
_PAIR = re.compile(r"\\.|/", re.DOTALL)


def _escape(text: str, at: int) -> tuple[str, int]:
    following = text[at + 1 : at + 2]
    if found := _UNICODE.match(text, at):
        code = int(found[1] or found[2], 16)
        if code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            return chr(code), found.end()
    elif following in _ESCAPES:
        return _ESCAPES[following], at + 2
    raise QueryError(
        f"\\{following} is not a known escape", text, Span(at, at + 2), hint=r"write \\ for a backslash; \n, \t, \u{…}"
    )


def _write_escape(character: str, quote: str) -> str:
    if character in "\"'`":
        return f"\\{character}" if character == quote else character
    return "\\\\" if character == "\\" else f"\\u{{{ord(character):x}}}"
