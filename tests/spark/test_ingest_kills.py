"""A process that follows a folder is killed at any moment, again and again: each row arrives once.

To start a JVM takes seconds, so most moments are not within a batch: every other process is killed soon after a batch
of its own has landed, when the next is on its way.
"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.servers.lochan import LOCHAN

_KILLS = 20 if os.environ.get("FULL") else 1
_PATIENCE_S = 120.0
_ROWS = 10  # in a file


@pytest.mark.timeout(60 * (_KILLS + 2))
def test_killed_again_and_again(tmp_path: Path) -> None:
    there = Following(tmp_path)
    there.lochan("init")
    there.lochan("create", "logs", "--key", "k")
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    with Putting(there.folder) as putting:
        for round in range(_KILLS):
            there.start()
            if round % 2 == 0:
                there.wait_for_a_batch()
                time.sleep(chance.uniform(0, 1))
            else:
                time.sleep(chance.uniform(0, 10))
            there.kill()
    there.lochan("ingest", "stream", "logs", "--from", "folder", str(there.folder), "--once", "--no-compact")
    found = [row["k"] for row in records(there.lochan("query", "from logs | sort k | cut k"))]
    assert found == list(range(putting.files * _ROWS)), f"seed {seed}"
    every = json.loads(there.lochan("log", "logs", "-f", "json"))
    batches = [int(each["metadata"]["lochan-batch"]) for each in every if "lochan-batch" in each["metadata"]]
    assert batches == sorted(set(batches), reverse=True)
    assert len(batches) >= (_KILLS + 1) // 2


class Following:
    """One process at a time, in a group of its own, with all that it starts."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "in"
        self.folder.mkdir()
        self._log = root / "log"
        self._env = environment(root)
        self._process: subprocess.Popen[bytes] | None = None

    def lochan(self, *words: str) -> str:
        done = subprocess.run(
            [str(LOCHAN), *words], env=dict(self._env), capture_output=True, text=True, check=False, timeout=280
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self) -> None:
        words = ["ingest", "stream", "logs", "--from", "folder", str(self.folder), "--every", "200ms", "-f", "json"]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(LOCHAN), *words],
                env=dict(self._env),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for_a_batch(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _PATIENCE_S
        while not any(each["rows"] for each in self._told()):  # one that was found again is not meant
            assert time.monotonic() < deadline and self._process.poll() is None, self._log.read_text()
            time.sleep(0.02)

    def _told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().split("\n")[:-1] if line.startswith("{")]

    def kill(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Putting:
    """A file after the other, each at once, as long as it is entered."""

    def __init__(self, folder: Path) -> None:
        self.files = 0
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Putting":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            first = self.files * _ROWS
            text = "".join(f'{{"k":{number},"text":"row {number}"}}\n' for number in range(first, first + _ROWS))
            partial = self._folder / f".{self.files}"
            partial.write_text(text)
            partial.rename(self._folder / f"{self.files}.ndjson")
            self.files += 1


def environment(root: Path) -> Mapping[str, str]:
    """With another home."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "LOCHAN_COMPANION" or not name.startswith(("LOCHAN_", "AWS_", "XDG_"))
    }
    return kept | {
        "HOME": str(root),
        "LOCHAN_LAKE": str(root / "lake"),
        "LOCHAN_SPARK__MASTER": "local[2]",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
