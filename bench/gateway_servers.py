"""Several servers that write to one branch of a lake, on a disk and on MinIO: what they take together, and how evenly.

Each server is a process of its own with one worker, as if on a machine of its own: they share nothing except the lake.
"least / most" compares the server that took the fewest PUTs in the same time with the one that took the most. What is
lost in races for a number shows in the processor time of a PUT, and in the p99.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.gateway import _build, _load
from bench.processor import Processor
from bench.table import middle, show
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer, minio

_SERVERS = (1, 2, 4)
_CLIENTS = 64  # in all
_SECONDS = 5.0
_ROUNDS = 3


def main() -> None:
    _build()
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder, servers(str(Path(folder, "lake"))) as all_:
        _run("a disk", all_)
    with minio() as place, servers(f"s3://{place.bucket('bench')}/lake", minio_settings(place)) as all_:
        _run("MinIO", all_)


@contextmanager
def servers(lake: str, env: dict[str, str] | None = None) -> Iterator[list[LochanServer]]:
    with ExitStack() as stack:
        first = stack.enter_context(lochan_server(lake, env=env))
        first.lochan("repo", "create", "bench")
        more = [stack.enter_context(lochan_server(lake, env=env, init=False)) for _ in range(max(_SERVERS) - 1)]
        yield [first, *more]


def minio_settings(place: MinioServer, endpoint: str = "") -> dict[str, str]:
    return {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": endpoint or place.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": place.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": place.secret_key,
    }


def _run(where: str, all_: list[LochanServer]) -> None:
    for each in all_:
        _load(each, op="put", n=500, c=16, keys=500)  # warm
    rows: list[list[Any]] = []
    for count in _SERVERS:
        turns = [_turn(all_[:count]) for _ in range(_ROUNDS)]
        rows.append([count, *(middle(list(column)) for column in zip(*turns, strict=True))])
        rows[-1].insert(2, rows[-1][1] / rows[0][1])
    head = ["servers", "per second", "of one", "least / most", "µs of processor", "p50 ms", "p99 ms"]
    show(f"PUT of 1 KiB, {_CLIENTS} clients in all, one lake on {where}; median of {_ROUNDS}", head, rows)


def _turn(some: list[LochanServer]) -> tuple[float, float, float, float, float]:
    """All at once, for as long as the generators run."""
    processors = [Processor(each.process.pid) for each in some]
    before = sum(each.seconds() for each in processors)
    given = {"op": "put", "n": 10_000_000, "for": _SECONDS, "c": _CLIENTS // len(some), "keys": 20_000}
    with ThreadPoolExecutor(len(some)) as threads:
        found = list(threads.map(lambda each: _load(each, **given), some))
    used = sum(each.seconds() for each in processors) - before
    done = [one["requests"] for one in found]
    rate = sum(one["per_second"] for one in found)
    slowest = max(found, key=lambda one: float(one["p99_ms"]))
    return rate, min(done) / max(done), used / sum(done) * 1e6, slowest["p50_ms"], slowest["p99_ms"]
