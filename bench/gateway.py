"""The S3 gateway against a bare Granian app: requests a second, one worker each, on the same disk in the same run.

The load comes from `bench/load`, a program in Go; it sends both the same signed requests, and the bare app checks
nothing. Both share two cores with it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench.table import show
from tests.servers.lochan import LochanServer, free_ports, lochan_server
from tests.servers.strace import calls, command

_ROOT = Path(__file__).parent
_PROGRAM = _ROOT.parent / ".cache" / "bin" / "s3-load"
_LARGE = 64 << 20
BUDGETS = {"head": 0.60, "get": 0.50, "put": 1.5}
ENTRIES = int(os.environ.get("LOCHAN_BENCH_ENTRIES", "1000000"))


def main() -> None:
    _build()
    with (
        tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder,
        lochan_server(Path(folder, "lake")) as server,
        _bare(folder) as bare,
    ):
        server.lochan("repo", "create", "bench")
        _small(server, bare)
        _large(server, bare)
        _list(server, bare)
        _syncs(folder)


def _small(server: LochanServer, bare: str) -> None:
    rows = []
    for clients in (16, 64):
        for op, count in (("put", 5_000), ("get", 20_000), ("head", 20_000)):
            for at in (server, bare):
                _load(at, op=op, n=count // 10, c=clients, keys=2_000)  # warm
            theirs = _load(bare, op=op, n=count, c=clients, keys=2_000)
            ours = _load(server, op=op, n=count, c=clients, keys=2_000)
            ratio = ours["per_second"] / theirs["per_second"]
            budget = BUDGETS[op] if clients == 64 else ""
            rows.append([op, clients, ours["per_second"], ours["p99_ms"], theirs["per_second"], ratio, budget])
    head = ["1 KiB", "clients", "lochan/s", "p99 ms", "bare/s", "ratio", "budget"]
    show("S3 requests; a bare PUT is a synced file of its own", head, rows)


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


def _large(server: LochanServer, bare: str) -> None:
    rows = []
    for op in ("put", "get"):
        given = {"op": op, "n": 8, "c": 2, "size": _LARGE, "keys": 2, "prefix": "main/large/"}
        theirs, ours = _load(bare, **given), _load(server, **given)
        ratio = ours["bytes_per_second"] / theirs["bytes_per_second"]
        rows.append([op, ours["bytes_per_second"] / 1e6, theirs["bytes_per_second"] / 1e6, ratio, 0.7])
    show("64 MiB bodies, two clients", ["", "lochan MB/s", "bare MB/s", "ratio", "budget"], rows)


def _list(server: LochanServer, bare: str) -> None:
    """A thousand of a million keys, staged and committed; the bare app answers with as many bytes."""
    subprocess.run(
        [sys.executable, "-m", "bench.fill", server.lake, "bench", "many", str(ENTRIES)], check=True, cwd=_ROOT.parent
    )
    rows = []
    for state in ("staged", "committed"):
        if state == "committed":
            server.lochan("commit", "bench@many", "-m", "all")
        for what, query in (
            ("flat", "list-type=2&prefix=many%2F"),
            ("flat, in the middle", "list-type=2&prefix=many%2F&start-after=many%2Fd%2F005"),
            ("delimiter", "delimiter=%2F&list-type=2&prefix=many%2Fd%2F"),
        ):
            _load(server, op="list", n=5, c=1, query=query)
            ours = _load(server, op="list", n=100, c=1, query=query)
            size = int(ours["bytes_per_second"] / ours["per_second"])
            theirs = _load(bare, op="list", n=200, c=1, query=f"size={size}")
            rows.append([state, what, ours["p50_ms"], theirs["p50_ms"], ours["p50_ms"] / theirs["p50_ms"], 5])
    head = ["", "list", "p50 ms", "bare p50 ms", "ratio", "budget"]
    show(f"a page of 1,000 out of {ENTRIES:,} keys, one client", head, rows)


def _load(at: LochanServer | str, **given: object) -> dict[str, Any]:
    if isinstance(at, LochanServer):
        given |= {"addr": at.s3, "ak": at.access_key, "sk": at.secret_key}
    else:
        given |= {"addr": at, "ak": "nobody", "sk": "nothing"}
    words = [word for name, value in {"bucket": "bench", **given}.items() for word in (f"-{name}", str(value))]
    done = subprocess.run([_PROGRAM, *words], capture_output=True, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    assert not result["failed"], result
    return result


def _build() -> None:
    _PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", _PROGRAM, "."], cwd=_ROOT / "load", check=True)


@contextmanager
def _bare(folder: str) -> Iterator[str]:
    [port] = free_ports(1)
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--loop", "uvloop", "--http", "1", "--no-ws"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error", "bench.bare_s3:app"],
        cwd=_ROOT.parent,
        env={**os.environ, "LOCHAN_BENCH_FOLDER": folder},
    )
    try:
        address = f"127.0.0.1:{port}"
        _wait(port)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    from socket import create_connection

    deadline = monotonic() + 30
    while monotonic() < deadline:
        try:
            create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.1)
    raise AssertionError("the bare app did not start")
