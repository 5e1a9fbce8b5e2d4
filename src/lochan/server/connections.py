"""Manages the connections that Granian has accepted: which clients may keep theirs, how many requests are answered at
once, and how fast a body must arrive.

Granian accepts connections up to a number, and then none until one ends. A client that sends nothing would hold one for
as long as it likes. So the number is high, and the connections are examined every half second:

    no request under way for `authentication_s`       closed: it is idle, or its head, its TLS handshake, does not come
    too many of one address that are anonymous        the oldest are closed, idle ones first
    too many that are anonymous                       likewise

A connection is anonymous until a request on it is authenticated. A new connection of an honest client is therefore
never among those that are closed, unless hundreds came after it before its first request did.

On Linux, the sockets are found among the open files of the process. On other systems, only Granian's own limits hold.
"""

import asyncio
import os
import socket
import struct
import sys
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TypeVar

from lochan.clock import Clock
from lochan.server.settings import ClientLimits


def hang_up(client: str) -> None:
    """Shuts down the connection of a client. Whatever is still on its way is lost, and the client notices that."""
    _, found = search(client) if sys.platform == "linux" else (-1, None)
    if found is not None:
        with found, suppress(OSError):  # the client has left meanwhile
            found.shutdown(socket.SHUT_RDWR)


# These describe the kernel's `struct tcp_info`, whose fields never move.
_BYTES_ACKED = struct.Struct("=B119xQ")  # the state, and what the other side has confirmed
_CLOSED = 7  # TCP_CLOSE: a client that goes away with bytes unread resets the connection
_OUT_QUEUE = 0x5411  # TIOCOUTQ: the bytes that the kernel holds and the other side has not taken


def sent_bytes(found: socket.socket) -> tuple[int, int]:
    """Returns how many bytes the other side has taken, and how many the kernel still holds for it. Raises OSError if
    the connection is dead."""
    import fcntl

    info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
    queued = fcntl.ioctl(found, _OUT_QUEUE, b"\0\0\0\0")
    state, acked = _BYTES_ACKED.unpack(info)
    if state == _CLOSED:
        raise ConnectionResetError("the other side has reset the connection")
    (waiting,) = struct.unpack("=i", queued)
    return int(acked), int(waiting)


def address(client: str) -> tuple[str, int] | None:
    host, _, port = client.rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdecimal() else None


def search(client: str) -> tuple[int, socket.socket | None]:
    """Finds the connection of a client among the open files of this process. Returns its number and a copy."""
    there = address(client)
    for file in Path("/proc/self/fd").iterdir() if there is not None else ():
        found = open_socket(int(file.name)) if _is_socket(file) else None
        if found is not None:
            if peer(found) == there:
                return int(file.name), found
            found.close()
    return -1, None


def _is_socket(file: Path) -> bool:
    try:
        return file.readlink().name.startswith("socket:")
    except OSError:
        return False


def open_socket(number: int) -> socket.socket | None:
    try:
        copy = os.dup(number)
    except OSError:
        return None
    try:
        return socket.socket(fileno=copy)
    except OSError:  # it has become another file meanwhile
        os.close(copy)
        return None


def peer(found: socket.socket) -> tuple[str, int] | None:
    try:
        there = found.getpeername()
    except OSError:  # a socket that listens
        return None
    return (str(there[0]).removeprefix("::ffff:"), there[1]) if isinstance(there, tuple) else None


@lru_cache(maxsize=1_024)
def is_loopback(host: str) -> bool:
    """Returns whether data to or from the host never leaves this machine. The only known name is `localhost`."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host.lower() == "localhost"
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def client_text(host: str, port: int) -> str:
    """Returns a client's address as Granian writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_LEAST_PAUSE_S = 0.5
_SHARE = 30  # a look takes at most one part in so many of the time
T = TypeVar("T")


class Client:
    """A client that has sent a request, by its address."""

    __slots__ = ("active", "address", "authenticated", "last")

    def __init__(self, now: float, address: str) -> None:
        self.address = address
        self.active = 0  # the number of requests under way
        self.authenticated = False
        self.last = now  # when a request ended, as of the last look


class _Connection:
    """A connection that was found among the open files."""

    __slots__ = ("client", "host", "number", "sent", "since")

    def __init__(self, number: int, client: str, host: str, since: float) -> None:
        self.number = number
        self.client = client
        self.host = host
        self.since = since  # when it was first seen, or when something last went out on it
        self.sent = -1


class ConnectionGuard:
    """Decides which clients may keep their connections. It is used on the event loop. `port` is the listener's port,
    and `idle_s` is how long a client may take nothing of an answer."""

    def __init__(self, limits: ClientLimits, clock: Clock, port: int = 0, idle_s: float = 60.0) -> None:
        self._limits = limits
        self._clock = clock
        self._port = port
        self._idle_s = idle_s
        self._now = clock.boot()
        self._clients: dict[str, Client] = {}
        self._connections: dict[str, _Connection] = {}  # by the name of the open file, which contains its inode
        self._others: set[str] = set()  # sockets that are not connections of the listener
        self.requests = 0  # the number of requests under way

    def begin(self, client: str) -> Client:
        """Counts a request that arrived. `end` must follow."""
        found = self._clients.get(client)
        if found is None:
            found = self._clients[client] = Client(self._now, client)
        found.active += 1
        self.requests += 1
        return found

    def end(self, client: Client) -> None:
        client.active -= 1
        client.last = self._now
        self.requests -= 1

    @property
    def is_full(self) -> bool:
        """Whether the request that has just begun is one too many."""
        return self.requests > self._limits.requests

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Frees the place of a request while a stranger still has to send something, so that it takes no place from
        those who have signed. The number that do this at once is limited by their connections."""
        self.requests -= 1
        try:
            yield
        finally:
            self.requests += 1

    def authenticated(self, client: str) -> None:
        found = self._clients.get(client)
        if found is not None:
            found.authenticated = True

    async def keep(self) -> None:
        """Examines the connections every half second until it is cancelled."""
        while sys.platform == "linux":
            begun = self._clock.boot()
            self.look()
            took = self._clock.boot() - begun
            await self._clock.sleep(max(_LEAST_PAUSE_S, took * _SHARE))

    def look(self) -> None:
        """Examines all connections once, and closes those that may not stay."""
        self._now = self._clock.boot()
        clients = list(self._clients)
        self._find()
        here = {each.client for each in self._connections.values()}
        for client in clients:
            if client not in here and not self._clients[client].active:
                del self._clients[client]
        by_address: dict[str, list[_Connection]] = defaultdict(list)
        for each in self._connections.values():
            if self._is_idle(each):
                self._close(each)
            elif not self._client(each).authenticated:
                by_address[each.host].append(each)
        anonymous: list[_Connection] = []
        for connections in by_address.values():
            anonymous += self._close_oldest(connections, self._limits.anonymous_per_address)
        self._close_oldest(anonymous, self._limits.anonymous)

    def _find(self) -> None:
        """Finds the present connections, and keeps when each was first seen."""
        connections: dict[str, _Connection] = {}
        others: set[str] = set()
        for number in os.listdir("/proc/self/fd"):  # noqa: PTH208  a thousand paths a second are many
            try:
                name = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            except OSError:
                continue
            if not name.startswith("socket:"):
                continue
            connection = self._connections.get(name)
            if connection is None and name not in self._others:
                connection = self._examine(int(number))
            if connection is None:
                others.add(name)
            else:
                connection.number = int(number)
                connections[name] = connection
        self._connections, self._others = connections, others

    def _examine(self, number: int) -> _Connection | None:
        """Returns the connection of an open file, or None if it is not a connection of this listener."""
        found = open_socket(number)
        if found is None:
            return None
        with found:
            try:
                here, there = found.getsockname(), found.getpeername()
            except OSError:  # a socket that listens, or whose client has left
                return None
            if found.family not in (socket.AF_INET, socket.AF_INET6) or here[1] != self._port:
                return None
            host = str(there[0])
            return _Connection(number, client_text(host, there[1]), host, self._now)

    def _client(self, connection: _Connection) -> Client:
        return self._clients.get(connection.client) or Client(connection.since, connection.client)

    def _is_idle(self, connection: _Connection) -> bool:
        """Returns whether nothing happens on a connection. It is not idle while its client still takes an answer."""
        client = self._client(connection)
        if client.active or self._now - max(client.last, connection.since) <= self._limits.authentication_s:
            return False
        found = open_socket(connection.number)
        if found is None:
            return False
        sent = waiting = 0
        with found, suppress(OSError):
            sent, waiting = sent_bytes(found)
        if not waiting:
            return True
        if sent != connection.sent:
            connection.sent, connection.since = sent, self._now
        return self._now - connection.since > self._idle_s

    def _close_oldest(self, connections: list[_Connection], most: int) -> list[_Connection]:
        """Closes the oldest connections until at most so many are left. Returns those."""
        if len(connections) <= most:
            return connections
        connections.sort(key=lambda each: (bool(self._client(each).active), each.since))
        too_many = len(connections) - most
        for each in connections[:too_many]:
            self._close(each)
        return connections[too_many:]

    def _close(self, connection: _Connection) -> None:
        found = open_socket(connection.number)
        if found is None:
            return
        with found, suppress(OSError):  # the client has left meanwhile
            there = found.getpeername()
            if client_text(str(there[0]), there[1]) == connection.client:  # its number may be another's by now
                found.shutdown(socket.SHUT_RDWR)


class BodyPace:
    """The pace of one body. Only time spent waiting for the client counts, so that a slow store is not held against it.
    The client has `idle_s` for each piece, and for all of them together `idle_s` plus a second for every
    `bytes_per_s`."""

    __slots__ = ("_bytes_per_s", "_idle_s", "_left_s")

    def __init__(self, idle_s: float, bytes_per_s: float) -> None:
        self._idle_s = idle_s
        self._bytes_per_s = bytes_per_s
        self._left_s = idle_s

    async def wait(self, step: Awaitable[T]) -> T:
        """Waits for the next piece. Raises TimeoutError."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout(max(0.0, min(self._idle_s, self._left_s))):
            found = await step
        self._left_s -= loop.time() - begun
        return found

    def got(self, size_bytes: int) -> None:
        self._left_s += size_bytes / self._bytes_per_s
