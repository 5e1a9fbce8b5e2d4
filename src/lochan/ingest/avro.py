"""Reads the rows of an Avro file, some blocks at a time.

Polars reads most schemas, into columns. Schemas that it does not support (maps, unions of several types) are read value
by value, which is slower (`avro_values.py`). So are small files, because importing Polars would take longer. A union
becomes its value, and a map becomes an object.

A file may announce any number of values of any length, so only the bytes that it has are trusted.
docs/design/0007-avro.md explains why no library reads the values."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.errors import Invalid
from lochan.ingest.avro_values import ValueReader, is_simple, reader_of
from lochan.ingest.streams import RATIO_MAX, growth_error
from lochan.pools.json_row import Row

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHUNK_BYTES = 8 << 20
_BLOCK_BYTES_MAX = 1 << 30
_PIECE_BYTES = 4 << 20
_FEW_BYTES = 256 << 10  # importing Polars takes a third of a second
_UNPACKED_BYTES_MIN = 64 << 20  # a block may grow to this size whatever the ratio
_SNAPPY_RATIO_MAX = 64  # the longest copy that one byte can stand for
_BATCH = 10_000
_SCHEMA = b"avro.schema"
# What a reader raises for a damaged schema or value.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


class Header(NamedTuple):
    sync: bytes  # the marker that ends each block
    schema: Any
    codec: str


class AvroBlock(NamedTuple):
    rows: int  # the number of rows that the block announces
    data: bytes  # the unpacked bytes


def avro_rows(name: str, stream: Any) -> Iterator[pa.RecordBatch | list[Row]]:
    """Yields batches or rows. `stream` is a file object. Raises Invalid if the file is damaged."""
    source = _Source(name, stream)
    header = _header(source)
    try:
        is_record = isinstance(header.schema, dict) and header.schema.get("type") == "record"
        simple = is_record and is_simple(header.schema)
    except _DAMAGE as error:
        raise source.damaged("its schema is not valid") from error
    blocks: list[AvroBlock] = []
    size = 0
    for block in _blocks(source, header):
        blocks.append(block)
        size += len(block.data)
        if size > _CHUNK_BYTES:
            yield from _rows(source, header, blocks, simple)
            blocks, size = [], 0
    yield from _rows(source, header, blocks, simple)


def _rows(
    source: _Source, header: Header, blocks: list[AvroBlock], simple: bool
) -> Iterator[pa.RecordBatch | list[Row]]:
    if not blocks:
        return
    try:
        if not simple:
            yield from _values(source, header, blocks)
            return
        if any(each.rows > len(each.data) for each in blocks):  # each row takes at least a byte
            raise ValueError("more values are announced than there are bytes")
        few = _few_rows(source, header, blocks) if sum(len(each.data) for each in blocks) <= _FEW_BYTES else None
        yield from _columns(header, blocks) if few is None else few
    except RecursionError as error:
        raise source.damaged("it is nested too deeply") from error
    except _DAMAGE as error:
        raise source.damaged(str(error)) from error


def _values(source: _Source, header: Header, blocks: list[AvroBlock]) -> Iterator[list[Row]]:
    read = reader_of(header.schema)
    for block in blocks:
        values = ValueReader(block.data)
        for count in values.parts(block.rows, _BATCH):
            yield [_row(source, read(values)) for _ in range(count)]
        values.check_end()


def _few_rows(source: _Source, header: Header, blocks: list[AvroBlock]) -> list[list[Row]] | None:
    """Reads rows value by value. Returns None if there is a date that Polars supports and Python does not."""
    try:
        return list(_values(source, header, blocks))
    except ArithmeticError:
        return None


def _columns(header: Header, blocks: list[AvroBlock]) -> Iterator[pa.RecordBatch]:
    import polars as pl

    whole = [_plain_header(header)]
    for count, data in blocks:
        whole += [_long(count), _long(len(data)), data, header.sync]
    try:
        table = pl.read_avro(io.BytesIO(b"".join(whole))).to_arrow()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(str(error)) from error
    yield from table.to_batches()


def _plain_header(header: Header) -> bytes:
    """Returns the header of a file whose blocks are not compressed."""
    schema = json.dumps(header.schema).encode()
    pieces = [_MAGIC, _long(1), _long(len(_SCHEMA)), _SCHEMA, _long(len(schema)), schema, _long(0), header.sync]
    return b"".join(pieces)


def _row(source: _Source, value: Any) -> Row:
    if not isinstance(value, dict):
        raise Invalid(f"{source.name}: a row must be a record, but this is {str(value)[:40]}")
    return value


class _Source:
    def __init__(self, name: str, stream: Any) -> None:
        self.name = name
        self._stream = stream

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _BLOCK_BYTES_MAX:
            raise self.damaged("it has an impossible length")
        pieces, left = [], size  # in pieces: `read` allocates its whole buffer before it knows how much there is
        while left and (piece := self._stream.read(min(left, _PIECE_BYTES))):
            pieces.append(piece)
            left -= len(piece)
        if left:
            raise self.damaged("it ends too early")
        return b"".join(pieces)

    def long(self, *, or_end: bool = False) -> int | None:
        """Reads an int of up to 64 bits. With `or_end`, returns None at the end of the file."""
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
            if shift > 63:
                raise self.damaged("it has a number of more than 64 bits")

    def damaged(self, why: str) -> Invalid:
        return Invalid(f"{self.name}: this is not a complete avro file: {why}", hint="nothing was loaded")


def _header(source: _Source) -> Header:
    if source.read(4) != _MAGIC:
        raise source.damaged("it does not begin with the marker of Avro")
    found: dict[str, bytes] = {}
    while count := source.long():
        if count < 0:
            count = -count
            source.long()
        for _ in range(count):
            name = source.read(source.long() or 0).decode(errors="replace")
            found[name] = source.read(source.long() or 0)
    sync = source.read(_SYNC_BYTES)
    try:
        schema = json.loads(found["avro.schema"])
    except (KeyError, ValueError, RecursionError) as error:
        raise source.damaged("it has no schema") from error
    codec = found.get("avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise Invalid(f"{source.name}: the codec {codec!r} is not supported", hint=f"use one of {', '.join(_CODECS)}")
    return Header(sync, schema, codec)


def _blocks(source: _Source, header: Header) -> Iterator[AvroBlock]:
    while (count := source.long(or_end=True)) is not None:
        size = source.long()
        assert size is not None
        data = source.read(size)
        if source.read(_SYNC_BYTES) != header.sync:
            raise source.damaged("a block does not end where it should")
        if count < 0:
            raise source.damaged("a block announces less than no rows")
        if count:
            yield AvroBlock(count, _unpack(source, header.codec, data))


def _unpack(source: _Source, codec: str, data: bytes) -> bytes:
    most = min(_BLOCK_BYTES_MAX, max(_UNPACKED_BYTES_MIN, RATIO_MAX * len(data)))
    try:
        found = _CODECS[codec](data, most + 1)
    except (ValueError, EOFError, zlib.error, lzma.LZMAError, OSError, pa.ArrowException) as error:
        raise source.damaged(str(error)) from error
    if len(found) > most:
        raise growth_error(source.name, len(data), most)
    return found


def _long(value: int) -> bytes:
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _deflate(data: bytes, most: int) -> bytes:
    unpacking = zlib.decompressobj(-15)
    found = unpacking.decompress(data, most)
    if not unpacking.eof and len(found) < most:
        raise ValueError("a compressed block ends too early")
    return found


def _snappy(data: bytes, most: int) -> bytes:
    """Unpacks a Snappy block. A CRC-32 of the unpacked bytes follows the data."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > _SNAPPY_RATIO_MAX * len(data):
        raise ValueError("a compressed block announces to be longer than it can be")
    found = bytes(pa.decompress(data[:-4], decompressed_size=size, codec="snappy"))
    if zlib.crc32(found) != int.from_bytes(data[-4:], "big"):
        raise ValueError("a compressed block fails its checksum")
    return found


def _zstandard(data: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read(most))


_CODECS: Mapping[str, Callable[[bytes, int], bytes]] = {  # the number is the greatest size of the result
    "null": lambda data, _: data,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    "xz": lambda data, most: lzma.LZMADecompressor().decompress(data, most),
}
