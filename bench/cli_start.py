"""The cost of a command before it does anything: `lochan ls` against a Python that only imports the libraries."""

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.table import middle, seconds, show

_ROUNDS = 15
_LOCHAN = str(Path(sys.executable).with_name("lochan"))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        lake = str(Path(folder, "lake"))
        _run([_LOCHAN, "init", lake])
        for name in ("alpha", "beta", "gamma"):
            _run([_LOCHAN, "--lake", lake, "repo", "create", name])
        commands = {
            "bare: import click, msgspec, obstore": [sys.executable, "-c", "import click, msgspec, obstore"],
            "lochan ls": [_LOCHAN, "--lake", lake, "ls"],
            "lochan --version": [_LOCHAN, "--version"],
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import lochan'": [sys.executable, "-c", "import lochan"],  # 100 ms is the budget
            "python -c 'import lochan.fsspec'": [sys.executable, "-c", "import lochan.fsspec"],
            "python -c 'import fsspec.spec'": [sys.executable, "-c", "import fsspec.spec, fsspec.callbacks"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(_ROUNDS):
            for name, command in commands.items():
                times[name].append(seconds(lambda: _run(command)))  # noqa: B023  # called at once
    base = middle(next(iter(times.values())))
    rows = [[name, middle(taken) * 1e3, middle(taken) / base] for name, taken in times.items()]
    show(f"start of a command, three repositories on local disk: median of {_ROUNDS}", ["", "ms", "x bare"], rows)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
