"""A command whose standard streams are closed works as if they led nowhere."""

import subprocess
from pathlib import Path

import pytest

from tests.servers.lochan import LOCHAN


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    lake = f"{LOCHAN} --no-companion --lake {tmp_path / 'lake'}"
    for words in ("init", "repo create demo", "ls"):
        done = subprocess.run(["sh", "-c", f"{lake} {words} {closed}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
    told = subprocess.run(["sh", "-c", f"{lake} ls"], capture_output=True, text=True, check=True)
    assert "demo" in told.stdout


@pytest.mark.parametrize("words", ["--version", "--help", "fs --help", "fs ls --help"])
def test_a_full_disk_for_what_is_explained(words: str, tmp_path: Path) -> None:
    command = f"'{LOCHAN}' --no-companion {words} > /dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 9
    assert done.stderr.count(b"No space left") == 1
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr
