"""The S3 gateway against bare Granian apps: requests a second, one worker each, on the same disk in the same run.

The load comes from `bench/load`, a program in Go; it sends all the same signed requests, and a bare app checks nothing.
Each shares two cores with it. Budgets are against the bare app that keeps bodies in files and gives them back; beside
it stands the ratio to one that answers constants from memory, which does not do the job (see `bare_s3.py`). The
processor time of each server for a request stands in the last columns: it moves less than rates do.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from bench.processor import Processor
from bench.table import show
from tests.servers.lochan import LochanServer, free_ports, lochan_server
from tests.servers.strace import calls, command

_ROOT = Path(__file__).parent
_PROGRAM = _ROOT.parent / ".cache" / "bin" / "s3-load"
_LARGE = 64 << 20
BUDGETS = {"head": 0.60, "get": 0.50, "put": 1.5}
_KEYS, _FOLDERS = "list-type=2&prefix=many%2F", "delimiter=%2F&list-type=2&prefix=many%2Fd%2F"
_BEHIND = "start-after=many%2Fd%2F{}"
_LISTS = {
    "flat": _KEYS,
    "flat, another page each time": f"{_KEYS}&{_BEHIND}",
    "delimiter": _FOLDERS,
    "delimiter, another page each time": f"{_FOLDERS}&{_BEHIND}",
}
ENTRIES = int(os.environ.get("LOCHAN_BENCH_ENTRIES", "1000000"))


class Bare(NamedTuple):
    s3: str  # host:port
    process: subprocess.Popen[bytes]


def main() -> None:
    _build()
    with (
        tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder,
        lochan_server(Path(folder, "lake")) as server,
        bare_app("bare_s3:app", LOCHAN_BENCH_FOLDER=folder) as bare,
        bare_app("bare_s3:constants", LOCHAN_BENCH_FOLDER=folder) as constants,
    ):
        server.lochan("repo", "create", "bench")
        _small(server, bare, constants)
        _large(server, bare)
        _list(server, bare)
        _syncs(folder)


def _small(server: LochanServer, bare: Bare, constants: Bare) -> None:
    rows = []
    for clients in (16, 64):
        for op, count in (("put", 5_000), ("get", 20_000), ("head", 20_000)):
            for at in (server, bare, constants):
                _load(at, op=op, n=count // 10, c=clients, keys=2_000)  # warm
            ours, files, answers = _rates((server, bare, constants), op=op, n=count, c=clients, keys=2_000)
            budget = BUDGETS[op] if clients == 64 else ""
            rates = [ours.rate, files.rate, ours.rate / files.rate, budget, answers.rate, ours.rate / answers.rate]
            rows.append([op, clients, *rates, ours.processor_us, files.processor_us])
    head = ["1 KiB", "clients", "lochan/s", "bare/s", "ratio", "budget", "constants/s", "ratio", "lochan µs", "bare µs"]
    show("S3 requests; a bare PUT is a synced file of its own; best of three", head, rows)


class Best(NamedTuple):
    rate: float
    processor_us: float  # for each request


def _rates(places: Sequence[LochanServer | Bare], **given: Any) -> list[Best]:
    """In turns, so that whatever else the machine does falls on all alike; the best of each."""
    processors = [Processor(at.process.pid) for at in places]
    rounds = []
    for _ in range(3):
        for at, processor in zip(places, processors, strict=True):
            before = processor.seconds()
            rate = _load(at, **given)["bytes_per_second" if "size" in given else "per_second"]
            rounds.append(Best(rate, (processor.seconds() - before) / given["n"] * 1e6))
    each = [rounds[at :: len(places)] for at in range(len(places))]
    return [Best(max(one.rate for one in all), min(one.processor_us for one in all)) for all in each]


def _syncs(folder: str) -> None:
    """Counted by strace, which slows the server down, so that more requests share a sync than would."""
    trace = Path(folder, "trace")
    rows = []
    with lochan_server(Path(folder, "traced"), under=command(trace)) as server:
        server.lochan("repo", "create", "bench")
        _load(server, op="put", n=100, c=1, keys=100)
        for clients in (1, 16, 64):
            before = sum(call.name == "fsync" for call in calls(trace))
            _load(server, op="put", n=640, c=clients, keys=640)
            sleep(0.5)
            rows.append([clients, (sum(call.name == "fsync" for call in calls(trace)) - before) / 640])
    show("syncs for each PUT of 1 KiB", ["clients", "syncs"], rows)


def _large(server: LochanServer, bare: Bare) -> None:
    rows = []
    for op in ("put", "get"):
        given = {"op": op, "n": 8, "c": 2, "size": _LARGE, "keys": 2, "prefix": "main/large/"}
        theirs, ours = _rates((bare, server), **given)
        taken = [ours.processor_us / 1e3, theirs.processor_us / 1e3]
        rows.append([op, ours.rate / 1e6, theirs.rate / 1e6, ours.rate / theirs.rate, 0.7, *taken])
    head = ["", "lochan MB/s", "bare MB/s", "ratio", "budget", "lochan ms", "bare ms"]
    show("64 MiB bodies, two clients; best of three", head, rows)


def _list(server: LochanServer, bare: Bare) -> None:
    """A thousand of a million keys, staged and committed; the bare app answers with as many bytes. The same page again
    is one that the gateway has kept; another page each time is made each time."""
    subprocess.run(
        [sys.executable, "-m", "bench.fill", server.lake, "bench", "many", str(ENTRIES)], check=True, cwd=_ROOT.parent
    )
    rows = []
    for state in ("staged", "committed"):
        if state == "committed":
            server.lochan("commit", "bench@many", "-m", "all")
        for what, query in _LISTS.items():
            _load(server, op="list", n=5, c=1, query=query)
            ours = _load(server, op="list", n=100, c=1, query=query)
            size = int(ours["bytes_per_second"] / ours["per_second"])
            theirs = _load(bare, op="list", n=200, c=1, query=f"size={size}")
            rows.append([state, what, ours["p50_ms"], theirs["p50_ms"], ours["p50_ms"] / theirs["p50_ms"], 5])
    head = ["", "list", "p50 ms", "bare p50 ms", "ratio", "budget"]
    show(f"a page of 1,000 out of {ENTRIES:,} keys, one client", head, rows)


def _load(at: LochanServer | Bare, **given: object) -> dict[str, Any]:
    if isinstance(at, LochanServer):
        given |= {"addr": at.s3, "ak": at.access_key, "sk": at.secret_key}
    else:
        given |= {"addr": at.s3, "ak": "nobody", "sk": "nothing"}
    words = [word for name, value in {"bucket": "bench", **given}.items() for word in (f"-{name}", str(value))]
    done = subprocess.run([_PROGRAM, *words], capture_output=True, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    assert not result["failed"], result
    return result


def _build() -> None:
    _PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", _PROGRAM, "."], cwd=_ROOT / "load", check=True)


@contextmanager
def bare_app(app: str, **environment: str) -> Iterator[Bare]:
    """A module of this folder and its app, run by Granian with one worker."""
    [port] = free_ports(1)
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--loop", "uvloop", "--http", "1", "--no-ws"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error", f"bench.{app}"],
        cwd=_ROOT.parent,
        env={**os.environ, **environment},
    )
    try:
        wait_for_port(port)
        yield Bare(f"127.0.0.1:{port}", process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        finally:
            process.kill()


def wait_for_port(port: int) -> None:
    from socket import create_connection

    deadline = monotonic() + 120
    while monotonic() < deadline:
        try:
            create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.1)
    raise AssertionError("the bare app did not start")
