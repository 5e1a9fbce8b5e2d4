"""What the driver asks the store for does not grow with the objects that Spark reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from lochan.engines.spark import object_stats as module
from lochan.engines.spark.frames.read_plan import ReadRequest, plan
from lochan.engines.spark.object_stats import object_stats
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.pools.commit_objects import add_objects
from lochan.pools.objects import object_path
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning.uri import Uri
from tests.run import run
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import job_pool


def addresses_of(count: int) -> list[str]:
    """In the folders of tasks, as objects lie."""
    return [f"r/data/7-task{number % 5}/{number * 7919 % 10_007:05d}" for number in range(count)]


async def counted(store: Store, addresses: Sequence[str]) -> dict[str, int]:
    """The requests for these, which must be answered as if each had been asked for."""
    counts = RequestCounts()
    found = await object_stats(CountingStore(store, counts), addresses)
    assert [None if stat is None else (stat.path, stat.size, stat.etag) for stat in found] == [
        await _head(store, address) for address in addresses
    ]
    return {verb: tally.requests for verb, tally in counts.verbs.items() if tally.requests}


async def _head(store: Store, address: str) -> tuple[str, int, str] | None:
    try:
        stat = await store.head(address)
    except Exception:
        return None
    return stat.path, stat.size, stat.etag


@pytest.fixture(params=["memory", "a folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(str(tmp_path / "store"), create=True)


async def fill(store: Store, addresses: Sequence[str]) -> None:
    for number, address in enumerate(addresses):
        await store.put(address, b"x" * (number % 9))


def test_as_many_requests_for_fifty_as_for_two_hundred(store: Store) -> None:
    async def play() -> None:
        await fill(store, addresses_of(250))
        assert await counted(store, addresses_of(50)) == {"list": 1}
        assert await counted(store, addresses_of(200)) == {"list": 1}
        assert await counted(store, addresses_of(3)) == {"head": 3}
        assert await counted(store, []) == {}

    run(play())


def test_what_a_list_does_not_show_is_asked_for(store: Store) -> None:
    async def play() -> None:
        await fill(store, addresses_of(200))
        gone = ["r/data/7-task1/gone", "r/data/6-task/gone", "r/data/9-task/gone"]
        assert await counted(store, [*gone, *addresses_of(200)]) == {"list": 1, "head": 3}

    run(play())


def test_a_list_of_mostly_others_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LISTED_PER_OBJECT", 2)

    async def play() -> None:
        store = MemoryStore()
        every = sorted(addresses_of(1_000))
        await fill(store, every)
        found = await counted(store, every[::20])
        assert found == {"list": 1, "head": 45}

    run(play())


def test_a_plan_asks_as_little_for_many_objects_as_for_few(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()

    async def play() -> None:
        assert await planned(few, 50) == await planned(many, 200)

    run(play())


async def planned(folder: Path, objects: int) -> int:
    """The requests of a plan of a pool with so many objects, from a cold start."""
    async with job_pool(folder) as pool:
        await pool.lake.load("logs", [{"k": 1}])
        [first] = await pool.entries()
        names = [object_path(Ids().ksuid(first.mtime)) for _ in range(objects)]
        copies = [msgspec.structs.replace(first, path=name) for name in names]
        await add_objects(pool.repository, "main", copies, actor=ANN)
    counts = RequestCounts()
    lake = await Lake.open(CountingStore(LocalStore(str(folder / "lake")), counts))
    made = await plan(lake.queries(), ReadRequest(Uri("logs", "main", "")))
    assert sum(len(scan.objects) for scan in made.scans.files.values()) == objects + 1
    await lake.close()
    return counts.total.requests
