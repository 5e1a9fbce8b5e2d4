"""The REST API, one worker: `stat` against a bare Starlette app that answers a constant, in requests a second and in
processor time; and `stat`, a list of 1,000, a commit and a merge against the same verb in process.

All are measured in turns, so that whatever else the machine does falls on all alike; the middle of the rounds is shown.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import perf_counter, process_time
from typing import NamedTuple

import lochan
from bench.gateway import Bare, wait_for_port
from bench.processor import Processor
from bench.table import middle, show
from tests.servers.lochan import LochanServer, free_ports, lochan_server

BRANCH = "many"
BUDGET = 0.4  # of the bare app's requests a second
OBJECTS = 20_000
_ROUNDS, _CLIENTS, _REQUESTS = 5, 16, 3_000
_BASE = "/api/v1/repositories/bench"
_ROOT = Path(__file__).parent.parent


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder,
        lochan_server(Path(folder, "lake")) as server,
        bare_starlette() as bare,
    ):
        server.lochan("repo", "create", "bench")
        _fill(server)
        _stat(server, bare)
        _verbs(server)


def _fill(server: LochanServer) -> None:
    command = [sys.executable, "-m", "bench.fill", server.lake, "bench", BRANCH, str(OBJECTS)]
    subprocess.run(command, check=True, cwd=_ROOT, stdout=subprocess.DEVNULL)
    server.lochan("commit", f"bench@{BRANCH}", "-m", "all")


class Round(NamedTuple):
    per_second: float
    processor_us: float  # of the server, for each request


def _stat(server: LochanServer, bare: Bare) -> None:
    """Of a thousand objects again and again, and of others that nobody has asked for before."""
    requests = _stat_requests(server, _paths(server))
    rows = [_row(server, bare, "stat", [requests[:1_000]] * _ROUNDS)]
    others = [requests[at : at + 2_000] for at in range(1_000, 1_000 + _ROUNDS * 2_000, 2_000)]
    rows.append(_row(server, bare, "stat, first time", others))
    head = ["", "lochan/s", "bare/s", "ratio", "budget", "lochan µs", "bare µs", "ratio"]
    show(f"{_CLIENTS} clients; a bare Starlette app answers a constant", head, rows)


def _row(server: LochanServer, bare: Bare, what: str, rounds: list[list[bytes]]) -> list[object]:
    ours, theirs = [], []
    if rounds[0] is rounds[-1]:
        _load(server.api, server.process.pid, rounds[0], len(rounds[0]))
    for requests in rounds:
        count = _REQUESTS if rounds[0] is rounds[-1] else len(requests)
        ours.append(_load(server.api, server.process.pid, requests, count))
        theirs.append(_load(bare.s3, bare.process.pid, requests, count))
    rate, other = [middle([each.per_second for each in all]) for all in (ours, theirs)]
    used, spent = [middle([each.processor_us for each in all]) for all in (ours, theirs)]
    return [what, rate, other, rate / other, BUDGET, used, spent, spent / used]


def _paths(server: LochanServer) -> list[str]:
    with lochan.connect(server.lake) as lake:
        return [each.path for each in lake.repository("bench").branch(BRANCH).list("")]


def _stat_requests(server: LochanServer, paths: list[str]) -> list[bytes]:
    secret = b64encode(f"{server.access_key}:{server.secret_key}".encode()).decode()
    lines = f"HTTP/1.1\r\nhost: {server.api}\r\nauthorization: Basic {secret}\r\naccept: application/json\r\n\r\n"
    return [f"GET {_BASE}/refs/{BRANCH}/objects/stat?path={path} {lines}".encode() for path in paths]


def _load(address: str, pid: int, requests: list[bytes], count: int) -> Round:
    """Each client sends its next request when it has its last answer."""
    host, _, port = address.partition(":")
    processor = Processor(pid)
    selector = DefaultSelector()
    sockets = [socket.create_connection((host, int(port))) for _ in range(_CLIENTS)]
    before, begun, sent, done = processor.seconds(), perf_counter(), 0, 0
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(each, EVENT_READ)
        each.sendall(requests[sent % len(requests)])
        sent += 1
    while done < sent:
        for key, _ in selector.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            answer = connection.recv(1 << 16)  # of a few hundred bytes, which come at once
            assert answer.startswith(b"HTTP/1.1 200"), answer
            while b"}" not in answer[-2:]:
                answer += connection.recv(1 << 16)
            done += 1
            if sent < count:
                connection.sendall(requests[sent % len(requests)])
                sent += 1
    took, used = perf_counter() - begun, processor.seconds() - before
    selector.close()
    for each in sockets:
        each.close()
    return Round(done / took, used / done * 1e6)


def _verbs(server: LochanServer) -> None:
    """The server's processor time for one request, against that of this process for the same verb."""
    with lochan.connect(server.lake) as lake, closing(Remote(server)) as remote:
        branch = lake.repository("bench").branch(BRANCH)
        path = branch.list_page(limit=1).objects[0].path
        stat, page = f"refs/{BRANCH}/objects/stat?path={path}", f"refs/{BRANCH}/objects/ls?amount=1000"
        rows = [
            _compared("stat", remote, 300, lambda _: branch.stat(path), lambda _: remote.get(stat)),
            _compared("list of 1,000", remote, 10, lambda _: branch.list_page(limit=1_000), lambda _: remote.get(page)),
            _commits(lake.repository("bench"), remote),
            _merges(lake.repository("bench"), remote),
        ]
    show("one client; the server's processor time", ["", "REST ms", "in process ms", "ratio"], rows)


class Remote:
    """One connection to the API."""

    def __init__(self, server: LochanServer) -> None:
        self.processor = Processor(server.process.pid)
        self._connection = http.client.HTTPConnection(server.api, timeout=120)
        secret = b64encode(f"{server.access_key}:{server.secret_key}".encode()).decode()
        self._head = {"authorization": f"Basic {secret}", "content-type": "application/json"}

    def get(self, path: str) -> None:
        self._ask("GET", path, None)

    def post(self, path: str, value: object) -> None:
        self._ask("POST", path, json.dumps(value))

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: str | None) -> None:
        self._connection.request(method, f"{_BASE}/{path}", body, self._head)
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status < 300, text


def _compared(
    what: str, remote: Remote, times: int, local: Callable[[int], object], over: Callable[[int], object]
) -> list[object]:
    """The middle of some rounds, each of so many calls, which are numbered."""
    here, there = [], []
    remote.close()  # the server may have closed it meanwhile; the next request opens another
    for turn in range(_ROUNDS):
        numbers = range(turn * times, (turn + 1) * times)
        before = process_time()
        for number in numbers:
            local(number)
        here.append((process_time() - before) * 1_000 / times)
        before = remote.processor.seconds()
        for number in numbers:
            over(number)
        there.append((remote.processor.seconds() - before) * 1_000 / times)
    return [what, middle(there), middle(here), middle(there) / middle(here)]


def _commits(repository: lochan.Repository, remote: Remote) -> list[object]:
    """Each on a branch of its own, on which one object is staged before."""
    times = 8
    for number in range(_ROUNDS * times):
        for side in ("here", "there"):
            repository.create_branch(f"{side}-{number}", BRANCH).put("one", b"1")
    return _compared(
        "commit",
        remote,
        times,
        lambda number: repository.branch(f"here-{number}").commit("one"),
        lambda number: remote.post(f"branches/there-{number}/commits", {"message": "one"}),
    )


def _merges(repository: lochan.Repository, remote: Remote) -> list[object]:
    """Of the branches with one commit that are there by now, each into a branch that has moved too."""
    times = 8
    for number in range(_ROUNDS * times):
        for side in ("here", "there"):
            target = repository.create_branch(f"into-{side}-{number}", BRANCH)
            target.put("two", b"2")
            target.commit("two")
    return _compared(
        "merge",
        remote,
        times,
        lambda number: repository.branch(f"into-here-{number}").merge(f"here-{number}"),
        lambda number: remote.post(f"refs/there-{number}/merge/into-there-{number}", {}),
    )


@contextmanager
def bare_starlette() -> Iterator[Bare]:
    [port] = free_ports(1)
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop", "--http", "1", "--no-ws"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error", "bench.bare_starlette:app"],
        cwd=_ROOT,
        env={**os.environ},
    )
    try:
        wait_for_port(port)
        yield Bare(f"127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait()
