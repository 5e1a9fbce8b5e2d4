"""A run ends though a worker has crashed, and every test has run."""

import subprocess
import sys
from pathlib import Path

CRASH = """
import os
from pathlib import Path

def test_before():
    pass

def test_crash():
    mark = Path(__file__).with_suffix(".crashed")
    if not mark.exists():
        mark.touch()
        os._exit(1)

def test_after():
    pass
"""


def test_a_run_goes_on_behind_a_crash(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text("def test_one():\n    pass\n\n\ndef test_two():\n    pass\n")
    (tmp_path / "test_5_crash.py").write_text(CRASH)
    (tmp_path / "conftest.py").write_text("from tests.file_schedule import pytest_xdist_make_scheduler\n")
    words = ["-n", "1", "--dist", "loadfile", "--no-loadscope-reorder", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), "-c", "/dev/null", *words],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "crashed while running" in ran.stdout
    assert "1 failed, 15 passed" in ran.stdout, ran.stdout
