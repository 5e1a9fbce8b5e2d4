"""`make test` and its lanes: python -m tests.lanes unit|thorough|integration|sim|browser|spark|all [--full]

Each lane is one run of pytest over its folders, so each prints its own closing lines; a summary stands at the end.
A few tests that failed are run once more, one at a time: what passes then is named as unsteady in the summary. More are
allowed where a lane starts servers.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.servers import azurite, chromium, client_env, gcs, kafka, minio, postgres, slapd
from tests.spark import java, s3a

ROOT = Path(__file__).parent.parent
_QUICK = ["tests/unit", "tests/property", "tests/golden"]
LANES = {
    "unit": _QUICK,
    "thorough": _QUICK,  # of the same folders, those that are marked so
    "integration": ["tests/kill", "tests/model", "tests/docs", "tests/integration"],  # the long files first
    "sim": ["tests/sim"],
    "browser": ["tests/browser"],
    "spark": ["tests/spark"],
}
# Tests of one file may share a server, or a lake.
_BY_FILE = ["--dist", "loadfile", "--no-loadscope-reorder"]
OPTIONS = {
    "unit": ["-n", "2", "-m", "not thorough"],
    "thorough": ["-n", "2", "-m", "thorough"],
    "integration": ["-n", "3", *_BY_FILE],  # one more than processors: they often wait for servers to start and stop
    "sim": ["-n", "2"],
    "browser": ["-n", "2", *_BY_FILE],
    "spark": ["-n", "2", *_BY_FILE],
}
# Servers share two processors with whatever else runs, and may be slow to start. More failures than these at once are
# no accident.
RUN_AGAIN_MOST = {"unit": 2, "thorough": 2, "integration": 10, "sim": 2, "browser": 10, "spark": 10}
# Where tests put their lakes: a disk would sync each of their many small files. Servers that are not ours choose their
# own place.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES_LEAST = 4 << 30
COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped)\b")


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
    counts: Counter[str] = Counter()
    unsteady: list[str] = []
    for name in names:
        _run(name, counts, unsteady)
    for test in unsteady:
        print(f"unsteady: {test} failed, and passed when it was run again")
    print(f"{counts['passed']} passed, {failures(counts)} failed, {counts['skipped']} skipped")
    return int(failures(counts) > 0 or counts["passed"] == 0)


def failures(counts: Counter[str]) -> int:
    return counts["failed"] + counts["error"] + counts["errors"]


def _run(name: str, counts: Counter[str], unsteady: list[str]) -> None:
    folders = [folder for folder in LANES[name] if any((ROOT / folder).rglob("test_*.py"))]
    if not folders:
        print(f"--- {name}: no tests yet", flush=True)
        return
    print(f"--- {name}: {' '.join(folders)}", flush=True)
    _install(name)  # here, where nothing times it: on a new machine MinIO is built from source
    begun = time.monotonic()
    counts.update(play(OPTIONS[name], folders, ROOT / ".cache" / "pytest" / name, unsteady, RUN_AGAIN_MOST[name]))
    print(f"--- {name}: {time.monotonic() - begun:.0f} s", flush=True)


def _install(name: str) -> None:
    if name == "integration":
        minio.binary()
        azurite.install()
        gcs.binary()
        postgres.install()
        slapd.install()
        kafka.jars()
        client_env.make_all()
    if name == "browser":
        chromium.install()
    if name == "spark":
        s3a.jars()
        java.prepare()


def play(options: list[str], folders: list[str], cache: Path, unsteady: list[str], run_again_most: int) -> Counter[str]:
    """What was counted. Tests that fail at first and pass when they are run again are added to `unsteady`."""
    with _lakes() as place:
        words = [*place, "-o", f"cache_dir={cache}", *folders]
        code, counts = _pytest([*options, "--durations=10", "--durations-min=5", *words])
        if code == 1 and 0 < failures(counts) <= run_again_most:
            before = _failed(cache)
            print("--- once more, what failed", flush=True)
            code, again = _pytest(["--last-failed", "--last-failed-no-failures", "none", *words])
            unsteady += sorted(before - _failed(cache))
            counts = Counter(
                passed=counts["passed"] + again["passed"], failed=failures(again), skipped=counts["skipped"]
            )
    if code not in (0, 1) or (code and not failures(counts)):
        counts["failed"] += 1  # it did not get so far as to count
    return counts


@contextmanager
def _lakes() -> Iterator[list[str]]:
    """The option for pytest that says where temporary folders are; none if there is little memory."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _MEMORY_BYTES_LEAST:
        yield []
        return
    with TemporaryDirectory(prefix="lochan-tests-", dir=_MEMORY, ignore_cleanup_errors=True) as folder:
        yield ["--basetemp", f"{folder}/lakes"]


def _failed(cache: Path) -> set[str]:
    """The names of the tests that failed when they were last run."""
    file = cache / "v" / "cache" / "lastfailed"
    return set(json.loads(file.read_text())) if file.exists() else set()


def _pytest(words: list[str]) -> tuple[int, Counter[str]]:
    """Its exit code, and what it counted in its last line."""
    command = [sys.executable, "-m", "pytest", *words]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line if COUNTS.search(line) else last
    return process.returncode, Counter({what: int(number) for number, what in COUNTS.findall(last)})


if __name__ == "__main__":
    sys.exit(main())
