"""A load from a pipe, with its progress on a terminal."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from lochan.cli.main import main; main()"]
ROWS = b"".join(b'{"ts":"2026-11-01T10:00:00Z","n":%d,"text":"%0200d"}\n' % (n, n) for n in range(20_000))


def _read(terminal: int, into: list[bytes]) -> None:
    try:
        while piece := os.read(terminal, 4096):
            into.append(piece)
    except OSError:  # the other end is closed
        pass


@pytest.mark.thorough
def test_rows_from_a_pipe_are_loaded_and_counted_on_the_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, shown))
    reader.start()
    lake = ["--lake", str(tmp_path / "lake")]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LOCHAN_COMPANION": "0"}
    subprocess.run([*COMMAND, *lake, "init"], check=True, env=environment, capture_output=True)
    loaded = subprocess.run(
        [*COMMAND, *lake, "load", "logs", "-", "--key", "ts:time"],
        input=ROWS,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        check=False,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    screen = b"".join(shown).decode(errors="replace")
    assert loaded.returncode == 0, screen
    assert b"20,000 rows" in loaded.stdout
    assert "loading" in screen
    assert "MB" in screen
