"""A million messages of Kafka into a pool, with a commit each second, as fast as one process can.

Processor time is that of the whole process, from its start to its end with the merging of small objects; that of the
broker is not in it. The same rows by `lochan load`, from a file and in one commit, are what it is compared with.
"""

import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter

from bench.pool_process import LOCHAN, environment
from bench.table import show
from tests.servers.kafka import kafka

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "1000000"))
_SENT = 50_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as name, kafka() as broker:
        folder = Path(name)
        env = environment(folder) | {"LOCHAN_LAKE": str(folder / "lake"), "HOME": name}
        _run(env, "init")
        broker.create("rows", parts=2)
        with (folder / "rows.ndjson").open("wb") as file:
            for first in range(0, ROWS, _SENT):
                rows = [_row(number) for number in range(first, min(ROWS, first + _SENT))]
                file.writelines(row + b"\n" for row in rows)
                broker.send("rows", rows)
        words = ["--from", "kafka", "--brokers", broker.address, "--topic", "rows", "--once", "--every", "1s"]
        for pool in ("loaded", "streamed"):
            _run(env, "create", pool, "--key", "k")
        results = [
            ["lochan load", *_timed(env, "load", "loaded", str(folder / "rows.ndjson")), *_left(env, "loaded")],
            ["ingest stream", *_timed(env, "ingest", "stream", "streamed", *words), *_left(env, "streamed")],
        ]
        head = ["", "s", "rows/s", "CPU s", "rows/CPU s", "objects", "commits"]
        show(f"{ROWS:,} messages of Kafka into a pool, a commit each second", head, results)


def _row(number: int) -> bytes:
    return b'{"k":%d,"host":"host-%d","path":"/api/v1/thing/%d","status":200}' % (number, number % 300, number % 997)


def _timed(env: dict[str, str], *words: str) -> list[float]:
    before, begun = _used(), perf_counter()
    _run(env, *words)
    took, used = perf_counter() - begun, _used() - before
    return [took, ROWS / took, used, ROWS / used]


def _used() -> float:
    """By processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _left(env: dict[str, str], pool: str) -> list[int]:
    [rows] = _run(env, "query", f"from {pool} | count()").splitlines()
    assert json.loads(rows) == {"count": ROWS}
    objects = len(_run(env, "query", f"from {pool}:objects | cut id").splitlines())
    return [objects, len(json.loads(_run(env, "log", pool, "-f", "json")))]


def _run(env: dict[str, str], *words: str) -> str:
    done = subprocess.run([LOCHAN, *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
