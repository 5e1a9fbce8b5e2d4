"""Growth of S3 requests: a HEAD, a GET and a PUT of 1 KiB by 64 clients, each key as likely as another, over committed
objects. Processor time of a request, of all of the server's processes, one worker."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from bench.gateway import _build, _load
from bench.growth_measure import GrowthMeasure
from bench.processor import Processor
from bench.table import middle
from tests.servers.lochan import lochan_server

_ROOT = Path(__file__).parent.parent
_CLIENTS = 64
_REQUESTS = 10_000
_TURNS = 3
_OPERATIONS = ("head", "get", "put")
_UNIT = "µs of processor time a request"


def _cost(folder: Path, size: int, operation: str) -> float:
    return _costs(folder, size)[operation]


@cache
def _costs(folder: Path, size: int) -> dict[str, float]:
    _build()
    with lochan_server(folder / "served") as server:
        server.lochan("repo", "create", "bench")
        fill = [sys.executable, "-m", "bench.fill_bodies", server.lake, "bench", "many", str(size)]
        subprocess.run(fill, check=True, cwd=_ROOT)
        server.lochan("commit", "bench@many", "-m", "all")

        def taken(operation: str, number: int, count: int) -> float:
            processor = Processor(server.process.pid)
            before = processor.seconds()
            given = {"op": operation, "c": _CLIENTS, "prefix": "many/", "keys": size, "order": "uniform", "writes": 0}
            _load(server, n=count, seed=number * _CLIENTS, **given)
            return (processor.seconds() - before) / count * 1e6

        found = {}
        for operation in _OPERATIONS:
            taken(operation, 1, _REQUESTS // 10)  # signatures are known then, and files are open
            found[operation] = middle([taken(operation, turn + 2, _REQUESTS) for turn in range(_TURNS)])
        return found


GROWTH = (
    GrowthMeasure("head", "HEAD of any object", _UNIT, lambda folder, size: _cost(folder, size, "head")),
    GrowthMeasure("get", "GET of any object of 1 KiB", _UNIT, lambda folder, size: _cost(folder, size, "get")),
    GrowthMeasure("put", "PUT of 1 KiB over any object", _UNIT, lambda folder, size: _cost(folder, size, "put")),
)
