"""`head 5` of a pool with a long history, and of one with many objects, against a fresh pool.

Of the long history every commit has the tree of the first load, and there is a checkpoint behind it, as upkeep makes
one. The many objects are one file under many names, each with a span of the key of its own, added by one commit.
"""

import asyncio
import os
from functools import partial
from pathlib import Path

import msgspec

from bench.places import ACTOR, IDS
from bench.pool_process import LOCHAN, environment, timed
from bench.table import middle, seconds, show
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.refs_events import Moved
from lochan.lake import Lake
from lochan.pools.facts import from_metadata, to_metadata
from lochan.pools.keys import encode
from lochan.pools.landing import add_objects
from lochan.pools.objects import object_path
from lochan.store.local import LocalStore
from lochan.versioning.open_repository import OpenRepository

_COMMITS, _OBJECTS = 20_000, 100_000
_PER_EVENT = 1_000
_EACH = 10  # rows of an object
_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "15"))
_BUDGET = 2.0
_KEY = PoolSettings((PoolKey(("k",)),))
_QUERY = "head 5"


def compare(folder: Path, share: float) -> None:
    commits, objects = (max(100, round(count * min(1.0, share))) for count in (_COMMITS, _OBJECTS))
    lake = str(folder / "heads")
    asyncio.run(_write(lake, commits, objects))
    pools = {
        "a fresh pool": "fresh",
        f"{commits:,} commits": "long",
        f"{objects:,} objects": "wide",
    }
    for name in pools.values():
        asyncio.run(_head(lake, name))  # what is imported on the way is not counted here
    opened: dict[str, list[float]] = {name: [] for name in pools}
    for _ in range(_ROUNDS):
        for shown, name in pools.items():
            opened[shown].append(seconds(lambda name=name: asyncio.run(_head(lake, name))))  # type: ignore[misc]
    _show("from the opening of the lake to the last row", opened)
    query = partial(_command, lake)
    _show("as a process", timed({shown: query(name) for shown, name in pools.items()}, environment(folder), _ROUNDS))


def _show(how: str, times: dict[str, list[float]]) -> None:
    base = middle(next(iter(times.values())))
    rows = [[name, middle(taken) * 1e3, min(taken) * 1e3, middle(taken) / base] for name, taken in times.items()]
    title = f"{_QUERY} of a pool, {how}: median of {_ROUNDS}; budget {_BUDGET:g} x a fresh pool"
    show(title, ["", "ms", "best ms", "x fresh"], rows)


def _command(lake: str, name: str) -> list[str]:
    return [LOCHAN, "--lake", lake, "query", f"from {name} | {_QUERY}"]


async def _head(folder: str, name: str) -> None:
    """With nothing kept from before but what the system itself keeps of files."""
    lake = await Lake.open(LocalStore(folder))
    with await lake.query(f"from {name} | {_QUERY}") as result:
        assert [row["k"] for row in result.rows()] == [0, 1, 2, 3, 4]
    await lake.close()


# --- the lake --------------------------------------------------------------------------------------------------------
async def _write(folder: str, commits: int, objects: int) -> None:
    lake = await Lake.create(LocalStore(folder, create=True))
    for name in ("fresh", "long", "wide"):
        await lake.create_pool(name, _KEY, actor=ACTOR)
        loaded = await lake.load(name, [{"k": number, "text": f"row {number}"} for number in range(_EACH)], actor=ACTOR)
        repository = await lake.open_repository(name)
        if name == "long":
            await _lengthen(repository, commits)
        elif name == "wide":
            more = [_moved_on(loaded.objects[0], number) for number in range(1, objects)]
            await add_objects(repository, "main", more, actor=ACTOR)
        await repository.close()
    await lake.close()


async def _lengthen(repository: OpenRepository, commits: int) -> None:
    for done in range(0, commits, _PER_EVENT):
        refs, _ = await repository.refs()
        branch = refs.branch("main")
        tip_id, tip, new = branch.head, refs.commit(branch.head), []
        for _ in range(min(_PER_EVENT, commits - done)):
            tip = _after(tip_id, tip)
            tip_id = tip.id
            new.append(tip)
        await repository.submit(ACTOR, Moved("main", branch.incarnation, branch.head, tip_id, "load", tuple(new)))
    await repository.journal.checkpoint()


def _after(parent_id: str, parent: Commit) -> Commit:
    number = parent.generation + 1
    message = f"Load {number} rows"
    date = parent.date + 60_000_000
    return msgspec.structs.replace(parent, parents=(parent_id,), message=message, date=date, generation=number)


def _moved_on(entry: Entry, number: int) -> Entry:
    """The same file under another name, with later keys."""
    facts = from_metadata(entry.metadata)
    low, high = (encode([number * _EACH + at], _KEY) for at in (0, _EACH - 1))
    told = to_metadata(msgspec.structs.replace(facts, key_min=low, key_max=high))
    return msgspec.structs.replace(entry, path=object_path(IDS.ksuid(entry.mtime)), metadata=told)
