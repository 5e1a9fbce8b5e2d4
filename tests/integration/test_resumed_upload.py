"""An upload of a folder that was killed in the middle goes on where it stopped."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lochan
from tests.integration.cli import fine

FILES = 1_200  # three batches
KILL_AT_THE_SECOND_BATCH = """
import os, signal
from lochan import failpoints
from lochan.cli.main import main

appends = 0

def at(name):
    global appends
    appends += name == "append.before_put"
    if appends == 2:
        os.kill(os.getpid(), signal.SIGKILL)

failpoints.arm(at)
main()
"""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for number in range(FILES):
        (tmp_path / "data" / f"{number:04}.csv").write_text(f"{number}\n")
    fine("init")
    fine("repo", "create", "demo")
    return tmp_path / ".lochan"


def staged(lake: Path) -> dict[str, str]:
    """By path, when each object was written."""
    with lochan.connect(lake) as opened:
        return {each.path: str(each.mtime) for each in opened.repository("demo").branch("main").list()}


def test_killed_in_the_middle_and_resumed(lake: Path) -> None:
    command = ["fs", "upload", "-r", "data", "demo@main/data"]
    killed = subprocess.run([sys.executable, "-c", KILL_AT_THE_SECOND_BATCH, *command], check=False)
    assert killed.returncode == -signal.SIGKILL
    before = staged(lake)
    assert len(before) == 500, "one batch was staged, and nothing of the next"
    assert "uploaded 700 objects" in (said := fine(*command, "--resume")) and said.endswith(", 500 already there\n")
    after = staged(lake)
    assert len(after) == FILES
    assert before.items() <= after.items(), "what was there was not sent again"
    assert fine(*command, "--resume") == "uploaded 0 objects (0 B), 1,200 already there\n"


def test_a_file_that_changed_meanwhile_is_sent(lake: Path) -> None:
    command = ["fs", "upload", "-r", "data", "demo@main/data"]
    fine(*command)
    Path("data/0007.csv").write_text("9\n")  # of the same size
    Path("data/0008.csv").write_text("longer than before\n")
    assert fine(*command, "--resume") == "uploaded 2 objects (21 B), 1,198 already there\n"
    assert fine("fs", "cat", "demo@main/data/0007.csv") == "9\n"
