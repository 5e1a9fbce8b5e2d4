"""A row's key as bytes that compare as the key does. Stored in entries: the span of each data object.

A key has a part for each path of the pool's key. Each part begins with a byte for its kind, because keys of different
kinds are ordered by kind first:

    10              null or missing, if nulls come first
    20 + 1          bool
    30 + 8 + 2      number: the nearest double, then the difference to it, so that ints and floats compare exactly
    40 + 8          time: microseconds since 1970
    50 + …          string: its UTF-8 bytes; 00 is written 00 ff, and 00 00 ends it
    60 + …          anything else: its canonical JSON, as a string
    f0              null or missing, if nulls come last

In a descending part all bits are inverted. No part is a prefix of another one, so inverting reverses the order, and
later parts never count before it.
"""

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from math import isfinite, isnan
from typing import Any, NamedTuple

from lochan.errors import Corrupt, Invalid
from lochan.formats.pool_settings import PoolKey, PoolSettings, path_text
from lochan.pools.kinds import BOOL, INT, JSON, STRING, TIME

BYTES_MAX = 256  # the size of each end of a span
_NULL_LEAST, _BOOL, _NUMBER, _TIME, _STRING, _JSON, _NULL_GREATEST = 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0xF0
_LEAST, _GREATEST = bytes([_NULL_LEAST + 1]), bytes([_NULL_GREATEST - 1])  # bounds of all values except nulls
_NULL_FIRST, _NULL_LAST = bytes([_NULL_LEAST]), bytes([_NULL_GREATEST])
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1
_SIGN = 1 << 63
REST_LAST = b"\xff"  # after some parts of a key: greater than the first byte of any part
_TURN = bytes(255 - byte for byte in range(256))
_START = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTHS = {bytes([_BOOL]): 2, bytes([_NUMBER]): 11, bytes([_TIME]): 9}
_CLASSES = {
    bytes([byte]): kind
    for byte, kind in ((_BOOL, BOOL), (_NUMBER, INT), (_TIME, TIME), (_STRING, STRING), (_JSON, JSON))
}
_BEGINNINGS = frozenset((_NULL_LEAST, _BOOL, _NUMBER, _TIME, _STRING, _JSON, _NULL_GREATEST))
_NUMBER_AT, _REST = struct.Struct(">d"), struct.Struct(">H")


class Instant(NamedTuple):
    """A time as a number."""

    micros: int


class Span(NamedTuple):
    """A span of keys, including both ends."""

    low: bytes
    high: bytes


def encode(values: Sequence[Any], settings: PoolSettings) -> bytes:
    """Encodes a row's values, one for each path of the key; None is null or missing. Raises Invalid for NaN."""
    return b"".join(part(value, key, settings) for value, key in zip(values, settings.keys, strict=True))


def part(value: Any, key: PoolKey, settings: PoolSettings) -> bytes:
    """Encodes the value of one path of the key."""
    return _part(value, key.descending, settings.nulls_first, path_text(key.path))


def text_part(text: str, key: PoolKey) -> bytes:
    """Encodes a whole record, given as JSON."""
    return _invert(_text(_JSON, text)) if key.descending else _text(_JSON, text)


def any_part(key: PoolKey, *, last: bool) -> bytes:
    """Returns a bound of every part that is not null: an upper one if `last`, otherwise a lower one."""
    if key.descending:
        return _invert(_LEAST) + b"\xff" if last else _invert(_GREATEST)
    return _GREATEST + b"\xff" if last else _LEAST


def bounds(low: Any, high: Any, settings: PoolSettings) -> Span:
    """Returns the span of the keys whose first part is between these values, inclusive. None is no bound. A row without
    the key is in no span."""
    return prefix_bounds([(low, high)], settings)


def prefix_bounds(ends: Sequence[tuple[Any, Any]], settings: PoolSettings) -> Span:
    """Returns the span for several first parts, like `bounds`. REQUIRES: the ends of all but the last are equal."""
    least = greatest = b""
    for (low, high), key in zip(ends, settings.keys, strict=False):
        name = path_text(key.path)
        first = _LEAST if low is None else _bound_key(low, settings, name, last=False)
        last = _GREATEST if high is None else _bound_key(high, settings, name, last=True)
        if key.descending:
            first, last = _invert(last), _invert(first)
        least, greatest = least + first, greatest + last
    return Span(least, greatest + b"\xff")


def string_times(settings: PoolSettings) -> Span | None:
    """Returns the span of strings, if the first part of the key is declared as a time: times in earlier objects may be
    kept as strings. Returns None if it is not declared so."""
    first = settings.keys[0]
    if first.path not in settings.times:
        return None
    low, high = bytes([_STRING]), bytes([_STRING + 1])
    return Span(_invert(high), _invert(low) + b"\xff") if first.descending else Span(low, high)


def null_key(settings: PoolSettings) -> str:
    """Returns the key of rows without the key, as hex digits."""
    return _part(None, settings.keys[0].descending, settings.nulls_first, "").hex()


def class_of(key: bytes, settings: PoolSettings) -> str | None:
    """Returns a kind that is ordered where the key's first part is. Returns None for null, and for the end of a span of
    many kinds."""
    plain = _invert(key[:1]) if settings.keys[0].descending else key[:1]
    return _CLASSES.get(plain)


def shorten_span(span: Span) -> Span:
    """Returns a span that contains this one, with ends that are short enough to be stored."""
    low, high = span
    if len(high) > BYTES_MAX:
        high = high[:BYTES_MAX].rstrip(b"\xff")
        high = high[:-1] + bytes([high[-1] + 1])
    return Span(low[:BYTES_MAX], high)


def decode(key: bytes, settings: PoolSettings) -> list[Any]:
    """Returns the values, for display, without those behind a cut. Times are datetimes if these can represent them."""
    values: list[Any] = []
    for part in settings.keys:
        plain = _invert(key) if part.descending else key
        if len(key) < _LENGTHS.get(plain[:1], 1) or plain[0] not in _BEGINNINGS:  # the end of a span of many kinds
            break
        value, used = _value(plain)
        values.append(value)
        key = key[used:]
    return values


def ends(span: Span, settings: PoolSettings) -> tuple[list[Any], list[Any]]:
    """Returns the values of both ends, for display as the least and the greatest. If the key descends, the first in the
    pool's order is the greatest."""
    first, last = decode(span.low, settings), decode(span.high, settings)
    for one, other, part in zip(first, last, settings.keys, strict=False):
        if one != other:
            return (last, first) if part.descending else (first, last)
    return first, last


def _bound_key(value: Any, settings: PoolSettings, what: str, *, last: bool) -> bytes:
    """Encodes the end of a span. A number that is neither a 64-bit int nor a float gets a bound around all keys that
    are equally near."""
    if isinstance(value, Decimal) or (type(value) is int and not _INT_MIN <= value <= _INT_MAX):
        near = _number(float(Decimal(value)))
        return near[:-2] + (b"\xff\xff" if last else b"\0\0")
    return _part(value, False, settings.nulls_first, what)


# --- encode ----------------------------------------------------------------------------------------------------------
def _part(value: Any, descending: bool, nulls_first: bool, what: str) -> bytes:
    null = _NULL_FIRST if nulls_first else _NULL_LAST
    plain = null if value is None else _plain(value, what)
    return _invert(plain) if descending else plain


def _plain(value: Any, what: str) -> bytes:
    match value:
        case bool():
            return bytes([_BOOL, value])
        case int():
            return _number(value) if _INT_MIN <= value <= _INT_MAX else _encode_exact(Decimal(value))
        case Decimal():
            return _encode_exact(value)
        case float():
            if isnan(value):
                raise Invalid(f"the key {what} is NaN, which cannot be ordered", hint="leave it out, or use null")
            return _number(value)
        case str():
            return _text(_STRING, value)
        case Instant():
            return _time(value.micros)
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return _time((aware - _START) // timedelta(microseconds=1))
    return _text(_JSON, _canonical(value))


def _number(value: int | float) -> bytes:
    near = float(value) or 0.0  # -0.0 equals 0.0
    bits = int.from_bytes(_NUMBER_AT.pack(near), "big")
    ordered = bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN
    rest = value - int(near) if isinstance(value, int) else 0  # at most half the distance of two doubles, which is 512
    return bytes([_NUMBER]) + ordered.to_bytes(8, "big") + _REST.pack(rest + 0x8000)


def _encode_exact(value: Decimal) -> bytes:
    """Returns the nearest encoding of a number that neither 64 bits nor a double can represent. It is never stored."""
    near = float(value)
    rest = int((value - Decimal(near)).to_integral_value(ROUND_FLOOR)) if isfinite(near) else 0
    return _number(near)[:-2] + _REST.pack(min(max(rest, -0x8000), 0x7FFF) + 0x8000)


def _time(micros: int) -> bytes:
    return bytes([_TIME]) + (micros + _SIGN).to_bytes(8, "big")


def _text(kind: int, text: str) -> bytes:
    return bytes([kind]) + text.encode(errors="surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0"


def _canonical(value: Any) -> str:
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # ints beyond 64 bits
        import json

        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _invert(key: bytes) -> bytes:
    return key.translate(_TURN)


# --- decode ----------------------------------------------------------------------------------------------------------
def _value(key: bytes) -> tuple[Any, int]:
    """Returns the first value, and how many bytes it took."""
    kind = key[0]
    match kind:
        case 0x10 | 0xF0:
            return None, 1
        case 0x20:
            return bool(key[1:2] == b"\1"), 2
        case 0x30:
            return _as_number(key[1:11]), 11
        case 0x40:
            return _as_time(key[1:9]), 9
        case 0x50 | 0x60:
            end = key.find(b"\0\0")
            raw = key[1:] if end < 0 else key[1:end]
            text = raw.replace(b"\0\xff", b"\0").decode(errors="replace")
            return text if kind == _STRING or end < 0 else _as_json(text), len(key) if end < 0 else end + 2
    raise Corrupt(f"a key cannot begin with the byte {kind:02x}")


def _as_number(key: bytes) -> int | float:
    ordered = int.from_bytes(key[:8], "big")
    bits = ordered ^ _SIGN if ordered & _SIGN else ordered ^ (2 * _SIGN - 1)
    (near,) = _NUMBER_AT.unpack(bits.to_bytes(8, "big"))
    rest = _REST.unpack(key[8:])[0] - 0x8000
    if rest or (isfinite(near) and near.is_integer() and abs(near) < 1 << 53):
        return int(near) + int(rest)
    return float(near)


def _as_time(key: bytes) -> datetime | Instant:
    micros = int.from_bytes(key, "big") - _SIGN
    try:
        return _START + timedelta(microseconds=micros)
    except OverflowError:
        return Instant(micros)


def _as_json(text: str) -> Any:
    import json

    return json.loads(text)
