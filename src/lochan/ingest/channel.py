"""Messages between a decoder and its caller: a kind, a length, bytes; to the decoder also open files.

Batches and rows cross as bytes. The caller does not trust them: it validates every batch in full before it looks at a
value, and decodes rows as plain values only.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

# Messages from the decoder.
BATCH, ROWS, OBJECT, TAKEN, READ, ERROR, DONE = b"B", b"R", b"O", b"T", b"I", b"E", b"D"
# Messages to the decoder.
FILE, END = b"F", b"N"

_HEAD: Final = struct.Struct("<cQ")
REQUEST_BYTES_MAX = 16 << 20
_PIECE_BYTES = 1 << 20


class Message(NamedTuple):
    kind: bytes
    data: pa.Buffer


class TooLong(Exception):
    """A message is longer than the reader accepts."""


class Closed(Exception):
    """The other side has ended or was killed."""


class Channel:
    """One end of the connection, for one thread."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send(self, kind: bytes, data: bytes | pa.Buffer = b"", files: list[int] | None = None) -> None:
        """Sends a message, with open files. Raises Closed."""
        view = memoryview(data)
        head = _HEAD.pack(kind, len(view))
        try:
            if files:
                socket.send_fds(self.socket, [head], files)
            else:
                self.socket.sendall(head)
            self.socket.sendall(view)
        except OSError as error:
            raise Closed from error

    def receive(self, bytes_max: int) -> Message:
        """Receives a message. Raises TooLong before it reads the body, or Closed."""
        head = pa.allocate_buffer(_HEAD.size)
        self._fill(memoryview(head))
        kind, size = _HEAD.unpack(memoryview(head))
        return Message(kind, self._body(size, bytes_max))

    def receive_with_file(self, bytes_max: int) -> tuple[Message, int | None]:
        """Receives a message with an open file or None, for the decoder, which must close the file."""
        head, files, _, _ = socket.recv_fds(self.socket, _HEAD.size, 1)
        if len(head) < _HEAD.size:
            raise Closed
        kind, size = _HEAD.unpack(head)
        return Message(kind, self._body(size, bytes_max)), (files[0] if files else None)

    def _body(self, size: int, bytes_max: int) -> pa.Buffer:
        if size > bytes_max:
            raise TooLong
        buffer = pa.allocate_buffer(size)
        if size:
            self._fill(memoryview(buffer))
        return buffer

    def _fill(self, room: memoryview) -> None:
        at = 0
        while at < len(room):
            try:
                count = self.socket.recv_into(room[at : at + _PIECE_BYTES])
            except OSError as error:
                raise Closed from error
            if not count:
                raise Closed
            at += count

    def close(self) -> None:
        self.socket.close()


class Failure(msgspec.Struct, array_like=True):
    """The reason why a decoder stops."""

    kind: str  # one of FAILURES
    message: str
    hint: str = ""
    trace: str = ""  # the traceback of an unexpected error, for the log


# WRONG: the file is wrong. LIMIT: it needs more than its limits. UNEXPECTED: any other error, which the file must have
# caused.
WRONG, LIMIT, UNEXPECTED = "wrong", "limit", "unexpected"


def encode(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


# --- batches: each message is an Arrow stream of one batch -----------------------------------------------------------
PIECE_BYTES = 4 << 20  # the size of a batch; larger ones are sent in pieces
_DEPTH_MAX = 64
_FOLDED = (  # types in which few bytes may stand for many
    pa.types.is_union,
    pa.types.is_run_end_encoded,
    pa.types.is_dictionary,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


class InvalidBatch(Exception):
    """The bytes are not a valid batch."""


def batch_pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """Yields pieces that are hardly longer than PIECE_BYTES, unless a single row is."""
    rows = max(1, batch.num_rows * PIECE_BYTES // max(batch.nbytes, PIECE_BYTES))
    for begin in range(0, batch.num_rows, rows):
        yield from _pieces(batch.slice(begin, rows))


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """Splits a batch further, because rows of one batch may have very different lengths."""
    if batch.nbytes > 2 * PIECE_BYTES and batch.num_rows > 1:
        middle = batch.num_rows // 2
        yield from _pieces(batch.slice(0, middle))
        yield from _pieces(batch.slice(middle))
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    yield sink.getvalue()


def validated_batch(data: pa.Buffer) -> pa.RecordBatch:
    """Returns the batch, checked in full. Raises InvalidBatch."""
    try:
        with pa.ipc.open_stream(data) as reader:
            for field in reader.schema:
                _check_type(field.type, 0)
            _ = reader.schema.names  # decodes them here: they may not be UTF-8
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, StopIteration, OSError, ValueError, MemoryError) as error:
        raise InvalidBatch(str(error).partition("\n")[0]) from error
    if batch.nbytes > data.size + PIECE_BYTES:  # nothing is compressed on the way
        raise InvalidBatch("more rows than there are bytes")
    return batch


def _check_type(type: pa.DataType, depth: int) -> None:
    """Raises InvalidBatch for a type that folds values, which the decoder has expanded, or for too deep nesting."""
    if depth > _DEPTH_MAX:
        raise InvalidBatch("nested too deeply")
    if isinstance(type, pa.BaseExtensionType) or any(each(type) for each in _FOLDED):
        raise InvalidBatch(f"a column of the type {type}")
    for number in range(type.num_fields):
        _check_type(type.field(number).type, depth + 1)


# --- rows: each message is a list of dictionaries --------------------------------------------------------------------
_DECIMAL, _DATE = 1, 2

Row = dict[str, Any]


class InvalidRows(Exception):
    """The bytes are not rows."""


def pack_rows(rows: list[Row]) -> bytes:
    """Encodes rows. Raises ValueError, TypeError or RecursionError for a value that no row can hold."""
    return _encoder.encode(_tag(rows))


def unpack_rows(data: bytes | memoryview) -> list[Row]:
    """Decodes rows. Raises InvalidRows."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, InvalidOperation, RecursionError) as error:
        raise InvalidRows(str(error)) from error


def _tag(value: Any) -> Any:
    """Tags decimals and dates, which the encoder would write as texts."""
    match value:
        case dict():
            return {name: _tag(each) for name, each in value.items()}
        case list():
            return [_tag(each) for each in value]
        case Decimal():
            return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
        case datetime():
            return value
        case date():
            return msgspec.msgpack.Ext(_DATE, value.isoformat().encode())
    return value


def _decode_tag(code: int, data: memoryview) -> Any:
    text = bytes(data).decode()
    if code == _DECIMAL:
        return Decimal(text)
    if code == _DATE:
        return date.fromisoformat(text)
    raise ValueError(f"a value of an unknown kind: {code}")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Row], ext_hook=_decode_tag)
