"""The shell, typed into on its own terminal."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.cli.invoke import lochan

PROMPT = b"lochan> "
PATIENCE_S = 60.0


@contextmanager
def shell(lake: Path) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Its terminal, and the process."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from lochan.cli.main import main; main()", "--lake", str(lake), "shell"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}, start_new_session=True
    )
    os.close(theirs)
    try:
        yield ours, process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, end: bytes) -> bytes:
    read, stop = b"", time.monotonic() + PATIENCE_S
    while not read.endswith(end):
        assert time.monotonic() < stop, read
        read += os.read(terminal, 1024)
    return read


@pytest.mark.thorough
def test_the_history_is_kept(newcomer: Path, tmp_path: Path) -> None:
    """Also of a shell that is killed, and of one that has used DuckDB, which leaves without Python's own ending."""
    assert lochan("init", str(tmp_path)).exit_code == 0
    history = newcomer / ".local/state/lochan/history"
    with shell(tmp_path) as (terminal, process):
        read_until(terminal, PROMPT)
        os.write(terminal, b"select 20+1 as n\n")
        assert b"21" in read_until(terminal, PROMPT)
        os.write(terminal, b"\\q\n")
        assert process.wait(PATIENCE_S) == 0
    assert history.read_text().splitlines()[-2:] == ["select 20+1 as n", "\\q"]
    with shell(tmp_path) as (terminal, process):
        read_until(terminal, PROMPT)
        os.write(terminal, b"select 40+2 as n\n")
        assert b"42" in read_until(terminal, PROMPT)
        process.kill()
    assert history.read_text().splitlines()[-3:] == ["select 20+1 as n", "\\q", "select 40+2 as n"]
    assert history.stat().st_mode & 0o077 == 0


def test_a_pool_that_is_not_there_has_the_code_that_a_query_has(tmp_path: Path) -> None:
    assert lochan("init", str(tmp_path)).exit_code == 0
    assert lochan("--lake", str(tmp_path), "shell", stdin="from lgos\n").exit_code == 3
