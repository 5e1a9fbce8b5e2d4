"""Large answers go out as fast as their client takes them.

Granian takes whatever it is given of a streamed body at once, however slow the client is, so that a large object would
lie in memory as a whole. The kernel knows how much of it has left: on Linux it is asked, and no more than a window is
given ahead of that. Elsewhere, or where the connection cannot be found, the body is given as before.
"""

import asyncio
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

from lochan.server.gateway.wire.errors import S3Error

WINDOW_BYTES: Final = 8 << 20

_FIRST_NAP_S, _LONGEST_NAP_S = 0.002, 0.05
# Of the kernel's `struct tcp_info`, whose fields never move.
_BYTES_ACKED = struct.Struct("=120xQ")
_OUT_QUEUE = 0x5411  # TIOCOUTQ: what the kernel holds that the other side has not taken


class Flow:
    """Of one connection, named by the address of its client. Made before an answer of that length begins."""

    def __init__(self, client: str, length: int, patience_s: float) -> None:
        watched = length > WINDOW_BYTES and sys.platform == "linux"
        self._socket = _connection(client) if watched else None
        self._patience_s = patience_s
        self._begun = self._gone_out()

    async def room(self, given: int) -> None:
        """Returns when less than a window of what was given is still on its way to the kernel. Raises RequestTimeout
        where the client takes nothing for too long; the connection is dead then."""
        if self._socket is None:
            return
        nap, waited, before = _FIRST_NAP_S, 0.0, -1
        while given - (gone := self._gone_out() - self._begun) > WINDOW_BYTES:
            if gone != before:
                nap, waited, before = _FIRST_NAP_S, 0.0, gone
            elif waited > self._patience_s:
                self._socket.shutdown(socket.SHUT_RDWR)
                raise S3Error("RequestTimeout")
            await asyncio.sleep(nap)
            waited += nap
            nap = min(2 * nap, _LONGEST_NAP_S)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _gone_out(self) -> int:
        """Raises RequestTimeout for a connection that is no more."""
        if self._socket is None:
            return 0
        import fcntl

        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
            queued = fcntl.ioctl(self._socket, _OUT_QUEUE, b"\0\0\0\0")
        except OSError:
            raise S3Error("RequestTimeout") from None
        (acked,) = _BYTES_ACKED.unpack(info)
        (waiting,) = struct.unpack("=i", queued)
        return int(acked) + int(waiting)


def _connection(client: str) -> socket.socket | None:
    """Among the open files of this process. The caller closes what is found, which the server goes on using."""
    host, _, port = client.rpartition(":")
    wanted = (host.strip("[]"), int(port)) if port.isdecimal() else None
    for file in Path("/proc/self/fd").iterdir() if wanted is not None else ():
        found = _socket(file)
        if found is None:
            continue
        try:
            there = found.getpeername()
        except OSError:  # one that listens
            there = None
        if isinstance(there, tuple) and (str(there[0]).removeprefix("::ffff:"), there[1]) == wanted:
            return found
        found.close()
    return None


def _socket(file: Path) -> socket.socket | None:
    try:
        if not file.readlink().name.startswith("socket:"):
            return None
        number = os.dup(int(file.name))
    except OSError:
        return None
    try:
        return socket.socket(fileno=number)
    except OSError:  # it has become another file meanwhile
        os.close(number)
        return None
