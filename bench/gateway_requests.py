"""HEAD and GET of 1 KiB over few and very many keys, against a bare Granian app (`bare_files.py`), 64 clients.

Every key is as likely as another, or some are asked for far more often (Zipf); the objects are committed or staged; all
requests read, or every tenth writes. What counts is the processor time of a request, of all processes of the server:
its supervisor, workers and writers. Both servers take turns, and the median of the turns is shown.

    python -m bench gateway_requests                                   2,000, 100,000 and 1,000,000 keys
    python -m bench gateway_requests --keys 2000 --requests 2000       a short form
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bench.bare_files import make_files
from bench.gateway import Bare, _build, _load, bare_app
from bench.processor import Processor
from bench.table import middle, show
from tests.servers.lochan import LochanServer, lochan_server

_ROOT = Path(__file__).parent.parent
_CLIENTS = 64
_TURNS = 3
BUDGETS = {"head": 2.0, "get": 2.5}
TAIL_MAX = 4.0  # p99 in p50s
KEYS = [int(text) for text in os.environ.get("LOCHAN_BENCH_KEYS", "2000,100000,1000000").split(",")]
REQUESTS = int(os.environ.get("LOCHAN_BENCH_REQUESTS", "10000"))


class RequestLoad(NamedTuple):
    keys: int
    order: str
    state: str
    writes: int  # of a hundred
    op: str


class Turn(NamedTuple):
    rate: float
    processor_us: float
    p50_ms: float
    p99_ms: float


def main() -> None:
    _build()
    head = ["keys", "order", "objects", "writes", "", "lochan/s", "bare/s", "lochan µs", "bare µs", "ratio", "budget"]
    for keys in KEYS:
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            rows = list(_over(keys, folder))
        show(
            f"requests over {keys:,} keys: processor time of each; median of {_TURNS}; tail: p99 / p50 ≤ {TAIL_MAX:g}",
            [*head, "p50 ms", "p99 ms", "tail", "bare tail"],
            rows,
        )


def _over(keys: int, folder: str) -> Iterator[list[object]]:
    make_files(folder)
    with (
        lochan_server(Path(folder, "lake")) as server,
        bare_app("bare_files:app", LOCHAN_BENCH_FOLDER=folder) as bare,
    ):
        server.lochan("repo", "create", "bench")
        for state in ("committed", "staged"):
            _fill(server, state, keys)
            for writes, order, op in product((0, 10), ("uniform", "zipf"), ("head", "get")):
                yield _compared(server, bare, RequestLoad(keys, order, state, writes, op))


def _fill(server: LochanServer, branch: str, keys: int) -> None:
    command = [sys.executable, "-m", "bench.fill_bodies", server.lake, "bench", branch, str(keys)]
    subprocess.run(command, check=True, cwd=_ROOT)
    if branch == "committed":
        server.lochan("commit", f"bench@{branch}", "-m", "all")


def _compared(server: LochanServer, bare: Bare, load: RequestLoad) -> list[object]:
    given = {**load._asdict(), "c": _CLIENTS, "prefix": f"{load.state}/"}
    del given["state"]
    places: tuple[LochanServer | Bare, ...] = (server, bare)
    for at in places:  # the signature is known, and files are open
        _load(at, n=max(1, REQUESTS // 10), seed=1, **given)
    turns = [[_turn(at, number, given) for at in places] for number in range(_TURNS)]
    ours, theirs = (_median([turn[at] for turn in turns]) for at in range(2))
    ratio, budget = ours.processor_us / theirs.processor_us, "" if load.writes else BUDGETS[load.op]
    return [
        *(load.keys, load.order, load.state, f"{load.writes} %", load.op),
        *(ours.rate, theirs.rate, ours.processor_us, theirs.processor_us, ratio, budget),
        *(ours.p50_ms, ours.p99_ms, ours.p99_ms / ours.p50_ms, theirs.p99_ms / theirs.p50_ms),
    ]


def _turn(at: LochanServer | Bare, number: int, given: dict[str, Any]) -> Turn:
    processor = Processor(at.process.pid)
    before = processor.seconds()
    done = _load(at, n=REQUESTS, seed=(number + 2) * _CLIENTS, **given)
    taken_us = (processor.seconds() - before) / REQUESTS * 1e6
    return Turn(done["per_second"], taken_us, done["p50_ms"], done["p99_ms"])


def _median(turns: list[Turn]) -> Turn:
    return Turn(*(middle(column) for column in zip(*turns, strict=True)))
