"""Sends large answers as fast as their clients take them, and all of them together in bounded memory.

Granian takes whatever it is given of a streamed body at once, however slow the client is, so a large object would lie
in memory as a whole. The kernel knows how much of it has left. On Linux it is asked, and no more than a window is given
ahead of that. On other systems, or if the connection cannot be found, the body is given as before.

    in memory, of one answer: the window, and one piece that is read ahead; both begin small, and grow as it is taken
    of all of them:           ALL_BYTES, shared evenly; a thousand answers come to their least shares
"""

import asyncio
import socket
import sys
from contextlib import suppress
from typing import Final

from lochan.server.connections import address, open_socket, peer, search, sent_bytes
from lochan.server.gateway.wire.errors import S3Error

ALL_BYTES: Final = 64 << 20
WINDOW_BYTES: Final = range(256 << 10, 8 << 20)  # the least and the most
PIECE_BYTES: Final = range(128 << 10, 4 << 20)
FIRST_BYTES: Final = 1 << 20  # for a client that has not taken anything yet

_FIRST_NAP_S, _LONGEST_NAP_S, _NAP_OF_EACH_S = 0.002, 0.05, 0.001
_FILES_MAX = 4_096


class Flows:
    """The running answers of one process. The share of one answer changes with their number, so it is computed at every
    step."""

    def __init__(self) -> None:
        self._count = 0
        self._files: dict[str, int] = {}  # of connections that were found before, by the address of their clients

    def begin(self, client: str, length: int, patience_s: float) -> "Flow":
        """Returns the flow of an answer of that length, on the connection of that client. It is called before the
        answer begins. The caller closes the flow."""
        watched = length > WINDOW_BYTES.start and sys.platform == "linux"
        try:
            flow = Flow(self, self._connection(client) if watched else None, patience_s)
        except S3Error:  # the client no longer listens, as will be noticed later
            flow = Flow(self, None, patience_s)
        self._count += 1
        return flow

    def ended(self) -> None:
        self._count -= 1

    def window_bytes(self) -> int:
        return _within(WINDOW_BYTES, self._share() // 2)

    def piece_bytes(self) -> int:
        """Returns the size of one piece. One piece is read while another is being sent."""
        return _within(PIECE_BYTES, self._share() // 4)

    def longest_nap_s(self) -> float:
        """Returns the longest pause between two looks at a connection. With many slow clients, each is looked at less
        often."""
        return max(_LONGEST_NAP_S, min(1.0, _NAP_OF_EACH_S * self._count))

    def _share(self) -> int:
        return ALL_BYTES // max(1, self._count)

    def _connection(self, client: str) -> socket.socket | None:
        """Returns the socket of the client's connection, or None. The caller closes it, and the server goes on using
        the connection."""
        known = self._files.get(client)
        if known is not None:
            found = open_socket(known)
            if found is not None and peer(found) == address(client):
                return found
            if found is not None:  # another connection has that number by now
                found.close()
        number, found = search(client)
        if len(self._files) >= _FILES_MAX:
            self._files.clear()
        self._files[client] = number
        return found


class Flow:
    """The flow of one answer."""

    def __init__(self, flows: Flows, connection: socket.socket | None, patience_s: float) -> None:
        self._flows = flows
        self._socket = connection
        self._patience_s = patience_s
        self._begun = self._gone_out()
        self._taken = 0

    def piece_bytes(self) -> int:
        return min(self._flows.piece_bytes(), FIRST_BYTES + self._taken)

    async def room(self, given: int) -> None:
        """Returns when less than a window of what was given is still on its way to the kernel. Raises RequestTimeout if
        the client takes nothing for too long; the connection is then dead."""
        if self._socket is None:
            return
        nap, waited, before = _FIRST_NAP_S, 0.0, -1
        while given - (gone := self._gone_out() - self._begun) > min(self._flows.window_bytes(), FIRST_BYTES + gone):
            self._taken = gone
            if gone != before:
                nap, waited, before = _FIRST_NAP_S, 0.0, gone
            elif waited > self._patience_s:
                with suppress(OSError):  # it may have ended at this very moment
                    self._socket.shutdown(socket.SHUT_RDWR)
                raise S3Error("RequestTimeout")
            await asyncio.sleep(nap)
            waited += nap
            nap = min(2 * nap, self._flows.longest_nap_s())
        self._taken = gone

    def close(self) -> None:
        self._flows.ended()
        if self._socket is not None:
            self._socket.close()

    def _gone_out(self) -> int:
        """Returns how many bytes have left. Raises RequestTimeout if the connection is gone."""
        if self._socket is None:
            return 0
        try:
            return sum(sent_bytes(self._socket))
        except OSError:
            raise S3Error("RequestTimeout") from None


def _within(bounds: range, size: int) -> int:
    return max(bounds.start, min(bounds.stop, size))
