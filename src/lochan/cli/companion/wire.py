"""Sends messages between front and companion over the socket.

    front      kind, hello          request, descriptors                  "go"
    child                    "hello"                       "ready", pidfd       "exit" code, or "killed" signal
                                                           or "refused"

The descriptors are sent only to a process that has answered. In the queue of one that is stuck, they would keep open
the pipes of a command that does its work itself.

Requests are marshalled. That module is built in, and both ends are the same Python (`hello`) and the same user.
"""

import _socket
import marshal
import os
import sys

READS, ANY = b"r", b"a"  # kinds of commands: one that only reads, and one that may do anything
HELLO, READY, REFUSED, EXIT, KILLED = b"H", b"R", b"N", b"E", b"K"
GO = b"G"
ANSWER_BYTES = 5  # one letter and a number
REQUEST_BYTES_MAX = 16 << 20  # the kernel gives a process less than that for arguments and environment together
_HEAD_BYTES = 8
_INT_BYTES = 4  # the size of an int in C, on every machine that Linux runs on
_FILES_MAX = 4
_KIND_S = 0.05  # a front sends the kind as soon as it is connected, but the machine may be busy


class CommandRequest:
    """The process that the user started, as far as a command can see it."""

    __slots__ = ("argv", "blocked", "encodings", "env", "identity", "ignored", "open_files", "umask")

    def __init__(
        self,
        argv: list[str],
        env: dict[bytes, bytes],
        umask: int,
        open_files: list[int],
        encodings: list[tuple[str, str] | None],
        ignored: list[int],
        blocked: list[int],
        identity: tuple[object, ...],
    ) -> None:
        self.argv = argv
        self.env = env
        self.umask = umask
        self.open_files = open_files  # of 0, 1 and 2; they follow in this order, and then the working folder
        self.encodings = encodings  # with error handlers, for stdin, stdout and stderr; None if closed
        self.ignored = ignored  # signals, like those that are blocked
        self.blocked = blocked
        self.identity = identity

    def encode(self) -> bytes:
        return marshal.dumps({name: getattr(self, name) for name in self.__slots__})


def peer(connection: _socket.socket) -> tuple[int, int]:
    """Returns the process and the user at the other end, as the kernel reports them."""
    found = _numbers(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 3 * _INT_BYTES))
    return found[0], found[1]


def send_hello(connection: _socket.socket, kind: bytes, hello: bytes) -> None:
    connection.sendall(kind + len(hello).to_bytes(_HEAD_BYTES, "big") + hello)


def peek_kind(connection: _socket.socket) -> bytes | None:
    """Returns the kind of the command, which stays to be received. Returns b"" if the front has already left, and None
    if it sends nothing."""
    try:
        connection.settimeout(_KIND_S)
        return connection.recv(1, _socket.MSG_PEEK)
    except OSError:
        return None
    finally:
        connection.settimeout(None)


def receive_hello(connection: _socket.socket, hello: bytes) -> bool:
    """Returns whether the front has the same code. Raises OSError and EOFError."""
    if _receive(connection, 1) not in (READS, ANY):
        return False
    size = int.from_bytes(_receive(connection, _HEAD_BYTES), "big")
    return size == len(hello) and _receive(connection, size) == hello


def send_request(connection: _socket.socket, request: CommandRequest, files: list[int]) -> None:
    """Sends the request and the descriptors. Raises OSError."""
    body = request.encode()
    head = len(body).to_bytes(_HEAD_BYTES, "big")
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _bytes(files))]
    sent = connection.sendmsg([head], rights)
    connection.sendall(head[sent:] + body)


def receive_request(connection: _socket.socket) -> tuple[CommandRequest, list[int]]:
    """Returns the request and its descriptors. Raises OSError, EOFError and ValueError."""
    head, files = _receive_files(connection, _HEAD_BYTES)
    size = int.from_bytes(head, "big")
    if size > REQUEST_BYTES_MAX:
        raise ValueError(size)
    return CommandRequest(**marshal.loads(_receive(connection, size))), files


def send_answer(connection: _socket.socket, letter: bytes, number: int = 0, files: list[int] | None = None) -> None:
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _bytes(files))] if files else []
    connection.sendmsg([letter + number.to_bytes(4, "big", signed=True)], rights)


def receive_answer(connection: _socket.socket) -> tuple[bytes, int, list[int]]:
    """Returns the letter of the answer, its number and its descriptors. Raises OSError and EOFError."""
    answer, files = _receive_files(connection, ANSWER_BYTES)
    return answer[:1], int.from_bytes(answer[1:], "big", signed=True), files


def _receive_files(connection: _socket.socket, size: int) -> tuple[bytes, list[int]]:
    space = _socket.CMSG_SPACE(_INT_BYTES * _FILES_MAX)
    data, rights, _, _ = connection.recvmsg(size, space, getattr(_socket, "MSG_CMSG_CLOEXEC", 0))
    files: list[int] = []
    for level, kind, content in rights:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            files += _numbers(content)
    for file in files:
        os.set_inheritable(file, False)
    return data + _receive(connection, size - len(data), begun=bool(data)), files


def _receive(connection: _socket.socket, size: int, *, begun: bool = True) -> bytes:
    if size and not begun:
        raise EOFError
    pieces = []
    while size:
        piece = connection.recv(min(size, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _bytes(numbers: list[int]) -> bytes:
    """Returns the numbers as an array of C."""
    return b"".join(number.to_bytes(_INT_BYTES, sys.byteorder) for number in numbers)


def _numbers(data: bytes) -> list[int]:
    return [
        int.from_bytes(data[at : at + _INT_BYTES], sys.byteorder, signed=True)
        for at in range(0, len(data) - _INT_BYTES + 1, _INT_BYTES)
    ]
