"""Values of the language: those of JSON, times, durations and addresses, missing values, and errors."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import orjson

from lochan.pools.kinds import PLACES


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


_WIDE = Context(prec=1_000)
MISSING, ERROR = _Mark("missing"), _Mark("error")


@dataclass(frozen=True, order=True)
class Time:
    us: int

    def text(self) -> str:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=self.us)
        whole, _, fraction = moment.isoformat(timespec="microseconds").partition(".")
        fraction = fraction.rstrip("0")
        return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def time_at(us: int) -> Any:
    """A time in the years 1 to 9999; anything else is not a time."""
    try:
        dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=us)
    except OverflowError:
        return ERROR
    return Time(us)


@dataclass(frozen=True, order=True)
class Duration:
    us: int

    def text(self) -> str:
        rest, parts = abs(self.us), []
        for name, size in (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000)):
            if count := rest // size:
                parts.append(f"{count}{name}")
                rest %= size
        if rest or not parts:
            parts.append(f"{Decimal(rest).scaleb(-6).normalize(_WIDE):f}s" if rest else "0s")
        return ("-" if self.us < 0 else "") + "".join(parts)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
KINDS = ("bool", "int", "float", "decimal", "string", "time", "duration", "ip", "net", "record", "array", "null")


def kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int" if -(1 << 63) <= value < 1 << 63 else "decimal"
        case Decimal():
            return "decimal"
        case float():
            return "float"
        case str():
            return "string"
        case Time():
            return "time"
        case Duration():
            return "duration"
        case dict():
            return "record"
        case list():
            return "array"
        case ipaddress.IPv4Address() | ipaddress.IPv6Address():
            return "ip"
        case ipaddress.IPv4Network() | ipaddress.IPv6Network():
            return "net"
    return "error" if value is ERROR else "missing"


def is_number(value: Any) -> bool:
    return kind(value) in ("int", "float", "decimal")


def exact(value: Any) -> Any:
    """A float beside decimals has the value of its shortest text."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def same_kind(one: Any, other: Any) -> bool:
    return kind(one) == kind(other) or (is_number(one) and is_number(other))


def equal(one: Any, other: Any) -> bool:
    """Ints and floats are compared exactly, as numbers; other values are equal only within one kind."""
    if not same_kind(one, other):
        return False
    match one:
        case dict():
            return list(one) == list(other) and all(equal(one[name], other[name]) for name in one)
        case list():
            return len(one) == len(other) and all(map(equal, one, other))
    if Decimal in (type(one), type(other)):
        return bool(exact(one) == exact(other))
    return bool(one == other)


def identity(value: Any) -> Any:
    """Equal for values that are one group, one of a kind: here 1 and 1.0 are two."""
    match value:
        case dict():
            return ("record", tuple((name, identity(each)) for name, each in value.items()))
        case list():
            return ("array", tuple(map(identity, value)))
        case float() if value == 0:
            return ("float", 0.0)
        case Decimal():
            return ("decimal", value.normalize(_WIDE))
    return (kind(value), value)


def plain(value: Any) -> Any:
    """The value as it is printed."""
    match value:
        case Time() | Duration():
            return value.text()
        case dict():
            return {name: plain(each) for name, each in value.items() if each is not MISSING}
        case list():
            return [plain(each) for each in value]
        case ipaddress.IPv4Address() | ipaddress.IPv6Address() | ipaddress.IPv4Network() | ipaddress.IPv6Network():
            return str(value)
    return None if value is ERROR else value


def as_json(value: Any) -> str:
    return orjson.dumps(_written(plain(value))).decode().replace("e+", "e")


def _written(value: Any) -> Any:
    """Numbers that orjson does not take as they are written."""
    match value:
        case dict():
            return {name: _written(each) for name, each in value.items()}
        case list():
            return [_written(each) for each in value]
    return orjson.Fragment(str(value)) if kind(value) == "decimal" else value


_PLACES = PLACES | {"record": PLACES["object"], "net": PLACES["string"]}


def order(value: Any, *, descending: bool, nulls_first: bool) -> tuple[Any, ...]:
    """A key that sorts mixed values by the class of their kind, then by value. Null, missing values and values without
    an order come at the requested end, missing after null."""
    found = kind(value)
    if found not in _PLACES:
        return (0 if nulls_first else 2, int(value is MISSING))
    place = _PLACES[found]
    inner: Any = value
    if found == "string":
        inner = value.encode()
    elif found in ("time", "duration"):
        inner = value.us
    elif found in ("record", "array"):
        inner = _nested_order(value)
    elif found == "ip":
        inner = (value.version, int(value))
    elif found == "net":
        inner = str(value).encode()
    if descending:
        return (1, _Down((place, _Comparable(inner))))
    return (1, (place, _Comparable(inner)))


def _nested_order(value: Any) -> tuple[Any, ...]:
    """Arrays before records; then element by element, field by field; null is the greatest."""
    if isinstance(value, dict):
        pairs = ((name.encode(), _element_order(each)) for name, each in value.items() if each is not MISSING)
        return (1, tuple(pairs))
    return (0, tuple(map(_element_order, value)))


def _element_order(value: Any) -> tuple[Any, ...]:
    value = plain(value)  # within arrays and records times are texts
    if value is None:
        return (10,)
    found = order(value, descending=False, nulls_first=False)[1]
    assert isinstance(found, tuple)
    return found


class _Comparable:
    """Ints and floats compare exactly in Python; so does everything of one class."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Comparable) -> bool:
        if Decimal in (type(self.value), type(other.value)):
            return bool(exact(self.value) < exact(other.value))
        return bool(self.value < other.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


class _Down:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Down) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)
