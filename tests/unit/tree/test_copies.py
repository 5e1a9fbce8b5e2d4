"""Copies for the local disk are made after the answer: only those who asked for one wait for it."""

import asyncio
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

from lochan.clock import SystemClock
from lochan.formats.entry_table import table_of
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.tree import ranges as copies
from lochan.tree.cache import ArrowCache
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import entry, run


class SlowCache(ArrowCache):
    """Stores nothing until the test lets it go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), 1 << 30, SystemClock())
        self.go_on = Event()
        self.kept = 0

    def keep(self, name: str, batch: pa.RecordBatch) -> None:
        assert self.go_on.wait(10)
        super().keep(name, batch)
        self.kept += 1


def test_the_answer_does_not_wait_for_the_copy_and_a_reader_does(tmp_path: Path) -> None:
    cache, counts = SlowCache(tmp_path), RequestCounts()
    trees = Trees(CountingStore(MemoryStore(), counts), "repo", cache=cache)

    async def play() -> None:
        tree = await trees.build(table_of([entry("a")]), 1)
        assert cache.kept == 0
        reading = asyncio.create_task(tree.get("a"))
        await asyncio.sleep(0.05)  # nobody may go on meanwhile
        assert not reading.done()
        cache.go_on.set()
        assert await reading == entry("a")
        assert (cache.kept, counts.get.requests) == (1, 0)
        await trees.ranges.settled()

    asyncio.run(play())


def test_who_writes_faster_than_the_disk_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_HELD_BYTES_MAX", 0)
    cache = SlowCache(tmp_path)
    trees = Trees(MemoryStore(), "repo", cache=cache)

    async def play() -> None:
        writing = asyncio.create_task(trees.build(table_of([entry("a")]), 1))
        await asyncio.sleep(0.05)  # nobody may go on meanwhile
        assert not writing.done()
        cache.go_on.set()
        await writing
        assert cache.kept == 1

    asyncio.run(play())


def test_none_is_made_while_a_tree_is_put_together(tmp_path: Path) -> None:
    cache = SlowCache(tmp_path)
    cache.go_on.set()
    trees = Trees(MemoryStore(), "repo", cache=cache)

    async def play() -> None:
        with trees.ranges.alone():
            first = await trees.build(table_of([entry("a")]), 1)
            await trees.build(table_of([entry("b")]), 1)
            await asyncio.sleep(0.05)  # none may be made meanwhile
            assert cache.kept == 0
            assert await first.get("a") == entry("a")  # who asks for one gets it
            assert cache.kept == 1
        await trees.ranges.settled()
        assert cache.kept == 2

    asyncio.run(play())


def test_who_goes_away_leaves_the_copy_to_be_made(tmp_path: Path) -> None:
    cache = SlowCache(tmp_path)
    trees = Trees(MemoryStore(), "repo", cache=cache)

    async def play() -> None:
        tree = await trees.build(table_of([entry("a")]), 1)
        reading = asyncio.create_task(tree.get("a"))
        await asyncio.sleep(0.05)  # whether it waits by then or not, the copy is made
        reading.cancel()
        cache.go_on.set()
        await trees.ranges.settled()
        assert cache.kept == 1
        assert await tree.get("a") == entry("a")

    asyncio.run(play())


def test_a_copy_that_fails_costs_a_reader_a_read(tmp_path: Path) -> None:
    class Broken(ArrowCache):
        asked = 0

        def keep(self, name: str, batch: pa.RecordBatch) -> None:
            self.asked += 1
            if self.asked == 1:
                raise MemoryError("not the first time")
            super().keep(name, batch)

    counts = RequestCounts()
    store = CountingStore(MemoryStore(), counts)
    trees = Trees(store, "repo", cache=Broken(str(tmp_path), 1 << 30, SystemClock()))

    async def play() -> None:
        tree = await trees.build(table_of([entry("a")]), 1)
        await trees.ranges.settled()
        assert await tree.get("a") == entry("a")

    asyncio.run(play())
    assert counts.get.requests == 1


def test_without_an_event_loop_it_is_made_at_once(tmp_path: Path) -> None:
    trees = Trees(MemoryStore(), "repo", cache=ArrowCache(str(tmp_path), 1 << 30, SystemClock()), width=1)
    run(trees.build(table_of([entry("a")]), 1))
    assert len(list(tmp_path.rglob("*.arrow"))) == 1
