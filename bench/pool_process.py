"""A small query as a whole process, against a Python that only imports the libraries it needs."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from bench.table import middle, seconds, show

ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "15"))
LOCHAN = str(Path(sys.executable).with_name("lochan"))
_LIBRARIES = "click, msgspec, obstore, duckdb, sqlglot, pyarrow"
_BUDGET = 1.5


def compare(folder: Path) -> None:
    lake, rows = str(folder / "small"), folder / "small.ndjson"
    rows.write_text("".join(f'{{"k": {number}, "name": "row {number}"}}\n' for number in range(100)))
    env = environment(folder)
    for words in (["init", lake], ["--lake", lake, "create", "logs", "--key", "k"]):
        run([LOCHAN, *words], env)
    run([LOCHAN, "--lake", lake, "load", "logs", str(rows)], env)
    query = [LOCHAN, "--lake", lake, "query"]
    commands = {
        f"bare: import {_LIBRARIES}": [sys.executable, "-c", f"import {_LIBRARIES}"],
        "lochan query 'from logs | count()'": [*query, "from logs | count()"],
        "lochan query 'from logs | k > 90'": [*query, "from logs | k > 90"],
    }
    times = timed(commands, env, ROUNDS)
    base = middle(next(iter(times.values())))
    rows_shown = [[name, middle(taken) * 1e3, middle(taken) / base] for name, taken in times.items()]
    title = f"a small query as a process: median of {ROUNDS}; budget {_BUDGET} x bare"
    show(title, ["", "ms", "x bare"], rows_shown)


def environment(folder: Path) -> dict[str, str]:
    """As installed: with bytecode, which an environment may forbid to be written beside the sources. What was told to
    the benchmark is no setting."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("LOCHAN_")}
    return {**others, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}


def timed(commands: dict[str, list[str]], env: dict[str, str], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            took = seconds(partial(run, command, env))
            times[name] += [took] if number else []  # the first round writes the bytecode
    return times


def run(command: list[str], env: dict[str, str]) -> None:
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
