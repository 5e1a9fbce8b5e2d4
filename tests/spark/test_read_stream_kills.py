"""A driver that follows a pool is killed inside of a batch and between two, while the branch moves on and is compacted:
each row arrives once, in another pool and in files."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.servers.lochan import LOCHAN
from tests.spark.test_ingest_kills import environment, records

SCRIPT = Path(__file__).with_name("run_read_stream.py")


class Driver:
    """One process at a time, in a group of its own, with the JVM that it starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._env: Mapping[str, str] = {**environment(folder), "PYSPARK_PYTHON": sys.executable}

    def lochan(self, *words: str) -> str:
        done = subprocess.run(
            [str(LOCHAN), *words], env=dict(self._env), capture_output=True, text=True, check=False, timeout=280
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def load(self, *numbers: int) -> None:
        file = self._folder / "rows.ndjson"
        file.write_text("".join(f'{{"k":{number}}}\n' for number in numbers))
        self.lochan("load", "logs", str(file))

    def run(self, *arguments: str, until: str = "") -> list[str]:
        """What it printed, up to a line at which it is killed, or to its end."""
        command = [sys.executable, str(SCRIPT), str(self._folder), *arguments]
        with (self._folder / "log").open("ab") as errors:
            process = subprocess.Popen(
                command, env=dict(self._env), stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
        lines: list[str] = []
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.strip())
                if until and line.startswith(until):
                    return lines
        finally:
            if process.poll() is None and until:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        assert not until and process.returncode == 0, (lines, (self._folder / "log").read_text()[-4000:])
        return lines


@pytest.mark.full
@pytest.mark.timeout(600)
def test_killed_inside_of_a_batch_and_between_two(tmp_path: Path) -> None:
    there = Driver(tmp_path)
    there.lochan("init")
    there.lochan("create", "logs", "--key", "k")
    there.lochan("create", "copy", "--key", "k")
    for first in (0, 10, 20):
        there.load(*range(first, first + 10))
    assert there.run("1", until="inside") == ["batch 0 new", "batch 1 new", "inside"]
    there.load(*range(5, 50, 10))
    there.lochan("compact", "logs")
    lines = there.run("1000", until="batch 3")
    assert lines[0] == "batch 1 again", "its rows were there, and it read the same rows again"
    there.load(99)
    there.run()
    expected = sorted([*range(30), *range(5, 50, 10), 99])
    assert [row["k"] for row in records(there.lochan("query", "from copy | sort k | cut k"))] == expected
    assert sorted(sink_rows(tmp_path / "files")) == expected


def sink_rows(folder: Path) -> list[int]:
    """Of the files that Spark's own list names: others were left behind by a kill."""
    entries: dict[str, str] = {}
    logs = [path for path in (folder / "_spark_metadata").iterdir() if path.name.split(".")[0].isdigit()]
    for log in sorted(logs, key=lambda path: int(path.name.split(".")[0])):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            entries[entry["path"]] = entry["action"]
    return [k for path in entries for k in pq.read_table(path.removeprefix("file://"))["k"].to_pylist()]
