"""Reading ranges: checked, fetched again once if damaged, fetched once for many readers, kept on the disk."""

import asyncio
from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt, Gone
from lochan.formats.entry_table import table_of
from lochan.store.capabilities import Wrapper
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.tree.cache import ArrowCache
from lochan.tree.diff import diff
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import Forest, entry, gathered, run


class Spoiling(Wrapper):
    """Answers a given number of reads with half of the bytes zero."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.spoilt = 0

    async def get(self, path: str) -> bytes:
        data = await self.inner.get(path)
        if not self.spoilt:
            return data
        self.spoilt -= 1
        return data[: len(data) // 2].ljust(len(data), b"\0")


def new_tree(store: Store, text: str = "a b c") -> Tree:
    return run(Trees(store, "repo", width=1).build(table_of(map(entry, text.split())), 1))


def test_damage_on_the_way_costs_a_second_read() -> None:
    store = Spoiling(MemoryStore())
    ref = new_tree(store).ref
    trees = Trees(store, "repo", width=1)
    store.spoilt = 1
    tree = run(trees.open(ref))
    store.spoilt = 1
    assert run(tree.get("b")) == entry("b")


def test_damage_in_the_store_is_reported_with_the_name() -> None:
    store = Spoiling(MemoryStore())
    tree = new_tree(store)
    trees = Trees(store, "repo", width=1)
    store.spoilt = 2
    with pytest.raises(Corrupt, match=f"metarange repo/{tree.ref.file}"):
        run(trees.open(tree.ref))
    opened = run(trees.open(tree.ref))
    store.spoilt = 2
    with pytest.raises(Corrupt, match=f"range repo/{tree.ranges[0].file}"):
        run(opened.get("b"))
    assert run(opened.get("b")) == entry("b")  # nothing of the damage was kept


def test_two_files_exchanged_are_found_out() -> None:
    store = MemoryStore()
    one, other = new_tree(store, "a b"), new_tree(store, "a c")
    first, second = (f"repo/{tree.ranges[0].file}" for tree in (one, other))
    data = run(store.get(first))
    run(store.put(first, run(store.get(second))))
    run(store.put(second, data))
    for tree in (one, other):
        with pytest.raises(Corrupt, match="does not match its name"):
            run(run(Trees(store, "repo", width=1).open(tree.ref)).get("a"))


def test_a_missing_file_is_gone() -> None:
    store = MemoryStore()
    tree = new_tree(store)
    run(store.delete(f"repo/{tree.ranges[0].file}"))
    with pytest.raises(Gone):
        run(run(Trees(store, "repo", width=1).open(tree.ref)).get("a"))


def test_many_who_ask_at_once_fetch_it_once() -> None:
    counts = RequestCounts()
    store = CountingStore(MemoryStore(), counts)
    ref = new_tree(store).ref

    async def ask() -> None:
        tree = await Trees(store, "repo").open(ref)
        found = await asyncio.gather(*(tree.get("b") for _ in range(50)))
        assert found == [entry("b")] * 50

    asyncio.run(ask())
    assert counts.get.requests == 2  # the metarange and the range


def test_a_waiter_who_goes_away_leaves_the_others_waiting() -> None:
    store = MemoryStore()
    ref = new_tree(store).ref

    async def ask() -> None:
        tree = await Trees(store, "repo").open(ref)
        first, second = (asyncio.create_task(tree.get("b")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == entry("b")

    asyncio.run(ask())


def test_what_was_fetched_or_written_is_on_the_disk(tmp_path: Path) -> None:
    counts = RequestCounts()
    store = CountingStore(MemoryStore(), counts)
    ref = new_tree(store).ref

    def trees() -> Trees:
        return Trees(store, "repo", cache=ArrowCache(str(tmp_path), 1 << 30, SystemClock()), width=1)

    for fetched in (2, 3, 4):  # once the range, and the metarange each time
        assert run(run(trees().open(ref)).get("b")) == entry("b")
        assert counts.get.requests == fetched
    written = run(trees().build(table_of([entry("z")]), 2))
    assert run(run(trees().open(written.ref)).get("z")) == entry("z")
    assert counts.get.requests == 5


def test_a_bad_copy_on_the_disk_is_fetched_again(tmp_path: Path) -> None:
    store = MemoryStore()
    ref = new_tree(store).ref
    for _ in range(2):
        trees = Trees(store, "repo", cache=ArrowCache(str(tmp_path), 1 << 30, SystemClock()), width=1)
        assert run(run(trees.open(ref)).get("b")) == entry("b")
        (kept,) = tmp_path.rglob("*.arrow")
        kept.write_bytes(kept.read_bytes()[:-500])


def test_what_is_compared_does_not_stay_open(tmp_path: Path) -> None:
    store = MemoryStore()
    trees = Trees(store, "repo", cache=ArrowCache(str(tmp_path), 1 << 30, SystemClock()), width=1)
    left, right = (run(trees.build(table_of([entry(text)]), 1)) for text in ("a", "b"))
    assert len(run(gathered(diff(trees, left, right)))) == 2
    assert len(trees.ranges._mapped) == len(trees.ranges._heap) == 0
    run(left.get("a"))
    assert len(trees.ranges._mapped) == 1


def test_a_tree_that_was_opened_is_at_hand() -> None:
    forest = Forest()
    tree = forest.build("a b")
    assert run(forest.trees.open(tree.ref)) is tree
