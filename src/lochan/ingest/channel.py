"""Messages between a decoder and who started it: a kind, a length, bytes; down to the decoder also open files."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

# From the decoder
BATCH, ROWS, OBJECT, TAKEN, READ, ERROR, DONE = b"B", b"R", b"O", b"T", b"I", b"E", b"D"
# To the decoder
FILE, END = b"F", b"N"

_HEAD: Final = struct.Struct("<cQ")
REQUEST_BYTES_MAX = 16 << 20
_PIECE_BYTES = 1 << 20


class Message(NamedTuple):
    kind: bytes
    data: pa.Buffer


class TooLong(Exception):
    """A message of more bytes than the reader takes."""


class Closed(Exception):
    """The other side has ended, or was ended, within a message or before one."""


class Channel:
    """One end. Used by one thread."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send(self, kind: bytes, data: bytes | pa.Buffer = b"", files: list[int] | None = None) -> None:
        """Raises Closed."""
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
        """Raises TooLong before anything of it is read, and Closed."""
        head = pa.allocate_buffer(_HEAD.size)
        self._fill(memoryview(head))
        kind, size = _HEAD.unpack(memoryview(head))
        return Message(kind, self._body(size, bytes_max))

    def receive_with_file(self, bytes_max: int) -> tuple[Message, int | None]:
        """For the decoder. The file is the caller's to close."""
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
    """What a decoder says of why it goes no further."""

    kind: str  # of FAILURES
    message: str
    hint: str = ""
    trace: str = ""  # for the log, where nobody expected it


# The file is wrong; it needs more than it may have; something else that a file must have led to.
WRONG, LIMIT, UNEXPECTED = "wrong", "limit", "unexpected"


def encode(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


# Record batches as bytes, and back without trust: each is a stream of one batch, validated in full before anybody
# looks at a value.


PIECE_BYTES = 4 << 20  # of a batch; larger ones are sent in pieces
_DEPTH_MAX = 64
_FOLDED = (  # types in which few bytes may mean many
    pa.types.is_union,
    pa.types.is_run_end_encoded,
    pa.types.is_dictionary,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


class InvalidBatch(Exception):
    """These bytes are no batch that can be believed."""


def batch_pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """None of them much longer than PIECE_BYTES, unless a row is."""
    rows = max(1, batch.num_rows * PIECE_BYTES // max(batch.nbytes, PIECE_BYTES))
    for begin in range(0, batch.num_rows, rows):
        yield from _pieces(batch.slice(begin, rows))


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """Rows of one batch may be of very different lengths."""
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
    """Raises NotValid."""
    try:
        with pa.ipc.open_stream(data) as reader:
            for field in reader.schema:
                _check_type(field.type, 0)
            _ = reader.schema.names  # decoded here: they may be no UTF-8
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, StopIteration, OSError, ValueError, MemoryError) as error:
        raise InvalidBatch(str(error).partition("\n")[0]) from error
    if batch.nbytes > data.size + PIECE_BYTES:  # nothing is packed on the way
        raise InvalidBatch("more rows than there are bytes")
    return batch


def _check_type(type: pa.DataType, depth: int) -> None:
    """Raises NotValid. What folds its values a decoder has unfolded."""
    if depth > _DEPTH_MAX:
        raise InvalidBatch("nested too deeply")
    if isinstance(type, pa.BaseExtensionType) or any(each(type) for each in _FOLDED):
        raise InvalidBatch(f"a column of the type {type}")
    for number in range(type.num_fields):
        _check_type(type.field(number).type, depth + 1)


# Rows of Python values as bytes, and back without trust: there is nothing in them but values.


_DECIMAL, _DATE = 1, 2

Row = dict[str, Any]


class InvalidRows(Exception):
    """These bytes are no rows."""


def pack_rows(rows: list[Row]) -> bytes:
    """Raises ValueError, TypeError or RecursionError for what no row holds."""
    return _encoder.encode(_tagged(rows))


def unpack_rows(data: bytes | memoryview) -> list[Row]:
    """Raises NotRows."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, InvalidOperation, RecursionError) as error:
        raise InvalidRows(str(error)) from error


def _tagged(value: Any) -> Any:
    """With a mark at decimals and days, which the encoder takes for texts."""
    match value:
        case dict():
            return {name: _tagged(each) for name, each in value.items()}
        case list():
            return [_tagged(each) for each in value]
        case Decimal():
            return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
        case datetime():
            return value
        case date():
            return msgspec.msgpack.Ext(_DATE, value.isoformat().encode())
    return value


def _decoded(code: int, data: memoryview) -> Any:
    text = bytes(data).decode()
    if code == _DECIMAL:
        return Decimal(text)
    if code == _DATE:
        return date.fromisoformat(text)
    raise ValueError(f"a value of an unknown kind, {code}")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Row], ext_hook=_decoded)
