"""Messages between a decoder and who started it: a kind, a length, bytes; down to the decoder also open files."""

from __future__ import annotations

import socket
import struct
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
