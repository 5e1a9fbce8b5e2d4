"""The process that is killed while it loads, deletes, compacts and merges rows of a pool, one step after the other."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from lochan import failpoints
from lochan.api.queries import run_query
from lochan.engines.duckdb.delete import delete_where
from lochan.engines.duckdb.load.load import load_rows
from lochan.engines.run_query import RunOptions
from lochan.errors import AlreadyExists, NothingToDo
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.record import Actor
from lochan.jobs.compaction import compact
from lochan.jobs.compaction_plan import EVERYTHING
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning import branches
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import log
from tests.kill.child import Order, Trap

ANN = Actor("ann", "kill", "here")
LOADS = {"one": range(10), "two": range(5, 15), "three": range(15, 25)}  # the first two overlap
# What `main` holds after each step.
STATES = [
    [],
    [*range(10)],
    sorted([*range(10), *range(5, 15)]),
    sorted([*range(6, 10), *range(6, 15)]),
    sorted([*range(6, 10), *range(6, 15), *range(15, 25)]),
]


async def work(order: Order) -> None:
    """A step that an earlier life has done is not repeated: its commit shows that it is done."""
    lake = await opened(order.folder)
    with suppress(AlreadyExists):
        await lake.create_pool("logs", PoolSettings((PoolKey(("n",)),)), actor=ANN)
    pool = await lake.open_repository("logs")
    await load(pool, "main", "one")
    await load(pool, "main", "two")
    with suppress(AlreadyExists):
        await branches.create_branch(pool, "dev", "main", actor=ANN)
    await load(pool, "dev", "three")
    if "delete" not in await done(pool, "main"):
        files = lake.queries().files
        await delete_where(pool, "main", "n < 6", files, CommitMessage("delete"), actor=ANN)
    with suppress(NothingToDo):  # both sides replace the same objects
        await compact(pool, "dev", lake.queries(), EVERYTHING, actor=ANN)
    if "merge" not in await done(pool, "main"):
        await head_moves.merge(pool, "dev", "main", CommitMessage("merge"), actor=ANN)
    with suppress(NothingToDo):
        await compact(pool, "main", lake.queries(), EVERYTHING, actor=ANN)
    await pool.close()
    await lake.close()


async def load(pool: OpenRepository, branch: str, name: str) -> None:
    if name not in await done(pool, branch):
        await load_rows(pool, branch, [{"n": n} for n in LOADS[name]], CommitMessage(name), actor=ANN)


async def done(pool: OpenRepository, branch: str) -> list[str]:
    refs, _ = await pool.refs()
    return [commit.message for _, commit in log(refs.commit, refs.branch(branch).head)]


async def rows(lake: Lake) -> list[int]:
    with await run_query(lake, "from logs | yield n", RunOptions(actor=ANN)) as result:
        return list(result.rows())


async def opened(folder: str) -> Lake:
    store = LocalStore(str(Path(folder)), create=True)
    with suppress(AlreadyExists):
        return await Lake.create(store)
    return await Lake.open(store)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    asyncio.run(work(given))
    print(msgspec.json.encode(dict(trap.passed)).decode())
