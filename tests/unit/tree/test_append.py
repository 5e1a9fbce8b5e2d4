"""Entries behind all others of a tree: the tree is the one that the general way makes."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import entries_of, table_of
from lochan.formats.range import KEYLESS, MAX, MIN
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.tree.append import append_to_range
from lochan.tree.assemble import RangeCut
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import run

_CUT = RangeCut(5, 3, 20)


def data_object(path: str, least: str = "15", greatest: str = "16", keyless: int = 0, **more: Any) -> Entry:
    metadata = {"lochan-rows": "3", MIN: least, MAX: greatest, KEYLESS: str(keyless)}
    blocks = (Block(f"data/{path}", 0, len(path), b"\1" * 32),)
    return Entry(path, blocks, len(path), "0", "e", 7, metadata=metadata, **more)


class Forest:
    """The same trees, made by both ways on two stores."""

    def __init__(self, **more: Any) -> None:
        self.written: list[str] = []

        def seen(what: str, ref: Any) -> None:
            self.written += [ref.file] if what == "write" else []

        self.stores = MemoryStore(), MemoryStore()
        self.fast = Trees(self.stores[0], "repo", cut=_CUT, width=1, seen=seen, **more)
        self.plain = Trees(self.stores[1], "repo", cut=_CUT, width=1, **more)

    def grow(self, groups: Sequence[Sequence[Entry]]) -> Tree:
        trees = [run(each.build(table_of([]), 1)) for each in (self.fast, self.plain)]
        for mint, group in enumerate(groups, 2):
            trees[0] = run(self.fast.append(trees[0], group, mint))
            trees[1] = run(self.plain.apply(trees[1], changes_table(group), mint))
            assert trees[0].ref == trees[1].ref
            assert trees[0].ranges == trees[1].ranges
        return trees[0]

    def read(self, tree: Tree) -> list[Entry]:
        """From the files, by somebody who has nothing in memory."""

        async def read() -> list[Entry]:
            opened = await Trees(self.stores[0], "repo", width=1).open(tree.ref)
            assert opened.ranges == tree.ranges
            return [each async for batch in opened.scan() for each in entries_of(_table(batch))]

        return run(read())


def _table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


_GROUPS = st.lists(
    st.lists(
        st.tuples(st.text("abcdé", min_size=1, max_size=3), st.sampled_from(["", "01", "15", "2a"]), st.integers(0, 2)),
        min_size=1,
        max_size=4,
        unique_by=lambda each: each[0],
    ),
    max_size=8,
)


@given(_GROUPS, st.booleans())
@pytest.mark.thorough
def test_it_is_the_tree_of_the_general_way(groups: list[list[tuple[str, str, int]]], ascends: bool) -> None:
    forest = Forest()
    made = [
        [data_object(f"{number if ascends else 0:03}{path}", low, low, without) for path, low, without in group]
        for number, group in enumerate(groups)
    ]
    tree = forest.grow(made)
    expected = {each.path: each for group in made for each in group}
    found = forest.read(tree)
    assert [each.path for each in found] == sorted(expected, key=str.encode)
    assert [each.metadata for each in found] == [expected[each.path].metadata for each in found]


def test_names_in_a_map_are_put_in_order() -> None:
    forest = Forest()
    tree = forest.grow(
        [[data_object("a", headers={"z": "1", "b": "2"})], [data_object("b", checksums={"y": "", "x": ""})]]
    )
    assert [list(each.headers) for each in forest.read(tree)] == [["b", "z"], []]


@pytest.mark.parametrize(
    ("groups", "ranges"),
    [
        pytest.param([["a"], ["b"], ["c"]], [1, 1, 1], id="the last range grows"),
        pytest.param([["b"], ["a"]], [1, 1], id="in front of others"),
        pytest.param([["a", "b", "c", "d"], ["e"]], [1, 1], id="a range that may be cut"),
        pytest.param([["a"], ["a"]], [1, 0], id="one that is there"),
    ],
)
def test_how_many_ranges_are_written(groups: list[list[str]], ranges: list[int]) -> None:
    forest = Forest()
    forest.grow([[data_object(path) for path in group] for group in groups])
    assert len(forest.written) == sum(ranges)


@pytest.mark.parametrize(
    ("before", "paths", "is_short"),
    [
        pytest.param("", "ab", True, id="the first ones"),
        pytest.param("ab", "dc", True, id="behind the others"),
        pytest.param("bc", "a", False, id="in front of them"),
        pytest.param("ab", "b", False, id="in the place of one"),
        pytest.param("ab", "cde", False, id="as many as a range that may be cut"),
    ],
)
def test_when_the_short_way_is_taken(before: str, paths: str, is_short: bool) -> None:
    forest = Forest()
    tree = forest.grow([[data_object(path) for path in before]] if before else [])
    last = tree.ranges[-1] if tree.ranges else None
    rows = None if last is None else forest.fast.ranges.at_hand(last)
    assert (last is None) or rows is not None, "what was just written is in memory"
    made = append_to_range(last, rows, [data_object(path) for path in paths], 9, _CUT)
    assert (made is not None) == is_short


def test_files_of_users_take_the_general_way() -> None:
    forest = Forest()
    plain = [Entry(path, (), 1, "0", "e", 7) for path in "abc"]
    tree = forest.grow([[each] for each in plain])
    assert [each.path for each in forest.read(tree)] == ["a", "b", "c"]
    assert all(ref.keys is None for ref in tree.ranges)
