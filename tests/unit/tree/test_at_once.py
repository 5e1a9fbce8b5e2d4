"""Several ranges at once: an error arrives as itself, and nothing is left behind that complains."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lochan.concurrency import abandon, plain
from lochan.errors import Corrupt, Transient
from lochan.formats.entry_table import table_of
from lochan.formats.run import changes_table
from lochan.store.capabilities import Wrapper
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.diff import diff
from lochan.tree.merge import merge
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import entry, gathered

LEFT = [entry(f"{number:04d}") for number in range(600)]
RIGHT = [entry(f"{number:04d}=2") for number in range(0, 600, 3)]
OURS = [entry(f"{number:04d}=3") for number in range(1, 600, 3)]


class Slow(Wrapper):
    """Ranges take a while to arrive, the files that name them none."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)
        self.arrived: list[str] = []

    async def put(self, path: str, data: bytes) -> None:
        await asyncio.sleep(0.01 if "/range" in path else 0)
        await self.inner.put(path, data)
        self.arrived.append(path)


class Failing(Wrapper):
    """After some time, ranges are neither read nor written."""

    reads = writes = False

    async def get(self, path: str) -> bytes:
        await asyncio.sleep(0)
        data = await self.inner.get(path)
        return data[:100] if self.reads else data

    async def put(self, path: str, data: bytes) -> None:
        await asyncio.sleep(0)
        if self.writes:
            raise Transient(path)
        await self.inner.put(path, data)


async def _scene() -> tuple[Failing, Trees, Tree, Tree, Tree]:
    store = Failing(MemoryStore())
    maker = Trees(store, "repo", cut=RangeCut(10, 10, 60), width=8)
    base = await maker.build(table_of(LEFT), 1)
    theirs, ours = [await maker.apply(base, changes_table(changes), 2) for changes in (RIGHT, OURS)]
    return store, Trees(store, "repo", cut=RangeCut(10, 10, 60), width=8), base, ours, theirs


def quietly(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs it; anything that the event loop would have logged is a failure."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        await work()
        gc.collect()
        await asyncio.sleep(0.01)

    asyncio.run(watched())
    gc.collect()
    assert complaints == []


@pytest.mark.thorough
def test_damaged_ranges() -> None:
    async def work() -> None:
        store, trees, base, ours, theirs = await _scene()
        store.reads = True
        with pytest.raises(Corrupt):
            await gathered(diff(trees, base, theirs))
        with pytest.raises(Corrupt):
            await trees.apply(base, changes_table(OURS), 3)
        with pytest.raises(Corrupt):
            await merge(trees, base, ours, theirs, mint=3)
        with pytest.raises(Corrupt):
            await gathered(Tree(base.ref, base.ranges, trees.ranges, 8).scan())

    quietly(work)


@pytest.mark.thorough
def test_a_store_that_takes_nothing() -> None:
    async def work() -> None:
        store, trees, base, ours, theirs = await _scene()
        store.writes = True
        with pytest.raises(Transient):
            await trees.build(table_of(LEFT), 3)
        with pytest.raises(Transient):
            await trees.apply(base, changes_table([entry("0001=9"), entry("0300=9")]), 3)
        with pytest.raises(Transient):
            await merge(trees, base, ours, theirs, mint=3)

    quietly(work)


@pytest.mark.thorough
def test_a_tree_is_there_when_all_its_ranges_are() -> None:
    async def work() -> None:
        store = Slow(MemoryStore())
        tree = await Trees(store, "repo", cut=RangeCut(10, 10, 60), width=8).build(table_of(LEFT), 1)
        files = [tree.ref.file, *(ref.file for ref in tree.ranges)]
        assert sorted(store.arrived) == sorted(f"repo/{file}" for file in files)

    quietly(work)


@pytest.mark.thorough
def test_a_reader_who_stops_after_a_page() -> None:
    async def work() -> None:
        _, trees, base, _, theirs = await _scene()
        async for _ in diff(trees, base, theirs):
            break
        async for _ in Tree(base.ref, base.ranges, trees.ranges, 8).scan():
            break

    quietly(work)


@pytest.mark.thorough
def test_merge_at_once() -> None:
    async def work() -> None:
        _, trees, base, ours, theirs = await _scene()
        merged = (await merge(trees, base, ours, theirs, mint=3)).tree
        assert merged is not None
        assert merged.ref.id == (await trees.apply(ours, changes_table(RIGHT), 4)).ref.id

    quietly(work)


@pytest.mark.thorough
def test_work_given_up_before_it_began(recwarn: pytest.WarningsRecorder) -> None:
    async def nothing() -> None:
        raise AssertionError

    async def work() -> None:
        task = asyncio.create_task(plain(nothing()))
        abandon([task])

    quietly(work)
    assert [str(each.message) for each in recwarn] == []
