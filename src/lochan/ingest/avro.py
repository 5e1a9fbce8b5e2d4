"""Rows of an Avro file, some blocks of it at a time.

Polars reads most schemas, into columns. Maps, unions of several types and what else it does not know are read value by
value: slower, and a row is what the file says. Of a union the value counts, a map is an object. So are few rows, whose
columns come sooner without Polars.

Nothing that a file announces is believed beyond its bytes: neither how many values there are nor how long they become.
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

from lochan.errors import Invalid
from lochan.ingest.avro_values import Reader, arrow_type, is_simple, reader_of
from lochan.ingest.streams import RATIO_MAX, grown
from lochan.pools.json_row import Row

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHUNK_BYTES = 8 << 20
_BLOCK_BYTES_MAX = 1 << 30
_PIECE_BYTES = 4 << 20
_FEW_BYTES = 256 << 10  # Polars takes a third of a second to come
_UNPACKED_BYTES_MIN = 64 << 20  # a block may become so large whatever the ratio
_SNAPPY_RATIO_MAX = 64  # no copy is longer, and each takes a byte or more
_BATCH = 10_000
_SCHEMA = b"avro.schema"
# What reading a schema or values by it raises where they are not what they should be.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


class Header(NamedTuple):
    sync: bytes  # the mark that ends each block
    schema: Any
    codec: str


class AvroBlock(NamedTuple):
    rows: int  # as it says
    data: bytes  # unpacked


def avro_rows(name: str, stream: Any) -> Iterator[pa.RecordBatch | list[Row]]:
    """`stream` has read. Raises Invalid for what is damaged."""
    source = _Source(name, stream)
    header = _header(source)
    try:
        is_record = isinstance(header.schema, dict) and header.schema.get("type") == "record"
        simple = is_record and is_simple(header.schema)
    except _DAMAGE as error:
        raise source.damaged("its schema is none") from error
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
        if any(each.rows > len(each.data) for each in blocks):  # each of their rows takes a byte or more
            raise ValueError("more values are announced than there are bytes")
        few = _few_columns(header, blocks) if sum(len(each.data) for each in blocks) <= _FEW_BYTES else None
        yield from _columns(header, blocks) if few is None else [few]
    except RecursionError as error:
        raise source.damaged("it is nested too deeply") from error
    except _DAMAGE as error:
        raise source.damaged(str(error)) from error


def _values(source: _Source, header: Header, blocks: list[AvroBlock]) -> Iterator[list[Row]]:
    read = reader_of(header.schema)
    for block in blocks:
        values = Reader(block.data)
        for count in values.parts(block.rows, _BATCH):
            yield [_row(source, read(values)) for _ in range(count)]


def _few_columns(header: Header, blocks: list[AvroBlock]) -> pa.RecordBatch | None:
    """None: there is a day that Python does not know, and Polars does."""
    read, type = reader_of(header.schema), arrow_type(header.schema)
    rows: list[Row] = []
    try:
        for block in blocks:
            values = Reader(block.data)
            rows += [read(values) for count in values.parts(block.rows, _BATCH) for _ in range(count)]
        return pa.RecordBatch.from_struct_array(pa.array(rows, type))
    except (ArithmeticError, pa.ArrowException):
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
    """Of blocks that are unpacked."""
    schema = json.dumps(header.schema).encode()
    pieces = [_MAGIC, _long(1), _long(len(_SCHEMA)), _SCHEMA, _long(len(schema)), schema, _long(0), header.sync]
    return b"".join(pieces)


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
        pieces, left = [], size  # in pieces, for there may be less than is asked for, and room for all is made first
        while left and (piece := self._stream.read(min(left, _PIECE_BYTES))):
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
            if shift > 63:
                raise self.damaged("a number of more than 64 bits")

    def damaged(self, why: str) -> Invalid:
        return Invalid(f"{self.name}: this is no whole avro file: {why}", hint="nothing was loaded")


def _header(source: _Source) -> Header:
    if source.read(4) != _MAGIC:
        raise source.damaged("it does not begin as one")
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
        raise Invalid(f"{source.name}: packed as {codec!r}, which is not known", hint=f"one of {', '.join(_CODECS)}")
    return Header(sync, schema, codec)


def _blocks(source: _Source, header: Header) -> Iterator[AvroBlock]:
    while (count := source.long(or_end=True)) is not None:
        size = source.long()
        assert size is not None
        data = source.read(size)
        if source.read(_SYNC_BYTES) != header.sync:
            raise source.damaged("a block does not end where it should")
        if count < 0:
            raise source.damaged("a block of less than no rows")
        if count:
            yield AvroBlock(count, _unpacked(source, header.codec, data))


def _unpacked(source: _Source, codec: str, data: bytes) -> bytes:
    most = min(_BLOCK_BYTES_MAX, max(_UNPACKED_BYTES_MIN, RATIO_MAX * len(data)))
    try:
        found = _CODECS[codec](data, most + 1)
    except (ValueError, EOFError, zlib.error, lzma.LZMAError, OSError, pa.ArrowException) as error:
        raise source.damaged(str(error)) from error
    if len(found) > most:
        raise grown(source.name, len(data), most)
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
        raise ValueError("a packed block ends too early")
    return found


def _snappy(data: bytes, most: int) -> bytes:
    """A checksum is behind it."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > _SNAPPY_RATIO_MAX * len(data):
        raise ValueError("a packed block that says that it is longer than it can be")
    return bytes(pa.decompress(data[:-4], decompressed_size=size, codec="snappy"))


def _zstandard(data: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read(most))


_CODECS: Mapping[str, Callable[[bytes, int], bytes]] = {  # the number is how many bytes are wanted at the most
    "null": lambda data, _: data,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    "xz": lambda data, most: lzma.LZMADecompressor().decompress(data, most),
}
