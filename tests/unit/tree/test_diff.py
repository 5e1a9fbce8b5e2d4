"""A diff opens only the ranges that differ, wherever the cuts have moved."""

from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.tree.diff import DIFF_SCHEMA, DiffCounts, count, diff, diff_sizes, differences_of
from tests.unit.tree.small_trees import Forest, gathered, run

CASES = [
    pytest.param("a b! c d!", "a b! c d!", "", "", id="equal trees"),
    pytest.param("a b! c d! e", "a b! c=2 d! e", "*c", "c d!|c=2 d!", id="equal ranges are not opened"),
    pytest.param("a b! c d! e", "a c d! e", "-b!", "a b!|a c d!|c d!", id="a cut that went"),
    pytest.param(
        "a b! c d! e f!", "a a1! b! c d! e f!", "+a1!", "a a1!|a b!|b!", id="a cut that came, behind it equal"
    ),
    pytest.param("a b! c d! e f!", "a b! e f!", "-c -d!", "c d!", id="a range that went"),
    pytest.param("", "a b! c", "+a +b! +c", "a b!|c", id="from nothing"),
    pytest.param("a b! c", "", "-a -b! -c", "a b!|c", id="to nothing"),
    pytest.param("a b! c d!", "x y! z", "-a -b! -c -d! +x +y! +z", "a b!|c d!|x y!|z", id="nothing in common"),
]


@pytest.mark.parametrize(("left", "right", "changes", "opened"), CASES)
def test_which_ranges_are_opened(left: str, right: str, changes: str, opened: str) -> None:
    forest = Forest()
    one, other = forest.build(left), forest.build(right)
    tables = run(gathered(diff(forest.trees, one, other)))
    signs = {"added": "+", "removed": "-", "changed": "*"}
    assert " ".join(signs[each.kind] + each.path for table in tables for each in differences_of(table)) == changes
    assert forest.ranges("open") == opened
    assert all(table.schema == DIFF_SCHEMA for table in tables)


@pytest.mark.parametrize(("left", "right", "changes", "opened"), CASES)
def test_sizes_alone(left: str, right: str, changes: str, opened: str) -> None:
    forest = Forest()
    one, other = forest.build(left), forest.build(right)
    tables = run(gathered(diff_sizes(forest.trees, one, other)))
    assert forest.ranges("open") == opened
    found = [row for table in tables for row in table.to_pylist()]
    assert found == [
        {
            "path": each.path,
            "kind": each.kind,
            "left": None if each.left is None else each.left.size,
            "right": None if each.right is None else each.right.size,
        }
        for table in run(gathered(diff(forest.trees, one, other)))
        for each in differences_of(table)
    ]


@pytest.mark.parametrize(
    ("left", "right", "prefix", "counts", "opened"),
    [
        pytest.param("a b! e", "a b! c d! e", "", DiffCounts(2, 0, 0, 2, 0), "", id="a range that came is not opened"),
        pytest.param("a b! c d! e", "a b! e", "", DiffCounts(0, 2, 0, 0, 2), "", id="nor one that went"),
        pytest.param(
            "a c=22 d!", "a c=333 d!", "", DiffCounts(0, 0, 1, 3, 2), "a c=22 d!|a c=333 d!", id="a change is"
        ),
        pytest.param(
            "x", "x ya yb!", "ya", DiffCounts(1, 0, 0, 1, 0), "x ya yb!", id="a prefix counts what is under it"
        ),
        pytest.param("pa pb! qa", "pa=2 pb! qa=2", "q", DiffCounts(0, 0, 1, 1, 1), "qa|qa=2", id="and opens no more"),
    ],
)
def test_counts(left: str, right: str, prefix: str, counts: DiffCounts, opened: str) -> None:
    forest = Forest()
    assert run(count(forest.trees, forest.build(left), forest.build(right), prefix)) == counts
    assert forest.ranges("open") == opened


def test_a_diff_goes_on_behind_a_path() -> None:
    forest = Forest()
    one, other = forest.build("a b! c d! e"), forest.build("a=2 b! c=2 d!=2 e=2")
    tables = run(gathered(diff(forest.trees, one, other, after="c")))
    assert [each.path for table in tables for each in differences_of(table)] == ["d!", "e"]
    assert forest.ranges("open") == "c d!|c=2 d!=2|e|e=2"


def test_it_is_made_as_it_is_asked_for() -> None:
    forest = Forest()
    one, other = forest.build("a b! c d! e"), forest.build("a=2 b! c=2 d! e=2")
    tables = diff(forest.trees, one, other)
    assert len(run(_first(tables))) == 1
    assert forest.ranges("open") == "a b!|a=2 b!"


async def _first(tables: AsyncIterator[pa.Table]) -> pa.Table:
    return await anext(tables)


def test_neither_address_nor_time_is_a_difference() -> None:
    forest = Forest()
    one, other = (
        run(forest.trees.build(table_of([Entry("a", (Block(address, 0, 1, b""),), 1, "0", "x", time)]), 1))
        for address, time in (("data/1", 1), ("data/2", 2))
    )
    assert one.ref.id == other.ref.id
    assert run(gathered(diff(forest.trees, one, other))) == []


@pytest.mark.parametrize(
    ("left", "right", "differ"),
    [
        ({}, {}, False),
        ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, False),
        ({"a": "1"}, {"a": "2"}, True),
        ({"a": "1"}, {"b": "1"}, True),
        ({"a": "1"}, {"a": "1", "b": "2"}, True),
        ({}, {"a": ""}, True),
        ({"a": "bc"}, {"ab": "c"}, True),
    ],
)
def test_headers_and_metadata_are(left: dict[str, str], right: dict[str, str], differ: bool) -> None:
    forest = Forest()
    for name in ("headers", "metadata"):
        one, other = (
            run(forest.trees.build(table_of([Entry("a", (), 1, "0", "", 1, **{name: value})]), 1))  # type: ignore[arg-type]
            for value in (left, right)
        )
        assert (one.ref.id != other.ref.id) == differ
        assert len(run(gathered(diff(forest.trees, one, other)))) == differ
