"""Which ranges of a pool's tree a plan opens. A tree has a range for each word of its objects, which are written as
`least-greatest` or `least-greatest*rows`; `-*2` has two rows without the key."""

from __future__ import annotations

import pytest

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.range import RangeRef
from lochan.pools import keys
from lochan.pools.facts import Facts, to_metadata
from lochan.pools.tree_pruning import Reach, Within, classes, open_ranges
from lochan.store.memory import MemoryStore
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import Marked, run

BY_K = PoolSettings((PoolKey(("k",)),))
TREE = "0-9,3-4 10-19,50-60 20-29 -*2 90-99"


def tree(text: str, settings: PoolSettings = BY_K) -> tuple[Tree, list[str]]:
    """And the words whose ranges were opened."""
    opened: list[str] = []
    words = text.split()

    def seen(what: str, ref: RangeRef) -> None:
        if what == "open":
            opened.append(words[int(ref.min_path[0])])

    entries = []
    for number, word in enumerate(words):
        objects = word.split(",")
        ends = [""] * (len(objects) - 1) + ["!"]  # where a range ends
        entries += [_entry(f"{number}.{at}{ends[at]}", each, settings) for at, each in enumerate(objects)]
    trees = Trees(MemoryStore(), "repo", cut=Marked(1, 1, 100), width=1)
    built = run(trees.build(table_of(entries), 1))
    again = Trees(trees._store, "repo", cut=Marked(1, 1, 100), width=1, seen=seen)
    return run(again.open(built.ref)), opened


def _entry(path: str, word: str, settings: PoolSettings) -> Entry:
    span, _, rows = word.partition("*")
    ends = [keys.encode([int(end)], settings) for end in span.split("-") if end]
    low, high = (min(ends), max(ends)) if ends else (b"", b"")
    count = int(rows or 10)
    facts = Facts(count, 0 if ends else count, low, high, ())
    return Entry(path, (Block(path, 0, 1, b"s" * 32),), 1, "", "", 0, metadata=to_metadata(facts))


def opened(text: str, reach: Reach, settings: PoolSettings = BY_K) -> str:
    of, seen = tree(text, settings)
    found = run(open_ranges(of, settings, reach))
    assert sorted(text.split()[number] for number in found.ranges) == sorted(seen)
    assert len(found.entries) == sum(of.ranges[number].count for number in found.ranges)
    return " ".join(sorted(seen, key=text.split().index))


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (20, 29, "10-19,50-60 20-29"),  # a range spans what lies between its objects too
        (95, None, "90-99"),
        (None, 5, "0-9,3-4"),
        (61, 89, "90-99"),  # one for its fields
        (None, None, TREE),
    ],
)
def test_spans(low: int | None, high: int | None, expected: str) -> None:
    within = (Within(keys.bounds(low, high, BY_K)),) if (low, high) != (None, None) else ()
    assert opened(TREE, Reach(within)) == expected


def test_both_spans_must_be_met() -> None:
    within = Within(keys.bounds(0, 20, BY_K)), Within(keys.bounds(20, 99, BY_K))
    assert opened(TREE, Reach(within)) == "10-19,50-60 20-29"


def test_rows_that_lack_a_part_of_the_key() -> None:
    assert opened(TREE, Reach((Within(keys.bounds(95, None, BY_K), or_keyless=True),))) == "-*2 90-99"


def test_rows_without_the_key() -> None:
    assert opened(TREE, Reach(no_key=True)) == "-*2"


@pytest.mark.parametrize(
    "text, first, expected",
    [
        (TREE, 1, "0-9,3-4"),
        (TREE, 20, "0-9,3-4"),
        (TREE, 21, "0-9,3-4 10-19,50-60 20-29"),
        (TREE, 1_000, TREE),  # there are not so many
        ("50-59 0-9", 10, "0-9"),  # in the order of the keys, whatever the tree's is
        ("40-50 5-6 0-90 7-8", 1, "5-6 0-90 7-8"),  # the least key is of an object whose rows may be far behind
        ("0-9 -*2", 11, "0-9 -*2"),
        ("0-9 9-20", 10, "0-9 9-20"),  # one that begins where the others end may come first
        ("0-9 1-2 3-4 5-6 7-8", 50, "0-9 1-2 3-4 5-6 7-8"),
    ],
)
def test_the_first_rows(text: str, first: int, expected: str) -> None:
    assert opened(text, Reach(first=first)) == expected


def test_rows_without_the_key_that_may_come_first() -> None:
    nulls_first = PoolSettings((PoolKey(("k",)),), nulls_first=True)
    assert opened("50-59 0-9 -*2", Reach(first=1), nulls_first) == "0-9 -*2"


def test_a_key_that_descends() -> None:
    down = PoolSettings((PoolKey(("k",), descending=True),))
    assert opened("0-9 50-59 20-29", Reach(first=3), down) == "50-59"
    assert opened("0-9 50-59 20-29", Reach((Within(keys.bounds(25, 51, down)),)), down) == "50-59 20-29"


def test_ranges_that_do_not_tell_are_opened() -> None:
    """Ranges of earlier versions are such."""
    text = "0-9 50-59"
    of, seen = tree(text)
    plain = tuple(
        RangeRef(each.id, each.file, each.min_path, each.max_path, each.count, each.bytes) for each in of.ranges
    )
    of.ranges = (of.ranges[0], plain[1])
    found = run(open_ranges(of, BY_K, Reach(first=1)))
    assert sorted(found.ranges) == [0, 1]
    assert seen == ["50-59", "0-9"]
    assert classes(of, BY_K) is None


def test_the_classes_of_the_key() -> None:
    assert classes(tree("0-9 -*2 5-8")[0], BY_K) == ["int"]
    down = PoolSettings((PoolKey(("k",), descending=True),))
    assert classes(tree("0-9", down)[0], down) == ["int"]
