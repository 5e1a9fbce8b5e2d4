"""A bare Granian app that answers with as many bytes as the path says, and the time of its answer for one client."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from socket import create_connection, socket
from time import perf_counter, sleep
from typing import Any

from bench.table import middle

_PATIENCE_S = 20.0
_bodies: dict[str, bytes] = {}


async def app(scope: Any, protocol: Any) -> None:
    body = _bodies.get(scope.path)
    if body is None:
        body = _bodies[scope.path] = b"x" * int(scope.path[1:])
    protocol.response_bytes(200, [("content-type", "application/json")], body)


class Bare:
    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)

    def p50_ms(self, size: int, rounds: int = 101) -> float:
        taken = []
        for _ in range(rounds):
            begun = perf_counter()
            self._connection.request("GET", f"/{size}")
            assert len(self._connection.getresponse().read()) == size
            taken.append((perf_counter() - begun) * 1e3)
        return middle(taken)


@contextmanager
def granian() -> Iterator[Bare]:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen([*command, "--no-ws", f"{__name__}:app"])
    try:
        _until_it_listens(port)
        yield Bare(port)
    finally:
        process.terminate()
        process.wait()


def _until_it_listens(port: int) -> None:
    deadline = perf_counter() + _PATIENCE_S
    while True:
        try:
            create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if perf_counter() > deadline:
                raise
            sleep(0.05)
