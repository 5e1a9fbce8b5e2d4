"""Equal data objects of a pool share one file, and whatever reads or changes rows sees each object as its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.engines.duckdb.delete import delete_where
from lochan.formats.pool_settings import PoolSettings
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.versioning.collection.dedupe import dedupe
from lochan.versioning.collection.live_blocks import live_blocks
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake
from tests.unit.server.gateway_place import signed
from tests.unit.server.two_paths import opened

SIX = [{"n": n, "text": "t" * n} for n in range(6)]
OTHERS = [{"n": 100 + n, "text": "other"} for n in range(500)]  # a sweep refuses to delete more than half


def make_lake(at: str) -> str:
    """The same six rows: twice on main, once more on dev."""

    async def made() -> None:
        await (await Lake.create(LocalStore(at, create=True))).close()

    run(made())
    with lochan.connect(at) as found:
        logs = found.create_pool("logs", key="n")
        logs.load(OTHERS)
        logs.load(SIX)
        logs.create_branch("dev", "main")
        logs.load(SIX)
        logs.load(SIX, branch="dev")
    return at


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return make_lake(str(tmp_path / "lake"))


def six_of(lake: lochan.Lake, ref: str) -> list[int]:
    """How often each of the six rows is there."""
    found = Counter(row["n"] for row in lake.query(f"from logs@{ref} | n < 100").rows())
    return [found[n] for n in range(6)]


def data_files(lake: str, pool: lochan.Pool) -> list[Path]:
    return [path for path in (Path(lake) / pool.show().id / "data").rglob("*") if path.is_file()]


def everything(lake: lochan.Lake) -> dict[str, Any]:
    logs = lake.pool("logs")
    refs = ["main", "main~1", "main~2", "dev"]
    found: dict[str, Any] = {ref: sorted(map(str, lake.query(f"from logs@{ref}").rows())) for ref in refs}
    for each in logs.ref("main").list():
        found[each.path] = logs.ref("main").read(each.path)
    with lake.diff_rows("logs@dev", "logs@main") as difference:
        found["diff"] = difference.counts
    return found


def test_one_file_is_left_and_every_reader_finds_the_same(lake: str) -> None:
    with lochan.connect(lake) as found:
        logs = found.pool("logs")
        before, [size, *_] = everything(found), sorted(each.stat().st_size for each in data_files(lake, logs))
        report = logs.storage.duplicates()
        assert (report.duplicates, report.duplicate_bytes, report.freed_bytes) == (2, 2 * size, 2 * size)
        assert len(data_files(lake, logs)) == 4, "a report changes nothing"
        assert logs.storage.dedupe().duplicates == 2
        for _ in range(3):
            logs.gc.run(grace_hours=0)
        assert len(data_files(lake, logs)) == 2
        assert everything(found) == before
    with lochan.connect(lake) as again:
        assert everything(again) == before
        assert again.fsck(data=True).damaged == 0
        assert again.pool("logs").storage.dedupe().duplicates == 0


def play_changes(lake: str, *, deduped: bool) -> Iterator[object]:
    with lochan.connect(lake) as found:
        logs = found.pool("logs")
        if deduped:
            assert logs.storage.dedupe().duplicates == 2
        yield logs.delete_rows("n == 5", branch="dev").rows
        yield six_of(found, "dev"), six_of(found, "main")
        deleted = logs.delete_rows("n < 3")
        yield deleted.rows, deleted.objects
        yield six_of(found, "main")
        logs.branch("main").revert("main")
        yield six_of(found, "main")
        logs.branch("main").merge("dev")
        yield six_of(found, "main")
        logs.compact()
        yield six_of(found, "main")
        for _ in range(3):
            logs.gc.run(grace_hours=0)
        yield six_of(found, "main~5")
        yield found.fsck(data=True).damaged


def test_rows_change_in_each_object_of_the_file(tmp_path: Path) -> None:
    plain, deduped = (list(play_changes(make_lake(str(tmp_path / str(way))), deduped=way)) for way in (False, True))
    assert deduped == plain
    twice = [2] * 6
    assert deduped[:5] == [2, ([2, 2, 2, 2, 2, 0], twice), (6, 2), [0, 0, 0, 2, 2, 2], twice]


def test_a_merge_brings_objects_of_one_file_together(lake: str) -> None:
    with lochan.connect(lake) as found:
        logs = found.pool("logs")
        logs.storage.dedupe()
        logs.branch("main").merge("dev")
        assert six_of(found, "main") == [3] * 6
        [least] = [row["id"] for row in found.query("from logs:objects | count == 6 | head 1").rows()]
        logs.delete_objects([least])
        assert six_of(found, "main") == [2] * 6


def test_the_gateway_reads_the_files_of_a_pool(tmp_path: Path) -> None:
    async def play() -> None:
        world = await opened(tmp_path)
        pool = QueryLake(world.lake)
        await pool.pool("logs", SIX, SIX, settings=PoolSettings())
        names = [row["path"] for row in await pool.rows("from logs:entries")]

        async def bodies() -> list[bytes]:
            asked = (signed(world.people.admin, "GET", f"/logs/main/{name}") for name in names)
            return [(await world.both(each)).body for each in asked]

        before = await bodies()
        assert before[0] == before[1] != b""
        repository = await world.lake.open_repository("logs")
        [alias] = (await dedupe(repository, actor=ANN)).aliases.to_pylist()
        await repository.store.delete(alias["address"])
        assert await bodies() == before

    run(play())


@asynccontextmanager
async def in_memory(*loads: list[dict[str, Any]]) -> AsyncIterator[tuple[QueryLake, OpenRepository]]:
    """On a store whose objects are copied before the engine reads them."""
    lake = await Lake.create(MemoryStore())
    found = QueryLake(lake)
    await found.pool("logs", *loads, settings=PoolSettings())
    repository = await lake.open_repository("logs")
    try:
        yield found, repository
    finally:
        await repository.close()
        await lake.close()


def test_objects_that_are_copied_before_they_are_read() -> None:
    async def play() -> None:
        async with in_memory(SIX, SIX, SIX) as (lake, repository):
            assert len((await dedupe(repository, actor=ANN)).aliases) == 2
            assert len(await lake.rows("from logs")) == 18
            done = await delete_where(repository, "main", "n < 2", lake.lake.queries().files, actor=ANN)
            assert (done.rows, done.objects) == (6, 3)
            assert sorted(row["n"] for row in await lake.rows("from logs")) == sorted([2, 3, 4, 5] * 3)

    run(play())


def test_the_shapes_of_the_rows_are_told_by_each_object() -> None:
    """They are in its entry, and not in the file."""

    async def play() -> None:
        async with in_memory([{"a": None}, {"b": None}], [{"b": None}, {"a": None}]) as (lake, repository):
            assert len((await dedupe(repository, actor=ANN)).aliases) == 1
            assert sorted(map(str, await lake.rows("from logs"))) == ["{'a': None}"] * 2 + ["{'b': None}"] * 2
            done = await delete_where(repository, "main", "has(a)", lake.lake.queries().files, actor=ANN)
            assert (done.rows, await lake.rows("from logs")) == (2, [{"b": None}] * 2)

    run(play())


def test_damage_of_the_file_that_is_kept_is_found_before() -> None:
    async def play() -> None:
        async with in_memory(SIX, SIX) as (lake, repository):
            first, second = (await live_blocks(repository)).named["address"].to_pylist()
            data = bytearray(await repository.store.get(first))
            data[40] ^= 1
            await repository.store.put(first, bytes(data))
            found = await dedupe(repository, actor=ANN)
            assert [block.address for block in found.damaged] == [first]
            assert found.aliases["target"].to_pylist() == [second]
            assert len(await lake.rows("from logs")) == 12

    run(play())
