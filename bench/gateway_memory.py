"""The memory of a server after many PUTs of as many keys: `python -m bench gateway_memory --puts 1000000`."""

import os
import tempfile
from pathlib import Path
from time import monotonic

from bench.gateway import _build, _load
from bench.table import show
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.memory import family, own

PUTS = int(os.environ.get("LOCHAN_BENCH_PUTS", "20000"))
BUDGET_MIB = 1_024
_STEPS = 20


def main() -> None:
    _build()
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder, lochan_server(Path(folder, "lake")) as server:
        server.lochan("repo", "create", "bench")
        rows: list[list[object]] = [[0, _mib(server), "", ""]]
        each = max(1, PUTS // _STEPS)
        begun = monotonic()
        for step in range(_STEPS):
            done = _load(server, op="put", n=each, c=64, keys=each, prefix=f"main/{step:02d}/")
            rows.append([each * (step + 1), _mib(server), done["per_second"], done["p99_ms"]])
        elapsed = monotonic() - begun
        listed = server.lochan("status", "bench@main", "-f", "json")
        head = ["PUTs", "MiB of the worker", "per second", "p99 ms"]
        show(f"memory while {PUTS:,} keys are put, 64 clients, {elapsed:.0f} s; budget {BUDGET_MIB:,} MiB", head, rows)
        assert listed, "it can still be asked"


def _mib(server: LochanServer) -> float:
    """Of the largest of its processes, which is the gateway's worker."""
    return max(own(pid) for pid in family(server.process.pid)) / (1 << 20)
