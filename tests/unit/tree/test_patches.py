"""A range with few changes is stored as a patch of the one before it, and is the same range to everybody."""

import random

import numpy as np
import pyarrow as pa
import pytest

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import metarange, patch
from lochan.formats.entry import Block, Change, Entry, Tombstone
from lochan.formats.entry_table import table_of
from lochan.formats.range import RangeRef, content_id
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.diff import count, diff, diff_sizes, differences_of
from lochan.tree.merge import SOURCE, Strategy, conflicts_of, merge
from lochan.tree.patches import NEVER, PatchLimits
from lochan.tree.rows import splice_rows
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import gathered, run

CUT = RangeCut(40, 60, 200)
SMALL = PatchLimits(16, 8)


def entry(number: int, content: str = "0", where: str = "") -> Entry:
    name = f"{number:04}" if isinstance(number, int) else number
    metadata = {"owner": content, "kind": "x"} if content > "5" else {}
    block = Block(f"data/{where}{name}", 0, 3, name.encode())
    return Entry(f"d/{name}", (block,), len(content), content, f"e{content}", number, metadata=metadata)


class Twins:
    """The same work with patches and without."""

    def __init__(self, size: int = 400) -> None:
        self.store = MemoryStore()
        self.seen: list[tuple[str, RangeRef]] = []
        self.trees = Trees(self.store, "r", cut=CUT, width=1, patches=SMALL, seen=lambda *seen: self.seen.append(seen))
        self.plain = Trees(MemoryStore(), "r", cut=CUT, width=1, patches=NEVER)
        table = table_of([entry(number) for number in range(size)])
        self.first = self.both(run(self.trees.build(table, 1)), run(self.plain.build(table, 1)))

    def both(self, one: Tree, other: Tree) -> tuple[Tree, Tree]:
        """Both are the same tree, also to one who has nothing in memory."""
        assert one.ref.id == other.ref.id
        facts = [
            [(each.id, each.min_path, each.max_path, each.count, each.bytes) for each in t.ranges] for t in (one, other)
        ]
        assert facts[0] == facts[1]
        fresh = run(Trees(self.store, "r", cut=CUT, width=1).open(one.ref))
        assert fresh.ranges == one.ranges
        rows = [pa.Table.from_batches(run(gathered(tree.scan()))) for tree in (fresh, other)]
        assert rows[0].equals(rows[1])
        return one, other

    def apply(self, base: tuple[Tree, Tree], changes: pa.Table, mint: int = 2) -> tuple[Tree, Tree]:
        return self.both(run(self.trees.apply(base[0], changes, mint)), run(self.plain.apply(base[1], changes, mint)))

    def opened(self) -> list[RangeRef]:
        found = [ref for what, ref in self.seen if what == "open"]
        self.seen.clear()
        return found


def is_patched(tree: Tree) -> list[bool]:
    return [each.base is not None for each in tree.ranges]


def test_a_change_writes_a_patch_and_a_second_one_a_patch_of_the_same_base() -> None:
    twins = Twins()
    once = twins.apply(twins.first, changes_table([entry(3, "2")]))
    assert is_patched(once[0]) == [True] + [False] * (len(once[0].ranges) - 1)
    again = twins.apply(once, changes_table([entry(5, "3"), Tombstone("d/0007")]), 3)
    assert again[0].ranges[0].base == once[0].ranges[0].base == twins.first[0].ranges[0]
    back = twins.apply(again, changes_table([entry(3), entry(5), entry(7)]), 4)
    assert back[0].ranges[0].id == twins.first[0].ranges[0].id


def test_many_changes_write_the_range_as_a_whole() -> None:
    twins = Twins()
    ref = twins.first[0].ranges[0]
    few = twins.apply(twins.first, changes_table(entry(number, "2") for number in range(ref.count // 8)))
    assert is_patched(few[0])[0]
    more = twins.apply(few, changes_table(entry(number, "3") for number in range(ref.count // 8 + 1)), 3)
    assert not is_patched(more[0])[0]


@pytest.mark.parametrize("seed", range(6))
def test_any_changes_give_the_tree_that_is_written_as_a_whole(seed: int) -> None:
    chance, twins = random.Random(seed), Twins()
    tree, patched = twins.first, 0
    for mint in range(2, 8):
        numbers = sorted(chance.sample(range(400), chance.choice([1, 4, 15, 60])))
        changes = [
            Tombstone(f"d/{number:04}") if chance.random() < 0.3
            else entry(number, str(chance.randrange(10)), f"{mint}-") if chance.random() < 0.6
            else msgspec_path(entry(number, "1"), f"d/{number:04}+{chance.randrange(3)}")
            for number in numbers
        ]  # fmt: skip
        tree = twins.apply(tree, changes_table(changes), mint)
        patched += sum(is_patched(tree[0]))
    assert patched


def msgspec_path(entry: Entry, path: str) -> Entry:
    import msgspec

    return msgspec.structs.replace(entry, path=path)


def test_the_id_of_a_splice_is_that_of_its_rows() -> None:
    base = table_of([entry(number, str(number % 10)) for number in range(0, 60, 2)]).to_batches()[0]
    new = table_of([entry(number, str(number % 7)) for number in (1, 4, 59, 61)]).to_batches()[0]
    splice = patch.Splice(base, np.array([0, 2, 29]), new, np.array([1, 2, 30, 30]))
    rows = pa.Table.from_batches([each.batch for each in splice_rows(*splice)])
    assert patch.content_id(splice, splice.stretches()) == content_id(rows)


@pytest.mark.parametrize("prefix", ["", "d/00", "d/0009", "d/001", "x"])
def test_a_diff_of_patches_within_a_prefix_by_rows_and_by_sizes(prefix: str) -> None:
    twins = Twins()
    left = twins.apply(twins.first, changes_table([entry(3, "2"), entry(9, "22"), Tombstone("d/0011")]))
    changes: list[Change] = [entry(9, "4"), entry(13, "6"), Tombstone("d/0003"), msgspec_path(entry(9, "1"), "d/0009+")]
    right = twins.apply(twins.first, changes_table(changes), 3)
    for one, other in ((left, right), (twins.first, left), (right, left), (right, twins.first)):
        found, expected = [
            [each for table in run(gathered(diff(trees, one[at], other[at], prefix))) for each in table.to_pylist()]
            for at, trees in enumerate((twins.trees, twins.plain))
        ]
        assert found == expected
        sizes = [
            row
            for table in run(gathered(diff_sizes(twins.trees, one[0], other[0], prefix)))
            for row in table.to_pylist()
        ]
        sides = ("left", "right")
        assert sizes == [{**row, **{side: row[side] and row[side]["size"] for side in sides}} for row in expected]
        kinds = [row["kind"] for row in expected]
        counted = run(count(twins.trees, one[0], other[0], prefix))
        assert (counted.added, counted.removed, counted.changed) == tuple(
            map(kinds.count, ("added", "removed", "changed"))
        )


def test_a_diff_of_patches_opens_one_base_and_finds_the_same() -> None:
    twins = Twins()
    left = twins.apply(twins.first, changes_table([entry(3, "2"), entry(9, "2"), Tombstone("d/0011")]))
    right = twins.apply(twins.first, changes_table([entry(3, "2"), entry(9, "4"), entry(12, "0", "elsewhere")]), 3)
    for one, other in ((left, right), (twins.first, left), (right, left)):
        found, expected = (
            [each for table in run(gathered(diff(trees, one[at], other[at]))) for each in differences_of(table)]
            for at, trees in enumerate((twins.trees, twins.plain))
        )
        assert found == expected
        assert run(count(twins.trees, one[0], other[0])) == run(count(twins.plain, one[1], other[1]))


@pytest.mark.parametrize("strategy", [Strategy(), Strategy(SOURCE)])
def test_a_merge_of_patches_is_the_merge_of_their_ranges(strategy: Strategy) -> None:
    twins = Twins()
    base = twins.apply(twins.first, changes_table([entry(1, "7")]))
    ours = twins.apply(base, changes_table([entry(3, "2"), entry(9, "2"), Tombstone("d/0011")]), 3)
    apart: list[Change] = [entry(4, "2"), Tombstone("d/0013"), entry(9, "2", "there")]
    clash: list[Change] = [entry(9, "5"), entry(11, "3")]
    for changes in (apart, clash):
        theirs = twins.apply(base, changes_table(changes), 4)
        found, expected = (
            run(merge(trees, base[at], ours[at], theirs[at], mint=5, strategy=strategy))
            for at, trees in enumerate((twins.trees, twins.plain))
        )
        assert found.conflicts == expected.conflicts
        assert conflicts_of(found.first) == conflicts_of(expected.first)
        if found.tree is not None and expected.tree is not None:
            assert any(is_patched(twins.both(found.tree, expected.tree)[0]))


def test_a_damaged_patch_and_an_exchanged_base_are_found() -> None:
    twins = Twins()
    one = twins.apply(twins.first, changes_table([entry(3, "2")]))[0]
    ref = one.ranges[0]
    data = run(twins.store.get(f"r/{ref.file}"))
    rows = run(twins.trees.ranges.load(ref)).batch
    found = 0
    for at in range(0, len(data), 97):
        run(twins.store.put(f"r/{ref.file}", data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]))
        try:  # what a flipped bit does not change may be read
            assert run(Trees(twins.store, "r", cut=CUT, width=1).ranges.load(ref)).batch.equals(rows)
        except Corrupt:
            found += 1
    assert found
    other = twins.apply(twins.first, changes_table([entry(4, "2")]))[0].ranges[0]
    run(twins.store.put(f"r/{ref.file}", run(twins.store.get(f"r/{other.file}"))))
    with pytest.raises(Corrupt, match="does not match its name"):
        run(Trees(twins.store, "r", cut=CUT, width=1).ranges.load(ref))


def test_an_older_program_refuses_a_tree_with_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = Twins()
    one = twins.apply(twins.first, changes_table([entry(3, "2")]))[0]
    monkeypatch.setattr(metarange, "VERSION", 2)
    with pytest.raises(FutureFormat):
        run(Trees(twins.store, "r", width=1).open(one.ref))


def test_a_range_that_is_its_base_again_joins_the_one_before_it() -> None:
    twins = Twins()
    first, second = twins.first[0].ranges[:2]
    number = int(second.min_path[2:]) + 3
    once = twins.apply(twins.first, changes_table([entry(number, "2")]))
    assert is_patched(once[0])[1]
    back = twins.apply(once, changes_table([Tombstone(first.max_path), entry(number)]), 3)
    assert back[0].ranges[0].count != first.count
