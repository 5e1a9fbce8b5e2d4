"""`head 5` of a pool with a long history, and of one with many objects, against a fresh pool.

Of the long history every commit has the tree of the first load, and there is a checkpoint behind it, as upkeep makes
one. The many objects are one file under many names, each with a span of the key of its own, added by one commit.
"""

import asyncio
import os
import resource
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.places import ACTOR, IDS
from bench.pool_process import LOCHAN, environment, run
from bench.table import middle, seconds, show
from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.repository_events import Moved
from lochan.lake import Lake
from lochan.pools.commit_objects import add_objects
from lochan.pools.facts import from_metadata, to_metadata
from lochan.pools.keys import encode
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


class Cost(NamedTuple):
    """In seconds."""

    wall: float
    processor: float


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
    opened = {shown: (lambda name=name: asyncio.run(_head(lake, name))) for shown, name in pools.items()}
    _show("from the opening of the lake to the last row", _costs(opened))
    env = environment(folder)
    commands = {shown: partial(run, _command(lake, name), env) for shown, name in pools.items()}
    for command in commands.values():
        command()  # the first one writes the bytecode
    _show("as a process", _costs(commands))


def _costs(works: Mapping[str, Callable[[], object]]) -> dict[str, list[Cost]]:
    """In turns, so that what else the machine does falls on all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for _ in range(_ROUNDS):
        for name, work in works.items():
            before = _processor()
            costs[name].append(Cost(seconds(work), _processor() - before))
    return costs


def _processor() -> float:
    """Seconds of it, of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _show(how: str, costs: dict[str, list[Cost]]) -> None:
    """Beside other work the best of the processor's times says most."""
    fresh = next(iter(costs.values()))
    base, least = middle([each.wall for each in fresh]), min(each.processor for each in fresh)
    rows: list[list[object]] = []
    for name, taken in costs.items():
        wall, processor = middle([each.wall for each in taken]), min(each.processor for each in taken)
        rows.append([name, wall * 1e3, wall / base, processor * 1e3, processor / least])
    title = f"{_QUERY} of a pool, {how}: of {_ROUNDS}; budget {_BUDGET:g} x a fresh pool"
    show(title, ["", "median ms", "x fresh", "processor, best ms", "x fresh"], rows)


def _command(lake: str, name: str) -> list[str]:
    return [LOCHAN, "--lake", lake, "query", f"from {name} | {_QUERY}"]


async def _head(folder: str, name: str) -> None:
    """With nothing kept from before but what the system itself keeps of files."""
    lake = await Lake.open(LocalStore(folder))
    with await run_query(lake, f"from {name} | {_QUERY}") as result:
        assert [row["k"] for row in result.rows()] == [0, 1, 2, 3, 4]
    await lake.close()


# --- the lake --------------------------------------------------------------------------------------------------------
async def _write(folder: str, commits: int, objects: int) -> None:
    lake = await Lake.create(LocalStore(folder, create=True))
    for name in ("fresh", "long", "wide"):
        await lake.create_pool(name, _KEY, actor=ACTOR)
        await load_rows(lake, name, [{"k": number, "text": f"row {number}"} for number in range(_EACH)], actor=ACTOR)
        repository = await lake.open_repository(name)
        if name == "long":
            await _lengthen(repository, commits)
        elif name == "wide":
            tree = await repository.tree((await repository.resolve("main")).commit)
            [first] = entries_of((await tree.list(limit=1)).entries)
            more = [_moved_on(first, number) for number in range(1, objects)]
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
