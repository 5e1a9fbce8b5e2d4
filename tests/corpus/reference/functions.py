"""Functions over values."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import json
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from lochan.pools.json_row import exact_number
from lochan.query import ast
from tests.corpus.reference.values import (
    ERROR,
    MISSING,
    Duration,
    Time,
    as_json,
    is_number,
    kind,
    plain,
    time_at,
)

Evaluate = Callable[[ast.Expr, Any], Any]
NOW = Time(1_800_000_000_000_000)  # later than every time in the corpus
_BARE = {"has", "missing", "coalesce", "is", "typeof", "kind", "is_error", "grep", "to_json"}


def call(name: str, arguments: tuple[ast.Expr, ...], row: Any, evaluate: Evaluate) -> Any:
    if name == "every":
        return _bucket(evaluate(ast.Name("ts"), row), evaluate(arguments[0], row))
    values = [evaluate(argument, row) for argument in arguments]
    if name == "grep":
        return _grep(values[0], values[1] if len(values) > 1 else row)
    if name in _BARE:
        return _bare(name, values)
    if any(value is MISSING for value in values):
        return MISSING
    if any(value is ERROR for value in values):
        return ERROR
    if any(value is None for value in values):
        return None
    return _FUNCTIONS[name](*values)


def _bare(name: str, values: list[Any]) -> Any:
    match name:
        case "has":
            return all(value is not MISSING for value in values)
        case "missing":
            return any(value is MISSING for value in values)
        case "coalesce":
            return next((value for value in values if value not in (None, MISSING, ERROR)), None)
        case "is":
            return values[0] is not MISSING and _names(values[1]) == kind(values[0])
        case "kind":
            return MISSING if values[0] is MISSING else kind(values[0])
        case "typeof":
            return MISSING if values[0] is MISSING else type_text(values[0])
        case "is_error":
            return values[0] is ERROR
    return MISSING if values[0] is MISSING else as_json(values[0])


def _names(kind_name: str) -> str:
    return {"int64": "int", "float64": "float", "object": "record", "list": "array"}.get(kind_name, kind_name)


def type_text(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{name}:{type_text(each)}" for name, each in value.items()) + "}"
        case list():
            kinds = {type_text(each) for each in value if each is not None}
            return "[" + (kinds.pop() if len(kinds) == 1 else "" if not kinds else "any") + "]"
    return kind(value)


def _grep(pattern: Any, value: Any) -> bool:
    from tests.corpus.reference.expressions import found_in

    return found_in(pattern, value)


def _text(work: Callable[..., Any]) -> Callable[..., Any]:
    def checked(value: Any, *rest: Any) -> Any:
        return work(value, *rest) if isinstance(value, str) else ERROR

    return checked


def _number(work: Callable[..., Any]) -> Callable[..., Any]:
    def checked(value: Any, *rest: Any) -> Any:
        return work(value, *rest) if is_number(value) else ERROR

    return checked


def _len(value: Any) -> Any:
    return len(value) if isinstance(value, str | list | dict) else ERROR


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(letter) if letter.isascii() else letter for letter in text)


def _join(values: Any, separator: str) -> Any:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return ERROR
    return separator.join(values)


def _regexp(pattern: Any, text: Any) -> Any:
    if not isinstance(text, str):
        return ERROR
    match = re.search(pattern.pattern, text)
    return None if match is None else [match.group(0), *match.groups()]


def _regexp_replace(text: str, pattern: Any, new: str) -> str:
    return re.sub(pattern.pattern, new.replace("\\", "\\\\"), text)


def _substr(text: str, start: int, length: int | None = None) -> str:
    return text[start:] if length is None else text[start : start + length]


def _levenshtein(one: str, other: str) -> int:
    before = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, each in enumerate(other, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != each)))
        before = now
    return before[-1]


def _round(value: float, digits: int = 0) -> Any:
    if isinstance(value, int):
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _whole(work: Callable[[float], int]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, int) else float(work(value))


def _abs(value: float) -> Any:
    return abs(value)


def _pow(value: float, exponent: float) -> Any:
    try:
        result = float(value) ** float(exponent)
    except (OverflowError, ZeroDivisionError):
        return ERROR
    return result if isinstance(result, float) else ERROR


def _sqrt(value: float) -> Any:
    return math.sqrt(value) if value >= 0 else ERROR


def _log(value: float) -> Any:
    return math.log(value) if value > 0 else ERROR


def _bucket(value: Any, size: Any) -> Any:
    match value:
        case Time() if isinstance(size, Duration):
            return time_at(value.us // size.us * size.us)
        case int() if isinstance(size, int):
            return value // size * size
        case None:
            return None
    return MISSING if value is MISSING else ERROR


def _strftime(format: str, value: Any) -> Any:
    if not isinstance(value, Time):
        return ERROR
    return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value.us)).strftime(format)


def _parse_time(text: Any, format: str | None = None) -> Any:
    if not isinstance(text, str):
        return ERROR
    if format is None:
        return _time(text)
    try:
        moment = dt.datetime.strptime(text, format)
    except ValueError:
        return ERROR
    return Time((moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=exact_number)
    except ValueError:
        return ERROR


def _cidr_match(network: Any, value: Any) -> Any:
    address = _ip(value)
    return address is not ERROR and address in network


def _int64(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case float():
            return int(value) if abs(value) < 2**63 else ERROR
        case Decimal() | int():
            return int(value) if -(2**63) <= value < 2**63 else ERROR
        case str() if re.fullmatch(r"[+-]?[0-9]+", value) and abs(int(value)) < 2**63:
            return int(value)
        case Time() | Duration():
            return value.us
    return ERROR


def _float64(value: Any) -> Any:
    match value:
        case bool() | int() | float() | Decimal():
            return float(value)
        case str() if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            return float(value)
    return ERROR


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else str(plain(value)) if kind(value) != "bool" else as_json(value)


def _time(value: Any) -> Any:
    match value:
        case Time():
            return value
        case str():
            try:
                moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                return ERROR
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=dt.UTC)
            return time_at((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1))
        case int() if not isinstance(value, bool):
            return time_at(value)
    return ERROR


_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}


def _duration(value: Any) -> Any:
    if isinstance(value, Duration):
        return value
    if kind(value) == "int":
        return Duration(value)
    if not isinstance(value, str) or not re.fullmatch(r"([0-9]+(d|h|ms|m|us|s))+", value):
        return ERROR
    return Duration(sum(int(count) * _UNITS[unit] for count, unit in re.findall(r"([0-9]+)(d|h|ms|m|us|s)", value)))


def _bool(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() | float():
            return value != 0
        case "true" | "false":
            return value == "true"
    return ERROR


def _ip(value: Any) -> Any:
    try:
        return ipaddress.ip_address(value) if isinstance(value, str) else value
    except ValueError:
        return ERROR


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": _len,
    "lower": _text(_ascii(str.lower)),
    "upper": _text(_ascii(str.upper)),
    "trim": _text(lambda text: text.strip(" ")),
    "split": _text(lambda text, separator: text.split(separator)),
    "join": _join,
    "replace": _text(lambda text, old, new: text.replace(old, new)),
    "regexp": _regexp,
    "regexp_replace": _text(_regexp_replace),
    "substr": _text(_substr),
    "levenshtein": _text(_levenshtein),
    "abs": _number(_abs),
    "ceil": _number(_whole(math.ceil)),
    "floor": _number(_whole(math.floor)),
    "round": _number(_round),
    "pow": _number(_pow),
    "sqrt": _number(_sqrt),
    "log": _number(_log),
    "now": lambda: NOW,
    "bucket": _bucket,
    "strftime": _strftime,
    "parse_time": _parse_time,
    "base64": _text(lambda text: base64.b64encode(text.encode()).decode()),
    "hex": _text(lambda text: text.encode().hex()),
    "parse_json": _text(_parse_json),
    "cidr_match": _cidr_match,
    "int64": _int64,
    "float64": _float64,
    "string": _string,
    "time": _time,
    "duration": _duration,
    "bool": _bool,
    "ip": _ip,
}
