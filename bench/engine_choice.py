"""DuckDB and Spark on one machine, whole commands: a load of NDJSON, then a query that sorts all of it.

This is what `--engine auto` rests on: for each size the wall time, the processor time of all processes,
and how much lay on the disk meanwhile (what the engine spilled and wrote for itself, not the lake). Each
command is a new process, and the JVM's start is part of it, as it is for who types the command.
"""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench.load_pool import write_lines
from bench.table import show

ROWS = [int(each) for each in os.environ.get("LOCHAN_BENCH_SIZES", "500000,2000000,8000000").split(",")]
_LOCHAN = str(Path(sys.executable).with_name("lochan"))
_QUERY = "from logs | sort uid, ts | tail 1"
_NAP_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("LOCHAN_")}


class Taken(NamedTuple):
    wall: float
    cpu: float
    disk_bytes: int


def main() -> None:
    _adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as name:
        folder = Path(name)
        rows = [row for count in ROWS for row in _compared(folder, count)]
    head = ["", "MB", "wall s", "x DuckDB", "CPU s", "x DuckDB", "disk MB", "x input"]
    show("load and query on one machine, whole commands", head, rows)


def _compared(folder: Path, count: int) -> list[list[object]]:
    file = folder / "rows.ndjson"
    write_lines(file, count)
    size = file.stat().st_size
    shown: list[list[object]] = []
    loads = {engine: _load(folder, engine, file) for engine in ("duckdb", "spark")}
    queries = {engine: _taken(folder, ["query", "--engine", engine, _QUERY]) for engine in ("duckdb", "spark")}
    for act, taken in (("load", loads), ("sort all", queries)):
        base = taken["duckdb"]
        for engine, each in taken.items():
            ratios = each.wall, each.wall / base.wall, each.cpu, each.cpu / base.cpu
            shown.append([f"{act}, {engine}", size / 1e6, *ratios, each.disk_bytes / 1e6, each.disk_bytes / size])
    file.unlink()
    return shown


def _load(folder: Path, engine: str, file: Path) -> Taken:
    lake = folder / "lake"
    shutil.rmtree(lake, ignore_errors=True)
    subprocess.run([_LOCHAN, "init", str(lake)], check=True, env=_ENVIRONMENT, capture_output=True)
    return _taken(folder, ["load", "logs", "--key", "ts", "--engine", engine, str(file)])


def _taken(folder: Path, words: list[str]) -> Taken:
    place = folder / "tmp"
    place.mkdir(exist_ok=True)
    most = _Most(place)
    before, begun = _used(), perf_counter()
    environment = {**_ENVIRONMENT, "TMPDIR": str(place), "SPARK_LOCAL_DIRS": str(place)}
    command = [_LOCHAN, "--lake", str(folder / "lake"), *words]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = perf_counter() - begun
    with suppress(ChildProcessError):
        while True:  # until a JVM that the command has left behind is gone too
            os.wait()
    taken = Taken(wall, _used() - before, most.stop())
    shutil.rmtree(place)
    return taken


def _adopt_orphans() -> None:
    """A JVM outlives the command that started it by a moment; its processor time is counted by who waits for it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _used() -> float:
    """By processes below this one that have ended, and theirs."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


class _Most:
    """The most bytes that a folder held, looked at again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._found

    def _watch(self) -> None:
        while not self._ended.wait(_NAP_S):
            self._found = max(self._found, _bytes_in(self._folder))


def _bytes_in(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it is gone since it was listed
                total += Path(path, name).stat().st_blocks * 512
    return total


if __name__ == "__main__":
    main()
