"""Reads Avro values one by one, by their schema, as the values of a row."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

_START = datetime(1970, 1, 1, tzinfo=UTC)
_EMPTY_VALUES_MAX = 1_000_000  # values of a block that take no byte, such as nulls
_PART = 10_000
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class ValueReader:
    """The bytes of a block. Reading beyond them raises ValueError. So does announcing more values than there are bytes,
    with an allowance for nulls, which take no byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._empty = _EMPTY_VALUES_MAX

    def parts(self, count: int, most: int) -> Iterator[int]:
        """Splits an announced number of values into parts, to be read one after the other."""
        while count:
            part, begin = min(count, most), self._at
            if count > len(self._data) - begin + self._empty:
                raise ValueError("more values are announced than there are bytes")
            yield part
            count -= part
            self._empty -= max(0, part - (self._at - begin))

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ValueError("a value does not end within its block")
        data, self._at = self._data[self._at : end], end
        return data

    def check_end(self) -> None:
        """Raises ValueError if bytes are left: the block holds more than it announced."""
        if self._at < len(self._data):
            raise ValueError("a block holds more bytes than its rows take")

    def index(self, count: int) -> int:
        """Reads a number from 0 to `count` - 1: a union's branch, or an enum's symbol."""
        index = self.long()
        if not 0 <= index < count:  # Python would count a negative one from the end
            raise ValueError(f"there is no branch or symbol {index}")
        return index

    def long(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")


Read = Callable[[ValueReader], Any]


def is_simple(schema: Any) -> bool:
    """Returns whether the schema consists of records, lists, scalars and optional ones of these, with each name defined
    once."""
    match schema:
        case str():
            return schema in _PRIMITIVES and schema != "null"
        case list():
            others = [each for each in schema if each != "null"]
            return len(schema) == 2 and len(others) == 1 and is_simple(others[0])
        case {"type": "record", "fields": fields}:
            return bool(fields) and all(is_simple(each["type"]) for each in fields)
        case {"type": "array", "items": items}:
            return is_simple(items) and items not in ("bytes",)
        case {"type": "enum"}:
            return True
        case {"type": str() as type, "logicalType": "timestamp-millis" | "timestamp-micros" | "date"}:
            return type in ("int", "long")
        case {"type": str() as type} if "logicalType" not in schema:
            return is_simple(type)
    return False


def reader_of(schema: Any) -> Read:
    """Returns a reader of values. Raises ValueError if the schema is not valid."""
    return _reader(schema, {}, "")


def _reader(schema: Any, named: dict[str, Read], space: str) -> Read:
    if isinstance(schema, list):
        return _union([_reader(each, named, space) for each in schema])
    if isinstance(schema, str):
        return _SCALARS[schema] if schema in _SCALARS else _by_name(schema, named, space)
    if not isinstance(schema, dict) or "type" not in schema:
        raise ValueError(f"{str(schema)[:40]} is not a type")
    logical = _LOGICAL.get(str(schema.get("logicalType")))
    match schema["type"]:
        case "record" | "error":
            return _record(schema, named, space)
        case "array":
            return _array(_reader(schema["items"], named, space))
        case "map":
            return _map(_reader(schema["values"], named, space))
        case "enum":
            symbols = list(schema["symbols"])
            return _remember(schema, named, space, lambda data: symbols[data.index(len(symbols))])
        case "fixed":
            size = int(schema["size"])
            read = _remember(schema, named, space, lambda data: data.take(size))
            return _decimal(schema, read) if schema.get("logicalType") == "decimal" else _encode_base64(read)
        case "bytes" if schema.get("logicalType") == "decimal":
            return _decimal(schema, lambda data: data.take(data.long()))
        case type:
            read = _reader(type, named, space)
            return read if logical is None else (lambda data: logical(read(data)))


def _record(schema: Any, named: dict[str, Read], space: str) -> Read:
    fields: list[tuple[str, Read]] = []

    def read(data: ValueReader) -> dict[str, Any]:
        return {name: each(data) for name, each in fields}

    _remember(schema, named, space, read)  # before its fields, because one of them may have this type
    inner = schema.get("namespace", space)
    fields += [(each["name"], _reader(each["type"], named, inner)) for each in schema["fields"]]
    return read


def _union(readers: list[Read]) -> Read:
    return lambda data: readers[data.index(len(readers))](data)


def _array(item: Read) -> Read:
    def read(data: ValueReader) -> list[Any]:
        found = []
        while count := _count(data):
            for part in data.parts(count, _PART):
                found += [item(data) for _ in range(part)]
        return found

    return read


def _map(value: Read) -> Read:
    def read(data: ValueReader) -> dict[str, Any]:
        found = {}
        while count := _count(data):
            for part in data.parts(count, _PART):
                for _ in range(part):
                    name = _text(data)
                    found[name] = value(data)
        return found

    return read


def _count(data: ValueReader) -> int:
    count = data.long()
    if count < 0:
        data.long()  # their length in bytes
    return abs(count)


def _remember(schema: Any, named: dict[str, Read], space: str, read: Read) -> Read:
    name = schema["name"]
    named[name] = named[f"{schema.get('namespace', space)}.{name}"] = read
    return read


def _by_name(name: str, named: dict[str, Read], space: str) -> Read:
    found = named.get(name) or named.get(f"{space}.{name}")
    if found is None:
        raise ValueError(f"there is no type {name!r}")
    return found


def _decimal(schema: Any, read: Read) -> Read:
    scale = int(schema.get("scale", 0))

    def made(data: ValueReader) -> Decimal:
        number = Decimal(int.from_bytes(read(data), "big", signed=True)).as_tuple()
        return Decimal((number.sign, number.digits, -scale))  # `scaleb` would round it

    return made


def _encode_base64(read: Read) -> Read:
    return lambda data: base64.b64encode(read(data)).decode()


def _text(data: ValueReader) -> str:
    return data.take(data.long()).decode()


_SCALARS: dict[str, Read] = {
    "null": lambda data: None,
    "boolean": lambda data: data.take(1) != b"\0",
    "int": ValueReader.long,
    "long": ValueReader.long,
    "float": lambda data: struct.unpack("<f", data.take(4))[0],
    "double": lambda data: struct.unpack("<d", data.take(8))[0],
    "bytes": _encode_base64(lambda data: data.take(data.long())),
    "string": _text,
}
_LOGICAL: dict[str, Callable[[Any], Any]] = {
    "date": lambda days: date(1970, 1, 1) + timedelta(days=days),
    "timestamp-millis": lambda value: _START + timedelta(milliseconds=value),
    "timestamp-micros": lambda value: _START + timedelta(microseconds=value),
}
