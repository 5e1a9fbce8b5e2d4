"""Rows as exact JSON text: reading a row and writing it again loses nothing.

    an int beyond 64 bits     a Python int, which has any size
    a decimal that no double represents exactly, such as 0.1000000000000000055511151231257827
                              a Decimal
    a name that occurs twice, NaN, half of a surrogate pair
                              refused, because readers disagree about their meaning

An engine reads whole files. Only rows whose shape it cannot prove are read here, one by one. A line that is not a row
is a `Fault`."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from lochan.errors import Invalid
from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.pools.shape import Object, Type, flat_shape, type_of

Row = dict[str, Any]
POWER_MAX = 10**17  # the greatest power of ten that Python's decimals support


class BadRow(Invalid):
    """A text is not a row. `column` counts characters from 1; 0 stands for the whole row."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


def read_row(text: str) -> Row:
    """Parses a row. Raises BadRow if the text is not an exact JSON object."""
    value = read_value(text)
    if not isinstance(value, dict):
        raise BadRow(f"a row must be an object, but this is {_kind(value)}", 1)
    if "\\u" in text:
        _check_surrogates(value, text)
    return value


def read_value(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise BadRow(f"{error.msg[0].lower()}{error.msg[1:]}", error.pos + 1) from None
    except ValueError:  # Python refuses ints of more digits
        raise BadRow("a number of more than 4,300 digits") from None
    except ArithmeticError:
        raise BadRow(f"a number with a power of ten beyond {POWER_MAX:,}") from None
    except RecursionError:
        raise BadRow("nested too deeply to be read") from None


def row_text(value: Any) -> str:
    """Returns the shortest JSON text, with numbers as they were written. Raises BadRow for NaN."""
    match value:
        case dict():
            fields = (f"{_quote(name)}:{row_text(each)}" for name, each in value.items())
            return f"{{{','.join(fields)}}}"
        case list():
            return f"[{','.join(map(row_text, value))}]"
        case str():
            return _quote(value)
        case Decimal():
            return str(value)
        case float() if not isfinite(value):
            raise BadRow(f"{value} is not a number in JSON")
        case datetime():
            return f'"{times.render(times.micros_of(value), times.NATIVE)}"'
        case date():
            return f'"{value.isoformat()}"'
    return json.dumps(value)


def shape_of(row: Row, time_paths: Collection[Path] = ()) -> Object:
    """Returns the shape of a row. Strings at `time_paths` count as times, if they are written as one."""
    shape = flat_shape(row) or type_of(row)
    assert isinstance(shape, Object)
    for path in time_paths:
        shape = _with_time(shape, row, path)
    return shape


def _with_time(shape: Object, row: Row, path: Path) -> Object:
    name = path[0]
    if name not in row:
        return shape
    value, plain = row[name], dict(shape.fields)[name]
    timed: Type = plain
    if len(path) > 1:
        if isinstance(plain, Object):
            timed = _with_time(plain, value, path[1:])
    elif isinstance(value, str):
        format = times.format_of(value)
        if format is None and times.micros_in(value) is not None:
            format = times.TEXT
        timed = plain if format is None else f"time:{format}"
    if timed == plain:
        return shape
    return Object(tuple((each, timed if each == name else type) for each, type in shape.fields))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _fields(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRow(f"the name {twice!r} occurs twice")
    return row


def exact_number(text: str) -> float | Decimal:
    """Returns a float if it represents the number exactly, else a Decimal."""
    near, exact = float(text), Decimal(text)
    if abs(exact.adjusted()) > POWER_MAX:
        raise InvalidOperation(text)
    return near if Decimal(repr(near)) == exact else exact


def _constant(text: str) -> NoReturn:
    raise BadRow(f"{text} is not JSON")


def _check_surrogates(row: Row, text: str) -> None:
    try:
        "".join(_texts(row)).encode()
    except UnicodeEncodeError:
        raise BadRow("half of a surrogate pair, which is not a character", text.find("\\u") + 1) from None


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [*value, *(text for each in value.values() for text in _texts(each))]
        case list():
            return [text for each in value for text in _texts(each)]
    return []


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a string", bool: "a bool", type(None): "null"}
    return kinds.get(type(value), "a number")


_decoder = json.JSONDecoder(object_pairs_hook=_fields, parse_float=exact_number, parse_constant=_constant)


# --- input that is not a row -----------------------------------------------------------------------------------------
FAIL, SKIP, KEEP = "fail", "skip", "keep"
SHOWN = 10  # faults that are reported, besides their number
_NEAR = 60  # characters around the fault


class Fault(NamedTuple):
    name: str  # the name of the input
    line: int  # from 1; 0 if the input has no lines
    column: int  # from 1; 0 for the whole line
    message: str
    text: str  # the line

    def __str__(self) -> str:
        place = ":".join([self.name, *(str(number) for number in (self.line, self.column) if number)])
        return f"{place}: {self.message}"

    @property
    def near(self) -> str:
        begin = max(0, self.column - 1 - _NEAR // 2)
        part = self.text[begin : begin + _NEAR].strip()
        return f"{'…' if begin else ''}{part}{'…' if begin + _NEAR < len(self.text.rstrip()) else ''}"


@dataclass(slots=True)
class Faults:
    policy: str = FAIL
    count: int = 0
    first: list[Fault] = field(default_factory=list)

    def meet(self, fault: Fault) -> dict[str, Any] | None:
        """Returns the row that replaces the fault, if any. Raises Invalid if faults end the load."""
        if self.policy == FAIL:
            near = f"near {fault.near!r}; " if fault.near else ""
            raise Invalid(str(fault), hint=f"{near}nothing was loaded; --on-error skip or keep continues without it")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(fault)
        return {"_error": str(fault), "_line": fault.text.rstrip("\r\n")} if self.policy == KEEP else None
