"""The sockets of connections that Granian has accepted: on Linux they are found among the open files of this process,
by the addresses of their clients."""

import os
import socket
import struct
import sys
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path


def hang_up(client: str) -> None:
    """Whatever is still on its way there is lost, and the client sees that it is."""
    _, found = search(client) if sys.platform == "linux" else (-1, None)
    if found is not None:
        with found, suppress(OSError):  # it has left meanwhile
            found.shutdown(socket.SHUT_RDWR)


# Of the kernel's `struct tcp_info`, whose fields never move.
_BYTES_ACKED = struct.Struct("=B119xQ")  # the state, and what the other side has confirmed
_CLOSED = 7  # TCP_CLOSE: a client that goes away with bytes unread resets the connection
_OUT_QUEUE = 0x5411  # TIOCOUTQ: what the kernel holds that the other side has not taken


def sent_bytes(found: socket.socket) -> tuple[int, int]:
    """How many the other side has taken, and how many the kernel still holds for it. Raises OSError for a dead one."""
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
    """Among the open files of this process: its number, and a copy."""
    wanted = address(client)
    for file in Path("/proc/self/fd").iterdir() if wanted is not None else ():
        found = opened(int(file.name)) if _is_socket(file) else None
        if found is not None:
            if peer(found) == wanted:
                return int(file.name), found
            found.close()
    return -1, None


def _is_socket(file: Path) -> bool:
    try:
        return file.readlink().name.startswith("socket:")
    except OSError:
        return False


def opened(number: int) -> socket.socket | None:
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
    except OSError:  # one that listens
        return None
    return (str(there[0]).removeprefix("::ffff:"), there[1]) if isinstance(there, tuple) else None


def is_loopback(host: str) -> bool:
    """Whether what goes there, or comes from there, never leaves this machine. Of names only `localhost` is known."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host.lower() == "localhost"
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def client_text(host: str, port: int) -> str:
    """As Granian writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
