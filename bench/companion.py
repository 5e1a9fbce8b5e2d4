"""Commands on a lake of 1,000,000 committed and 100,000 staged entries, with the companion and without.

Processor time is compared, because the machine may be busy: of the front, of the companion and of the processes that it
forks. Bare is a Python process that connects to a socket and prints one line; for a command that starts cold, a process
that imports the libraries it cannot do without. `--entries 10000` makes a smaller lake.
"""

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from threading import Thread

from bench import cli_lake
from bench.sizes import sizes
from bench.table import middle, show

_ROUNDS = 11
_LOCHAN = str(Path(sys.executable).with_name("lochan"))
_ASK = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99).decode())"
_FILES = "import click, msgspec, pyarrow.parquet"
_QUERY = f"{_FILES}, duckdb, sqlglot"
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    for committed in sizes((cli_lake.COMMITTED,)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            lake = f"{folder}/lake"
            asyncio.run(cli_lake.make(lake, committed, committed // 10))
            _show(Path(folder), lake, committed)


def _show(folder: Path, lake: str, committed: int) -> None:
    where = f"demo@main/{cli_lake.path(committed // 2 + 77)}"
    verbs = {
        "fs stat": (_FILES, ["fs", "stat", where]),
        "log -n 10": (_FILES, ["log", "demo@main", "-n", "10"]),
        "fs ls, 200 objects": (_FILES, ["fs", "ls", f"{where.rpartition('/')[0]}/"]),
        "branch create": (f"{_FILES}, asyncio", ["branch", "create", "demo@b{}"]),
        "query, 1,000 rows": (_QUERY, ["query", "from logs"]),
    }
    rows: list[list[object]] = []
    with home_of(folder) as env, _answering(folder) as ask:
        for verb, (libraries, words) in verbs.items():
            command = [_LOCHAN, "--lake", lake, *words]
            cold = {**env, "LOCHAN_COMPANION": "0"}
            imports = [sys.executable, "-c", libraries]
            with running_companion(env) as companion:
                for number in range(3):  # the first ones show it what is needed
                    _run(_numbered(command, f"w{number}"), env)
                    companion.settle()
                taken = Times()
                for number in range(_ROUNDS):
                    taken.add("bare", [sys.executable, "-c", _ASK, ask], env)
                    taken.add("warm", _numbered(command, f"c{number}"), env, companion)
                    taken.add("imports", imports, env)
                    taken.add("cold", _numbered(command, f"d{number}"), cold)
            bare, warm, needed, alone = (taken.ms(name) for name in ("bare", "warm", "imports", "cold"))
            rows.append([verb, bare, warm, warm / bare, "2.5 x", needed, alone, alone / needed, "2 x"])
    head = ["", "bare ms", "companion ms", "ratio", "budget", "imports ms", "cold ms", "ratio", "budget"]
    title = f"processor time of a command over {committed:,} committed and {committed // 10:,} staged entries"
    show(f"{title}: median of {_ROUNDS}", head, rows)


def _numbered(command: list[str], number: str) -> list[str]:
    return [word.format(number) if word.startswith("demo@b{") else word for word in command]


class Times:
    """Of a command the middle is taken, and of what the companion does for it the mean: Linux counts the time of
    processes that have ended in hundredths of a second."""

    def __init__(self) -> None:
        self._front: dict[str, list[float]] = {}
        self._behind: dict[str, list[float]] = {}

    def add(self, name: str, command: list[str], env: Mapping[str, str], companion: "Companion | None" = None) -> None:
        before = companion.seconds() if companion else 0.0
        self._front.setdefault(name, []).append(_run(command, env))
        if companion is not None:
            companion.settle()  # what it does behind the answer counts too
            self._behind.setdefault(name, []).append(companion.seconds() - before)

    def ms(self, name: str) -> float:
        return (middle(self._front[name]) + mean(self._behind.get(name, [0.0]))) * 1e3


def _run(command: list[str], env: Mapping[str, str]) -> float:
    """The processor time of the process."""
    before = _children_s()
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == 0, (command, done.stderr.decode())
    return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Companion:
    def __init__(self, note: Path) -> None:
        self._note = note
        self.pid = int(self.read()["pid"])

    def read(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self._note.read_text())
        return found

    def seconds(self) -> float:
        """Of itself, of the processes that it forked and has seen to their end, and of those that are there still."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        there = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        own = sum(map(_schedule_ns, (self.pid, *map(int, there)))) / 1e9
        return own + sum(int(fields[at]) for at in (13, 14)) / _TICKS

    def settle(self) -> None:
        """Waits until it does nothing."""
        before = -1.0
        while before != (before := self.seconds()):
            time.sleep(0.1)


def _schedule_ns(pid: int) -> int:
    """The processor time of all threads of a process."""
    try:
        return sum(int((each / "schedstat").read_text().split()[0]) for each in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0


@contextmanager
def running_companion(env: Mapping[str, str]) -> Iterator[Companion]:
    subprocess.run([_LOCHAN, "companion", "start"], env=env, check=True, stdout=subprocess.DEVNULL)
    try:
        (note,) = Path(env["XDG_RUNTIME_DIR"], "lochan").glob("*.lock")
        yield Companion(note)
    finally:
        subprocess.run([_LOCHAN, "companion", "stop"], env=env, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def home_of(folder: Path) -> Iterator[dict[str, str]]:
    (folder / "home").mkdir()
    (folder / "run").mkdir(0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCHAN_", "PYTHON"))}
    yield {**kept, "HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run")}


@contextmanager
def _answering(folder: Path) -> Iterator[str]:
    """A socket that gives one line to everybody who connects."""
    path = str(folder / "bare.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"one line")

        Thread(target=answer, daemon=True).start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
