"""`make test` and its lanes: python -m tests.lanes unit|thorough|integration|sim|spark|all [--full]

Each lane is one run of pytest over its folders, so each prints its own closing lines; a summary stands at the end.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.servers import azurite, client_env, gcs, kafka, minio, postgres
from tests.spark import java, s3a

ROOT = Path(__file__).parent.parent
_QUICK = ["tests/unit", "tests/property", "tests/golden"]
LANES = {
    "unit": _QUICK,
    "thorough": _QUICK,  # of the same folders, those that are marked so
    "integration": ["tests/kill", "tests/model", "tests/docs", "tests/integration"],  # the long files first
    "sim": ["tests/sim"],
    "spark": ["tests/spark"],
}
# Tests of one file may share a server, or a lake.
_BY_FILE = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
OPTIONS = {
    "unit": ["-n", "2", "-m", "not thorough"],
    "thorough": ["-n", "2", "-m", "thorough"],
    "integration": _BY_FILE,
    "sim": ["-n", "2"],
    "spark": _BY_FILE,
}
COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lanes", description="run the tests")
    parser.add_argument("lane", choices=[*LANES, "all"])
    parser.add_argument("--full", action="store_true", help="the long forms too")
    chosen = parser.parse_args()
    if chosen.full:
        os.environ["FULL"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would each compile what they import
    names = list(LANES) if chosen.lane == "all" else [chosen.lane]
    if chosen.lane == "all" and subprocess.call(["make", "--no-print-directory", "lint"], cwd=ROOT):
        return 1
    counts = {"passed": 0, "failed": 0, "error": 0, "skipped": 0}
    for name in names:
        _run(name, counts)
    failed = counts["failed"] + counts["error"]
    print(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
    return int(failed > 0 or counts["passed"] == 0)


def _run(name: str, counts: dict[str, int]) -> None:
    folders = [folder for folder in LANES[name] if any((ROOT / folder).rglob("test_*.py"))]
    if not folders:
        print(f"--- {name}: no tests yet", flush=True)
        return
    print(f"--- {name}: {' '.join(folders)}", flush=True)
    if name == "integration":  # here, where nothing times it: on a new machine MinIO is built from source
        minio.binary()
        azurite.install()
        gcs.binary()
        postgres.install()
        kafka.jars()
        client_env.make_all()
    if name == "spark":
        s3a.jars()
        java.prepare()
    begun = time.monotonic()
    code, last = _pytest([*OPTIONS[name], *folders])
    for number, what in COUNTS.findall(last):
        counts[what] += int(number)
    if code not in (0, 1) or (code and not COUNTS.search(last)):
        counts["failed"] += 1  # it did not get so far as to count
    print(f"--- {name}: {time.monotonic() - begun:.0f} s", flush=True)


def _pytest(words: list[str]) -> tuple[int, str]:
    """Its exit code, and the line in which it counts."""
    command = [sys.executable, "-m", "pytest", *words]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line if COUNTS.search(line) else last
    return process.returncode, last


if __name__ == "__main__":
    sys.exit(main())
