"""Small files of a local store, written and synced by a process beside a server.

    event loop ──  path, bytes  ──▶ scribe: a temporary file, its sync, its name, the sync of the folder
               ◀── done, or why not ──

A synced file takes a dozen system calls, and at each of them a thread gives the interpreter away and must ask for it
again: beside a busy event loop a put of 0.35 ms took 1.2 to 1.8, and the loop lost as much by it. Another process has
an interpreter of its own.

The scribe runs the same code as the threads do (`scribe_process.py`), and ends with the process that started it. What
it had in hand when it was killed is done again by a thread: a file is the same whoever puts it, and of a name that is
taken already the folder is synced before anybody says so.
"""

import asyncio
import contextlib
import logging
import os
import socket
import struct
import subprocess
import sys
import threading
from typing import Final

import msgspec

from lochan import errors
from lochan.errors import LochanError, Transient

HEAD: Final = struct.Struct("<QBH")  # the number of a request, its verb, the length of its path
DONE: Final = struct.Struct("<Q")  # behind it, where it failed, a Failure

_BUFFER_BYTES = 4 << 20  # asked for; the kernel gives what it allows
_FAILURE_BYTES_MAX = 16 << 10
_log = logging.getLogger("lochan.store")


class Failure(msgspec.Struct, array_like=True):
    """One of our errors on its way between two processes."""

    name: str  # of its class
    message: str
    hint: str
    broken: str  # why nothing can be written any more; empty: it can

    def error(self) -> LochanError:
        kind = getattr(errors, self.name, None)
        if not isinstance(kind, type) or not issubclass(kind, LochanError):
            kind = Transient
        return kind(self.message, hint=self.hint)


class Scribe:
    """Of one event loop. `connection` leads to the process: messages in, answers out, in any order."""

    def __init__(self, connection: socket.socket, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self._socket = connection
        self._process = process
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Failure | None]] = {}
        self._number = 0
        self._loop.add_reader(connection.fileno(), self._answered)

    @staticmethod
    def suits() -> bool:
        """Whether the system has sockets that keep messages apart, so that several threads may wait at one."""
        return sys.platform == "linux"

    @classmethod
    def start(cls, root: bytes) -> "Scribe":
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            for end in (ours, its):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            # -P: what lies in the folder that the server was started in is not ours to import.
            words = ["-P", "-m", "lochan.store.scribe_process", str(its.fileno()), os.fsdecode(root)]
            process = subprocess.Popen([sys.executable, *words], pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
        return cls(ours, process)

    async def wrote(self, verb: int, path: bytes, data: bytes) -> Failure | bool:
        """True: it is done, and durable. False: it may or may not have been done, and must be done by another."""
        if self._socket.fileno() < 0 or asyncio.get_running_loop() is not self._loop:
            return False
        self._number = number = self._number + 1
        try:
            self._socket.sendmsg([HEAD.pack(number, verb, len(path)), path, data])
        except OSError:  # it has more in hand than the socket holds, or has died
            return False
        future = self._waiting[number] = self._loop.create_future()
        try:
            failure = await future
        except _Died:
            return False
        return failure or True

    def close(self) -> None:
        """The process ends by that, if it has not. Who still waits is told to do it himself."""
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        if self._process is not None:
            threading.Thread(target=self._process.wait, daemon=True).start()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(_Died())

    def _answered(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    answer = self._socket.recv(DONE.size + _FAILURE_BYTES_MAX)
                except ConnectionResetError:
                    answer = b""
                if not answer:
                    _log.warning("the process that writes small files has ended; threads do its work from now on")
                    self.close()
                    return
                self._settle(answer)

    def _settle(self, answer: bytes) -> None:
        (number,) = DONE.unpack_from(answer)
        future = self._waiting.pop(number, None)
        if future is not None and not future.done():  # a caller who was cancelled does not wait any more
            rest = answer[DONE.size :]
            future.set_result(_failures.decode(rest) if rest else None)


class _Died(Exception):
    pass


_failures = msgspec.msgpack.Decoder(Failure)


def answer(number: int, failure: Failure | None) -> bytes:
    """For the other end to send."""
    if failure is None:
        return DONE.pack(number)
    told = msgspec.msgpack.encode(failure)
    if len(told) > _FAILURE_BYTES_MAX:
        told = msgspec.msgpack.encode(Failure(failure.name, failure.message[:1_000], "", failure.broken[:1_000]))
    return DONE.pack(number) + told
