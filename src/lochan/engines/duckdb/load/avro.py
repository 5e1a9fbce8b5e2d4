"""Rows of an Avro file, some blocks of it at a time.

Polars reads most schemas, into columns. Maps, unions of several types and what else it does not know are read value by
value: slower, and a row is what the file says. Of a union the value counts, a map is an object.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.load.avro_values import Reader, is_simple, reader_of
from lochan.errors import Invalid
from lochan.pools.json_row import Row

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHUNK_BYTES = 8 << 20
_BLOCK_BYTES_MAX = 1 << 30


class Header(NamedTuple):
    data: bytes  # as it lies there, with the mark that ends each block
    schema: Any
    codec: str

    @property
    def sync(self) -> bytes:
        return self.data[-_SYNC_BYTES:]


def avro_rows(name: str, stream: Any) -> Iterator[pa.RecordBatch | list[Row]]:
    """`stream` has read. Raises Invalid for what is damaged."""
    source = _Source(name, stream)
    header = _header(source)
    is_record = isinstance(header.schema, dict) and header.schema.get("type") == "record"
    simple = is_record and is_simple(header.schema) and header.codec in ("null", "deflate", "snappy")
    blocks: list[tuple[int, bytes]] = []
    size = 0
    for block in _blocks(source, header):
        blocks.append(block)
        size += len(block[1])
        if size > _CHUNK_BYTES:
            yield from _rows(source, header, blocks, simple)
            blocks, size = [], 0
    yield from _rows(source, header, blocks, simple)


def _rows(
    source: _Source, header: Header, blocks: list[tuple[int, bytes]], simple: bool
) -> Iterator[pa.RecordBatch | list[Row]]:
    if not blocks:
        return
    try:
        if simple:
            yield from _columns(header, blocks)
        else:
            read = reader_of(header.schema)
            for count, data in blocks:
                values = Reader(_CODECS[header.codec](data))
                yield [_row(source, read(values)) for _ in range(count)]
    except (ValueError, IndexError, KeyError, zlib.error, lzma.LZMAError, OSError) as error:
        raise source.damaged(str(error)) from error


def _columns(header: Header, blocks: list[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    import polars as pl

    whole = [header.data]
    for count, data in blocks:
        whole += [_long(count), _long(len(data)), data, header.sync]
    try:
        table = pl.read_avro(io.BytesIO(b"".join(whole))).to_arrow()
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error)) from error
    yield from table.to_batches()


def _row(source: _Source, value: Any) -> Row:
    if not isinstance(value, dict):
        raise Invalid(f"{source.name}: a row is a record, and this is none: {str(value)[:40]}")
    return value


class _Source:
    def __init__(self, name: str, stream: Any) -> None:
        self.name = name
        self._stream = stream

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _BLOCK_BYTES_MAX:
            raise self.damaged("a length that cannot be")
        pieces, left = [], size
        while left and (piece := self._stream.read(left)):
            pieces.append(piece)
            left -= len(piece)
        if left:
            raise self.damaged("it ends too early")
        return b"".join(pieces)

    def long(self, *, or_end: bool = False) -> int | None:
        """None: the file has ended."""
        value = shift = 0
        while True:
            byte: bytes = self._stream.read(1)
            if not byte:
                if or_end and not shift:
                    return None
                raise self.damaged("it ends too early")
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def damaged(self, why: str) -> Invalid:
        return Invalid(f"{self.name}: this is no whole avro file: {why}", hint="nothing was loaded")


def _header(source: _Source) -> Header:
    kept = _Kept(source)
    if kept.read(4) != _MAGIC:
        raise source.damaged("it does not begin as one")
    found: dict[str, bytes] = {}
    while count := kept.number():
        if count < 0:
            count = -count
            kept.number()
        for _ in range(count):
            name = kept.read(kept.number()).decode(errors="replace")
            found[name] = kept.read(kept.number())
    kept.read(_SYNC_BYTES)
    try:
        schema = json.loads(found["avro.schema"])
    except (KeyError, ValueError) as error:
        raise source.damaged("it has no schema") from error
    codec = found.get("avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise Invalid(f"{source.name}: packed as {codec!r}, which is not known", hint=f"one of {', '.join(_CODECS)}")
    return Header(bytes(kept.data), schema, codec)


class _Kept:
    """What is read is kept too."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self.data = bytearray()

    def read(self, size: int) -> bytes:
        data = self._source.read(size)
        self.data += data
        return data

    def number(self) -> int:
        found = self._source.long()
        assert found is not None
        self.data += _long(found)
        return found


def _blocks(source: _Source, header: Header) -> Iterator[tuple[int, bytes]]:
    while (count := source.long(or_end=True)) is not None:
        size = source.long()
        assert size is not None
        data = source.read(size)
        if source.read(_SYNC_BYTES) != header.sync:
            raise source.damaged("a block does not end where it should")
        if count:
            yield count, data


def _long(value: int) -> bytes:
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _snappy(data: bytes) -> bytes:
    """A checksum is behind it."""
    size = shift = 0
    for byte in data:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return bytes(pa.decompress(data[:-4], decompressed_size=size, codec="snappy"))


def _zstandard(data: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read())


_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.decompress(data, -15),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}
