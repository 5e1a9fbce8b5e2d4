"""`lochan doctor --spark` starts Spark and prints how long it took."""

import json
import subprocess
import sys
from pathlib import Path

DOCTOR = [sys.executable, "-c", "from lochan.cli.main import main; main()", "doctor", "--spark", "-f", "json"]


def test_a_tiny_job_runs(tmp_path: Path) -> None:
    ran = subprocess.run([*DOCTOR, "--lake", str(tmp_path / "lake")], capture_output=True, text=True, check=False)
    checks = {each["check"]: each for each in json.loads(ran.stdout)}
    assert checks["spark job"]["status"] == "ok", checks["spark job"]
    assert checks["spark job"]["found"].startswith("ran on local[1] in ")
    assert ran.returncode == 0
    assert ran.stderr == ""
