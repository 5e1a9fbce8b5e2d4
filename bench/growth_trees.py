"""Growth of trees, by whole commands: a commit of everything that is staged, a recursive list of it, and the start of a
command that looks for one object. Processor time, without that of a command that does nothing; the start also by the
clock."""

import asyncio
import os
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.commands import Spending
from bench.growth_measure import GrowthMeasure
from bench.places import ACTOR
from bench.table import middle
from bench.tree import entries
from bench.versioning import puts, stage
from lochan.lake import Lake
from lochan.store.local import LocalStore

_LOCHAN = str(Path(sys.executable).with_name("lochan"))
_RUNS = 16  # one after the other in path order; so that no more than one is in memory
_ROUNDS = 3


def _commit(folder: Path, size: int) -> float:
    asyncio.run(_staged(folder, size))
    taken = _run(folder, "commit", "demo@main", "-m", "all of it")[0] - _nothing(folder)
    return taken / size * 1e6


def _list(folder: Path, size: int) -> float:
    return (_run(folder, "fs", "ls", "-r", "demo@main")[0] - _nothing(folder)) / size * 1e6


def _cold(folder: Path, which: int) -> float:
    path = f"{_RUNS // 2:02d}/" + entries(1)["path"][0].as_py()
    return middle([_run(folder, "fs", "stat", f"demo@main/{path}")[which] for _ in range(_ROUNDS)]) * 1e3


@cache
def _nothing(folder: Path) -> float:
    return middle([_run(folder, "log", "demo@main", "-n", "1")[0] for _ in range(_ROUNDS)])


def _run(folder: Path, *words: str) -> tuple[float, float]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCHAN_")}
    spending = Spending({**kept, "HOME": str(folder), "LOCHAN_COMPANION": "0"})
    return spending.run([_LOCHAN, "--lake", str(folder / "lake"), *words])


async def _staged(folder: Path, size: int) -> None:
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    await lake.create_repository("demo", actor=ACTOR)
    repository = await lake.open_repository("demo")
    repository.staged = lambda branch: None  # no upkeep beside it
    part = puts(entries(size // _RUNS))
    for number in range(_RUNS):
        paths = pc.binary_join_element_wise(f"{number:02d}/", part["path"], "")
        await stage(repository, "main", part.set_column(0, part.schema.field(0), paths.cast(pa.string())))
    await repository.close()
    await lake.close()


GROWTH = (
    GrowthMeasure("commit", "commit of all that is staged", "µs of processor time an entry", _commit),
    GrowthMeasure("list", "recursive list", "µs of processor time a line", _list),
    GrowthMeasure("cold_start", "cold start: stat of one object", "ms of processor time", lambda f, _: _cold(f, 0)),
    GrowthMeasure("cold_start_clock", "cold start: stat of one object", "ms by the clock", lambda f, _: _cold(f, 1)),
)
