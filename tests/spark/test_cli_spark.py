"""`lochan query` on Spark, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]


def lochan(folder: Path, *words: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    place = {**os.environ, "LOCHAN_LAKE": str(folder / "lake"), **env}
    return subprocess.run([*LOCHAN, *words], input=given, capture_output=True, text=True, env=place, check=False)


def test_work_beyond_the_threshold(tmp_path: Path) -> None:
    """`auto` takes Spark; Spark says nothing on stderr."""
    assert lochan(tmp_path, "init").returncode == 0
    assert lochan(tmp_path, "create", "logs", "--key", "k").returncode == 0
    loaded = lochan(tmp_path, "load", "logs", "-", given='{"k":2,"h":"a"}\n{"k":1,"h":"b"}\n{"k":3,"h":"a"}\n')
    assert loaded.returncode == 0, loaded.stderr
    text = "from logs | count() by h | sort h"
    ran = lochan(tmp_path, "query", text, "--stats", "--master", "local[1]", LOCHAN_SPARK__THRESHOLD="1B")
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [{"h": "a", "count": 2}, {"h": "b", "count": 1}]
    said = ran.stderr.splitlines()
    assert [line.split()[0] for line in said] == ["rows", "read", "engine"]
    assert said[-1].split()[1] == "spark,"


def test_a_master_that_is_none(tmp_path: Path) -> None:
    assert lochan(tmp_path, "init").returncode == 0
    assert lochan(tmp_path, "create", "logs", "--key", "k").returncode == 0
    assert lochan(tmp_path, "load", "logs", "-", given='{"k":2}\n').returncode == 0
    ran = lochan(tmp_path, "query", "from logs", "--engine", "spark", "--master", "nowhere")
    assert ran.returncode == 5
    assert "Spark did not start on nowhere" in ran.stderr
    assert "Traceback" not in ran.stderr
