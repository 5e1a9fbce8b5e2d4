"""A companion of a test's own, in a runtime folder of its own, and commands that use it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.until import until

LOCHAN = str(Path(sys.executable).with_name("lochan"))
# The command, but it waits for the companion as long as a busy machine takes: a command that gives up does the work
# itself, and a test would not notice.
PATIENT = (
    sys.executable,
    "-c",
    "import signal\n"  # whoever runs the tests may ignore these
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from lochan.cli.companion import front; front._PATIENCE_S = 60; from lochan.cli.main import main; main()",
)
_SERVE = "lochan.cli.companion.serve"


def wait_until(happened: Callable[[], bool]) -> None:
    asyncio.run(until(happened))


class RunningCompanion:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.runtime = Path(tempfile.mkdtemp(prefix="run-", dir="/tmp"))  # the path of a socket is short
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCHAN_", "XDG_", "PYTHON"))}
        self.env = {**kept, "HOME": str(home), "XDG_RUNTIME_DIR": str(self.runtime), "COLUMNS": "100", "TZ": "UTC"}

    @property
    def folder(self) -> Path:
        return self.runtime / "lochan"

    @property
    def note(self) -> dict[str, Any]:
        """What it says of itself. A test is alone with it."""
        (file,) = self.folder.glob("*.lock")
        found: dict[str, Any] = json.loads(file.read_text() or "{}")
        return found

    @property
    def pid(self) -> int:
        return int(self.note["pid"])

    def start(self, code: str = "", idle_s: float = 300) -> None:
        """`code` is run before it."""
        for left in self.folder.glob("*.sock"):
            left.unlink()
        words = ["-c", f"{code}\nimport sys\nsys.argv[1:] = ['{idle_s}']\nfrom {_SERVE} import main\nmain()"]
        subprocess.run([sys.executable, "-P", *words], env=self.env, check=True, timeout=60, cwd=self.home)
        wait_until(lambda: any(self.folder.glob("*.sock")) and "pid" in self.note)

    def served(self) -> int:
        """How many commands it has run to their end."""
        wait_until(lambda: self.note["running"] == 0)
        return int(self.note["commands"])

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        command: Sequence[str] = PATIENT,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command, *words],
            input=stdin,
            env={**self.env, **(env or {})},
            cwd=cwd or self.home,
            capture_output=True,
            timeout=120,
        )

    def begin(self, *words: str, **rest: Any) -> subprocess.Popen[bytes]:
        given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **rest}
        return subprocess.Popen([*PATIENT, *words], env=self.env, cwd=self.home, **given)

    def is_used(self, *words: str, **rest: Any) -> bool:
        """Whether the companion runs this command, which succeeds either way."""
        before = self.served()
        done = self.run(*words, **rest)
        assert done.returncode == 0, done.stderr.decode()
        return self.served() > before


@contextmanager
def companion(home: Path, code: str = "", idle_s: float = 300) -> Iterator[RunningCompanion]:
    running = RunningCompanion(home)
    running.start(code, idle_s)
    try:
        yield running
    finally:
        subprocess.run([LOCHAN, "companion", "stop"], env=running.env, capture_output=True, timeout=60, check=True)
        shutil.rmtree(running.runtime)
