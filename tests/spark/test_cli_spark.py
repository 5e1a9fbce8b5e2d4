"""`lochan query` on Spark, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.cli.invoke import lochan as here

LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]


def lochan(folder: Path, *words: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    place = {**os.environ, "LOCHAN_LAKE": str(folder / "lake"), **env}
    return subprocess.run([*LOCHAN, *words], input=given, capture_output=True, text=True, env=place, check=False)


def filled(folder: Path, rows: str) -> None:
    """Here, where nothing has to be started."""
    for words in (("init",), ("create", "logs", "--key", "k"), ("load", "logs", "-")):
        assert here(*words, env={"LOCHAN_LAKE": str(folder / "lake")}, stdin=rows).exit_code == 0


def test_work_beyond_the_threshold(tmp_path: Path) -> None:
    """`auto` chooses Spark, and Spark prints nothing on stderr."""
    filled(tmp_path, '{"k":2,"h":"a"}\n{"k":1,"h":"b"}\n{"k":3,"h":"a"}\n')
    text = "from logs | count() by h | sort h"
    ran = lochan(tmp_path, "query", text, "--stats", "--master", "local[1]", LOCHAN_SPARK__LOCAL_THRESHOLD="1B")
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [{"h": "a", "count": 2}, {"h": "b", "count": 1}]
    output = ran.stderr.splitlines()
    assert [line.split()[0] for line in output] == ["rows", "read", "engine"]
    assert output[-1].split()[1] == "spark,"


OLD_JAVA = """#!/bin/sh
echo 'Error: LinkageError occurred while loading main class org.apache.spark.launcher.Main' >&2
echo 'java.lang.UnsupportedClassVersionError: it has been compiled by a more recent version' >&2
exit 1
"""


def test_where_spark_cannot_run(tmp_path: Path) -> None:
    """Each is an immediate error: one line and a hint."""
    filled(tmp_path, '{"k":2}\n')
    java = tmp_path / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD_JAVA)
    java.chmod(0o755)
    for master, env, message in (
        ("nowhere", {}, "Spark did not start on nowhere"),
        ("spark://127.0.0.1:1", {}, "no Spark master answers at spark://127.0.0.1:1: Connection refused"),
        ("local[1]", {"JAVA_HOME": str(tmp_path / "old")}, "this Java is too old for it"),
        ("local[1]", {"JAVA_HOME": str(tmp_path)}, f"need Java, and {tmp_path}/bin/java is not there"),
    ):
        ran = lochan(tmp_path, "query", "from logs", "--engine", "spark", "--master", master, **env)
        assert ran.returncode == 5
        assert message in ran.stderr
        assert len(ran.stderr.splitlines()) == 2, ran.stderr
    assert [job["state"] for job in json.loads(lochan(tmp_path, "jobs", "-f", "json").stdout)] == ["failed"] * 4
