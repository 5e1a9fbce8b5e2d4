"""Avro becomes rows, whatever its schema."""

import json
import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import Invalid
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_file

SYNC = b"0123456789abcdef"


def long(value: int) -> bytes:
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def data(value: bytes) -> bytes:
    return long(len(value)) + value


def text(value: str) -> bytes:
    return data(value.encode())


def avro(fields: Any, rows: Sequence[bytes], codec: str = "null", blocks: int = 2) -> bytes:
    """`fields` by name, or a schema."""
    schema = fields
    if isinstance(fields, dict) and "type" not in fields:
        members = [{"name": name, "type": type} for name, type in fields.items()]
        schema = {"type": "record", "name": "row", "fields": members}
    head = b"Obj\x01" + long(2) + text("avro.schema") + text(json.dumps(schema))
    whole = head + text("avro.codec") + text(codec) + long(0) + SYNC
    for block in range(blocks):
        mine = rows[block::blocks]
        packed = _packed(codec, b"".join(mine))
        whole += long(len(mine)) + data(packed) + SYNC
    return whole


def _packed(codec: str, body: bytes) -> bytes:
    match codec:
        case "deflate":
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            return packer.compress(body) + packer.flush()
        case "snappy":
            checksum = struct.pack(">I", zlib.crc32(body))
            return bytes(pa.compress(body, "snappy", asbytes=True)) + checksum
        case "zstandard":
            return bytes(pa.compress(body, "zstd", asbytes=True))
    return body


def rows_of(file: bytes) -> list[dict[str, Any]]:
    return [row for made in load_file("a.avro", file, parse(["id"])) for row in made.rows()]


INNER = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": ["null", "long"]}]}
CASES: list[tuple[str, Any, bytes, Any]] = [
    ("an int beyond a double", "long", long(2**53 + 1), 2**53 + 1),
    ("a null", ["null", "string"], long(0), None),
    ("something where a null could be", ["string", "null"], long(0) + text("é"), "é"),
    ("a bool", "boolean", b"\x01", True),
    ("a double", "double", struct.pack("<d", 1.5), 1.5),
    ("a list", {"type": "array", "items": "long"}, long(2) + long(1) + long(2) + long(0), [1, 2]),
    ("a list that tells its length", {"type": "array", "items": "long"}, long(-1) + long(1) + long(7) + long(0), [7]),
    ("a record", INNER, long(1) + long(5), {"x": 5}),
    ("an enum", {"type": "enum", "name": "e", "symbols": ["A", "B"]}, long(1), "B"),
    ("a moment", {"type": "long", "logicalType": "timestamp-millis"}, long(1_500), "1970-01-01T00:00:01.5Z"),
    ("a day", {"type": "int", "logicalType": "date"}, long(1), "1970-01-02"),
    ("bytes", "bytes", data(b"\x00\xff"), "AP8="),
    ("a fixed number of them", {"type": "fixed", "name": "f", "size": 2}, b"\x00\xff", "AP8="),
    ("a union", ["null", "long", "string"], long(2) + text("s"), "s"),
    ("another of its types", ["null", "long", "string"], long(1) + long(3), 3),
    ("a map", {"type": "map", "values": INNER}, long(1) + text("p") + long(1) + long(4) + long(0), {"p": {"x": 4}}),
    ("only null", "null", b"", None),
    (
        "a decimal",
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        data(b"\xff\x00"),
        -2.56,
    ),
    (
        "a list of unions",
        {"type": "array", "items": ["long", "string"]},
        long(1) + long(1) + text("u") + long(0),
        ["u"],
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
@pytest.mark.parametrize("type, value, expected", [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_values(type: Any, value: bytes, expected: Any, codec: str) -> None:
    found = rows_of(avro({"id": "long", "v": type}, [long(number) + value for number in range(3)], codec))
    assert [_plain(row) for row in found] == [{"id": number, "v": expected} for number in range(3)]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from lochan.pools.json_row import row_text

    read: dict[str, Any] = json.loads(row_text(row))
    return read


@pytest.mark.thorough
def test_a_type_that_holds_itself() -> None:
    node = {"type": "record", "name": "node", "fields": [{"name": "id", "type": "long"}]}
    node["fields"].append({"name": "next", "type": ["null", "node"]})  # type: ignore[attr-defined]
    file = avro(node, [long(1) + long(1) + long(2) + long(0)], blocks=1)
    assert rows_of(file) == [{"id": 1, "next": {"id": 2, "next": None}}]


@pytest.mark.parametrize("cut", [3, 60, -1, -20])
def test_a_file_that_ends_too_early(cut: int) -> None:
    file = avro({"id": "long", "m": {"type": "map", "values": "long"}}, [long(1) + long(0)] * 9)
    with pytest.raises(Invalid, match=r"a\.avro: (this is not a complete avro file|the format cannot be detected)"):
        rows_of(file[:cut])


def test_avro_with_invalid_content() -> None:
    with pytest.raises(Invalid, match="does not end within its block"):
        rows_of(avro({"id": "long", "m": {"type": "map", "values": "long"}}, [long(1) + long(9)]))
    with pytest.raises(Invalid, match="the codec 'brotli' is not supported"):
        rows_of(avro({"id": "long"}, [long(1)], "brotli"))
    with pytest.raises(Invalid, match="a row must be a record"):
        rows_of(avro(["null", "long"], [long(1) + long(5)], blocks=1))
    with pytest.raises(Invalid, match="a row must be a record"):
        rows_of(avro("long", [long(5)], blocks=1))


def test_days_and_moments_are_times() -> None:
    fields = {
        "id": "long",
        "d": {"type": "int", "logicalType": "date"},
        "t": {"type": "long", "logicalType": "timestamp-micros"},
        "m": {"type": "map", "values": "long"},
    }
    for without in ("m", ""):
        own = {name: fields[name] for name in fields if name != without}
        (row,) = rows_of(avro(own, [long(1) + long(1) + long(7) + (b"" if without else long(0))], blocks=1))
        assert row["d"] == date(1970, 1, 2) or row["d"] == "1970-01-02"
        assert row["t"] in (datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC), "1970-01-01T00:00:00.000007Z")
