"""Growth of pools: a load of NDJSON (`load_pool.py`) as a command, without what a command takes that does nothing;
and queries of the pool that it makes, on a lake that stays open: of all rows, and of a thousand by their key. Processor
time."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import process_time

from bench.commands import Spending
from bench.growth_measure import GrowthMeasure
from bench.load_pool import write_lines
from bench.places import ACTOR
from bench.table import middle
from lochan.api.queries import run_query
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

_LOCHAN = str(Path(sys.executable).with_name("lochan"))
_ROUNDS = 5
_ALL = "from logs | count(), sum(bytes) by host"


def _load(folder: Path, size: int) -> float:
    write_lines(folder / "logs.ndjson", size)
    asyncio.run(_created(folder))
    nothing = middle([_run(folder, "log", "logs") for _ in range(_ROUNDS)])
    return (_run(folder, "load", "logs", str(folder / "logs.ndjson")) - nothing) / size * 1e6


def _query_all(folder: Path, size: int) -> float:
    return asyncio.run(_queried(folder, _ALL)) / size * 1e9


def _query_some(folder: Path, _: int) -> float:
    """Of as many rows at each size."""
    some = "from logs range 2026-11-01T00:01:00Z to 2026-11-01T00:01:03Z | count(), sum(bytes)"
    return asyncio.run(_queried(folder, some)) * 1e3


def _run(folder: Path, *words: str) -> float:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCHAN_")}
    spending = Spending({**kept, "HOME": str(folder), "LOCHAN_COMPANION": "0"})
    return spending.run([_LOCHAN, "--lake", str(folder / "lake"), *words])[0]


async def _created(folder: Path) -> None:
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    await lake.create_pool("logs", parse(["ts:time"]), actor=ACTOR)
    await lake.close()


async def _queried(folder: Path, query: str) -> float:
    lake = await Lake.open(LocalStore(str(folder / "lake")))

    async def ask() -> None:
        with await run_query(lake, query) as result:
            assert result.to_arrow().num_rows

    await ask()  # files are open then, and libraries imported
    taken = middle([await _spent(ask) for _ in range(_ROUNDS)])
    await lake.close()
    return taken


async def _spent(work: Callable[[], Awaitable[None]]) -> float:
    before = process_time()
    await work()
    return process_time() - before


GROWTH = (
    GrowthMeasure("load", "load of NDJSON into a pool", "µs of processor time a row", _load),
    GrowthMeasure("query", "query of all rows of a pool", "ns of processor time a row", _query_all),
    GrowthMeasure("query_some", "query of 1,000 rows of the pool, by the key", "ms of processor time", _query_some),
)
