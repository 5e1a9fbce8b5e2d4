"""PUTs of 1 KiB on a disk: their processor time against a bare app that writes a file and does not sync it, and one
worker against two for PUT, GET and HEAD.

All of a server's processes count: supervisor, workers, scribes. The load generator shares the two cores with them, and
its own time stands beside theirs: with two workers, all three want the processors, so the wall rate alone would blame
the server for what the generator takes. "of one" compares the rates; "at most" is what two workers could reach if all
processors did nothing else: cores / (server + generator time of a request), over the same for one worker, which cannot
use more than its own threads do.
"""

import os
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

from bench.gateway import Bare, _build, _load, bare_app
from bench.processor import Processor
from bench.table import middle, show
from tests.servers.lochan import LochanServer, lochan_server

_ROUNDS = 5
_CLIENTS = 64
_KEYS = 20_000
_COUNTS = {"put": 10_000, "get": 20_000, "head": 20_000}
BUDGET_PUT = 1.3  # processor time of a PUT, against the bare app


class Turn(NamedTuple):
    rate: float
    server_us: float  # processor time for each request, of all of the server's processes
    load_us: float  # and of the generator
    p50_ms: float
    p99_ms: float


def main() -> None:
    _build()
    with (
        tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder,
        lochan_server(Path(folder, "one")) as one,
        lochan_server(Path(folder, "two"), workers=2) as two,
        bare_app("bare_put:app", LOCHAN_BENCH_FOLDER=folder) as bare,
    ):
        for server in (one, two):
            server.lochan("repo", "create", "bench")
        _puts(one, two, bare)
        _workers(one, two)


def _puts(one: LochanServer, two: LochanServer, bare: Bare) -> None:
    places: dict[str, LochanServer | Bare] = {"one worker": one, "two workers": two, "bare": bare}
    turns = rounds(places, "put")
    base = middle([turn.server_us for turn in turns["bare"]])
    rows = []
    for name, all_ in turns.items():
        us = middle([turn.server_us for turn in all_])
        budget = BUDGET_PUT if name != "bare" else ""
        rows.append([name, us, us / base, budget, *(middle(one) for one in _wall(all_))])
    head = ["PUT of 1 KiB", "µs of processor", "x bare", "budget", "per second", "p50 ms", "p99 ms"]
    show(f"{_CLIENTS} clients on a disk; a bare PUT is a file that is not synced; median of {_ROUNDS}", head, rows)


def _workers(one: LochanServer, two: LochanServer) -> None:
    rows = []
    for op in _COUNTS:
        turns = rounds({"one": one, "two": two}, op)
        figures = {name: [middle(list(column)) for column in zip(*all_, strict=True)] for name, all_ in turns.items()}
        single, double = (Turn(*figures[name]) for name in ("one", "two"))
        whole = double.server_us + double.load_us
        most = (os.cpu_count() or 1) * 1e6 / whole / single.rate
        row = [op, single.rate, double.rate, double.rate / single.rate, most]
        rows.append([*row, single.server_us, double.server_us, single.load_us, double.p50_ms, double.p99_ms])
    head = ["", "one/s", "two/s", "of one", "at most", "one µs", "two µs", "load µs", "two p50 ms", "two p99 ms"]
    show(f"one worker and two, {_CLIENTS} clients, {os.cpu_count()} cores; median of {_ROUNDS}", head, rows)


def _wall(turns: list[Turn]) -> list[list[float]]:
    return [[turn.rate for turn in turns], [turn.p50_ms for turn in turns], [turn.p99_ms for turn in turns]]


def rounds(places: dict[str, LochanServer | Bare], op: str, count: int = _ROUNDS) -> dict[str, list[Turn]]:
    """In turns, so that whatever else the machine does falls on all alike."""
    given: dict[str, Any] = {"op": op, "n": _COUNTS[op], "c": _CLIENTS, "keys": _KEYS}
    if op == "put":
        for at in places.values():
            _load(at, **given)  # warm
    else:
        for at in places.values():
            _load(at, **{**given, "op": "put", "n": _KEYS})
            _load(at, **given)
    processors = {name: Processor(at.process.pid) for name, at in places.items()}
    turns: dict[str, list[Turn]] = {name: [] for name in places}
    for _ in range(count):
        for name, at in places.items():
            turns[name].append(turn(at, processors[name], given))
    return turns


def turn(at: LochanServer | Bare, processor: Processor, given: dict[str, Any]) -> Turn:
    before, generator = processor.seconds(), _children()
    result = _load(at, **given)
    each = 1e6 / given["n"]
    server_us, load_us = (processor.seconds() - before) * each, (_children() - generator) * each
    return Turn(result["per_second"], server_us, load_us, result["p50_ms"], result["p99_ms"])


def _children() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
