"""Compares two answers as rows: in any order, floats to nine digits, times in any notation."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d))?")
_WIDE = Context(prec=1_000)
_DIGITS = 9  # a sum of floats depends on the order in which an engine adds


def differences(one: Iterable[Any], other: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Rows that only the one has, and rows that only the other has."""
    left, right = Counter(map(written, one)), Counter(map(written, other))
    return sorted((left - right).elements()), sorted((right - left).elements())


def in_order(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Whether they are the same one by one."""
    return list(map(written, one)) == list(map(written, other))


def written(value: Any) -> str:
    return json.dumps(_same(value), ensure_ascii=False)


def _same(value: Any) -> Any:
    match value:
        case bool() | None:
            return value
        case int() if -(1 << 63) <= value < 1 << 63:
            return value
        case int() | Decimal():
            return f"decimal {Decimal(value).normalize(_WIDE)}"
        case float():
            return f"float {value:.{_DIGITS}g}" if value else "float 0"
        case str():
            return _moment(value) if _TIME.fullmatch(value) else value
        case dict():
            return {name: _same(each) for name, each in value.items()}
        case list() | tuple():
            return [_same(each) for each in value]
    return repr(value)


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return text
    return str(moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
