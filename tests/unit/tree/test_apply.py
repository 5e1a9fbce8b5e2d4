"""A change rewrites the ranges it touches, and those behind them only up to the first cut that stays."""

import asyncio
from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from lochan.errors import Invalid
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.metarange import EMPTY
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.tree import edit, trees
from lochan.tree.assemble import RangeCut
from lochan.tree.rows import Edited, with_changes
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import Forest, change, entry, gathered, paths, run

BASE = "a b! c d! e f! g h"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("changes", "after", "opened", "written"),
    [
        pytest.param("cc", "a b!|c cc d!|e f!|g h", "c d!", "c cc d!", id="an insert rewrites its range"),
        pytest.param("c=2", "a b!|c=2 d!|e f!|g h", "c d!", "c=2 d!", id="new content rewrites its range"),
        pytest.param("d!=2", "a b!|c d!=2|e f!|g h", "c d!", "c d!=2", id="the last of a range too"),
        pytest.param("-c", "a b!|d!|e f!|g h", "c d!", "d!", id="a delete rewrites its range"),
        pytest.param("0", "0 a b!|c d!|e f!|g h", "a b!", "0 a b!", id="in front of all"),
        pytest.param("bb", "a b!|bb c d!|e f!|g h", "c d!", "bb c d!", id="between two ranges: into the second"),
        pytest.param("-b!", "a c d!|e f!|g h", "a b!|c d!", "a c d!", id="a cut that goes joins two ranges"),
        pytest.param("-d! -f!", "a b!|c e g h", "c d!|e f!|g h", "c e g h", id="two cuts that go join three"),
        pytest.param("c1!", "a b!|c c1!|d!|e f!|g h", "c d!", "c c1!|d!", id="a new cut splits a range"),
        pytest.param("-c -d!", "a b!|e f!|g h", "c d!", "", id="a range that empties goes, its neighbours stay"),
        pytest.param("-g -h", "a b!|c d!|e f!", "g h", "", id="the last range may go"),
        pytest.param("z", "a b!|c d!|e f!|g h z", "g h", "g h z", id="behind all: into the last range, if it is open"),
        pytest.param("b! c", BASE.replace("! ", "!|"), "a b!|c d!", "", id="content that is there is no change"),
        pytest.param("-x -bb", BASE.replace("! ", "!|"), "c d!", "", id="deleting what is not there is no change"),
        pytest.param("a=2 e=2", "a=2 b!|c d!|e=2 f!|g h", "a b!|e f!", "a=2 b!|e=2 f!", id="two ranges far apart"),
        pytest.param("-a -b! -c -d! -e -f! -g -h", "", "a b!|c d!|e f!|g h", "", id="nothing is left: the empty tree"),
    ],
)
def test_which_ranges_are_opened_and_written(changes: str, after: str, opened: str, written: str) -> None:
    forest = Forest()
    base = forest.build(BASE)
    assert forest.show(base) == BASE.replace("! ", "!|")
    forest.ranges("write")
    tree = forest.apply(base, changes)
    assert forest.ranges("open") == opened
    assert forest.ranges("write") == written
    assert forest.show(tree) == after
    fresh = Forest().build(after.replace("|", " "))
    assert tree.ref.id == fresh.ref.id


def test_behind_a_last_range_that_ended_by_itself_nothing_is_opened() -> None:
    forest = Forest()
    tree = forest.apply(forest.build("a b! c d!"), "y z")
    assert forest.show(tree) == "a b!|c d!|y z"
    assert forest.ranges("open") == ""


def test_a_full_range_is_cut_and_the_cuts_behind_it_stay() -> None:
    forest = Forest(most=3)
    base = forest.build("a b c d e! f g!")
    assert forest.show(base) == "a b c|d e!|f g!"
    forest.ranges("write")
    tree = forest.apply(base, "bb")
    assert forest.show(tree) == "a b bb|c d e!|f g!"
    assert forest.ranges("open") == "a b c|d e!"


def test_a_short_range_takes_from_the_next() -> None:
    forest = Forest(least=2)
    base = forest.build("a b! c d! e f!")
    assert forest.show(forest.apply(base, "-a")) == "b! c d!|e f!"
    assert forest.ranges("open") == "a b!|c d!"


def test_nothing_changed_gives_the_same_tree() -> None:
    forest = Forest()
    base = forest.build(BASE)
    assert forest.apply(base, "a b!") is base
    assert run(forest.trees.apply(base, RUN_SCHEMA.empty_table(), 2)) is base


def test_an_entry_uploaded_again_keeps_its_first_address() -> None:
    forest = Forest()
    first = Entry("a", (Block("data/1", 0, 1, b""),), 1, "0", "etag", 7)
    second = Entry("a", (Block("data/2", 0, 1, b""),), 1, "0", "etag", 8)
    base = run(forest.trees.build(table_of([first]), 1))
    after = run(forest.trees.apply(base, changes_table([second, entry("b")]), 2))
    assert run(after.get("a")) == first


def test_a_new_range_is_written_though_a_file_of_its_content_exists() -> None:
    forest = Forest()
    base = forest.build("a b! c d!", mint=1)
    gone = forest.apply(base, "-c -d!", mint=2)
    forest.ranges("write")
    again = forest.apply(gone, "c d!", mint=3)
    assert again.ref.id == base.ref.id
    assert again.ranges[0] is gone.ranges[0]
    assert again.ranges[1].id == base.ranges[1].id
    assert again.ranges[1].file != base.ranges[1].file
    assert forest.ranges("write") == "c d!"


def test_files_of_one_content_and_mint_but_other_addresses_have_two_names() -> None:
    forest = Forest()
    trees = [
        run(forest.trees.build(table_of([entry("a").__class__("a", (Block(address, 0, 1, b""),), 1, "0", "", 7)]), 5))
        for address in ("data/1", "data/2")
    ]
    assert trees[0].ref.id == trees[1].ref.id
    assert trees[0].ref.file != trees[1].ref.file
    assert trees[0].ranges[0].file != trees[1].ranges[0].file


def test_build_takes_any_order_and_no_path_twice() -> None:
    forest = Forest()
    table = table_of(map(entry, ["a", "b", "c"]))
    assert run(forest.trees.build(table.take(pa.array([2, 0, 1])), 1)).ref == run(forest.trees.build(table, 1)).ref
    with pytest.raises(Invalid, match="twice"):
        run(forest.trees.build(table.take(pa.array([2, 0, 2])), 1))


def test_changes_must_be_in_order_and_have_the_columns() -> None:
    forest = Forest()
    base = forest.build("a")
    changes = changes_table(map(entry, ["a", "b"]))
    with pytest.raises(Invalid, match="order"):
        run(forest.trees.apply(base, changes.take(pa.array([1, 0])), 2))
    with pytest.raises(Invalid, match="columns"):
        run(forest.trees.apply(base, changes.drop_columns("etag"), 2))
    with pytest.raises(Invalid, match="nulls"):
        run(forest.trees.build(pa.Table.from_pylist([{"path": "a"}], ENTRY_SCHEMA), 2))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pieces", "opened", "written"),
    [
        pytest.param(["c=2", "d!=2"], ["c d!"], "c=2 d!=2", id="two pieces in one range"),
        pytest.param(["c", "d!=2"], ["c d!"], "c d!=2", id="the first changes nothing"),
        pytest.param(["c=2", "d!"], ["c d!"], "c=2 d!", id="the second changes nothing"),
        pytest.param(["c", "-cc", "d!"], ["c d!"], "", id="none changes anything: the range is taken as it is"),
        pytest.param(["-c", "-d!"], ["c d!"], "", id="all of it goes, piece by piece"),
        pytest.param(["b!=2 c", "cc e"], ["a b!", "c d!", "e f!"], "a b!=2|c cc d!", id="a piece over two ranges"),
        pytest.param(["y", "z"], ["g h"], "g h y z", id="behind all"),
        pytest.param(["", "c=2", ""], ["c d!"], "c=2 d!", id="a piece may be empty"),
    ],
)
def test_a_range_whose_changes_come_in_pieces_is_opened_once(
    pieces: list[str], opened: list[str], written: str
) -> None:
    forest = Forest()
    base = forest.build(BASE)
    forest.seen.clear()
    tree = run(forest.trees.apply(base, tables(*pieces), 2))
    assert [forest.text(ref) for verb, ref in forest.seen if verb == "open"] == opened
    assert forest.ranges("write") == written
    assert tree.ref == Forest(forest.store).apply(base, " ".join(pieces)).ref


@pytest.mark.parametrize("pieces", [("b", "a"), ("a b", "b"), ("a c", "", "b")])
def test_pieces_must_follow_each_other(pieces: tuple[str, ...]) -> None:
    forest = Forest()
    with pytest.raises(Invalid, match="order"):
        run(forest.trees.apply(forest.build(BASE), tables(*pieces), 2))


def test_many_changes_in_one_range_are_put_in_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many changes there are, only a piece of them is handled at once."""
    sizes: list[int] = []

    def watched(base: pa.RecordBatch, changes: pa.RecordBatch, *, restate: bool, untested: int) -> Edited:
        sizes.append(changes.num_rows)
        return with_changes(base, changes, restate=restate, untested=untested)

    monkeypatch.setattr(edit, "with_changes", watched)
    monkeypatch.setattr(trees, "_PIECE", 10)
    forest = Forest()
    after = forest.apply(forest.build("0 z"), " ".join(f"m{number:03d}" for number in range(95)))
    assert after.count == 97
    assert sizes == [10] * 9 + [5]


async def tables(*pieces: str) -> AsyncIterator[pa.Table]:
    for piece in pieces:
        yield changes_table(map(change, piece.split()))


def test_the_empty_tree_needs_no_file() -> None:
    forest = Forest()
    empty = run(forest.trees.build(ENTRY_SCHEMA.empty_table(), 1))
    assert empty.ref == EMPTY == run(forest.trees.open(EMPTY)).ref
    assert (empty.count, empty.bytes, run(empty.get("a")), run(gathered(empty.scan()))) == (0, 0, None, [])
    assert run(gathered(forest.store.list())) == []


@pytest.mark.thorough
def test_many_at_once_make_the_same_tree_as_one_after_the_other() -> None:
    table = table_of(entry(f"{number:05d}") for number in range(3000))
    changes = changes_table(entry(f"{number:05d}=2") for number in range(0, 3000, 50))

    async def ids(width: int) -> tuple[str, str, list[str]]:
        trees = Trees(MemoryStore(), "repo", cut=RangeCut(20, 20, 120), width=width)
        base = await trees.build(table, 1)
        after = await trees.apply(base, changes, 2)
        return base.ref.file, after.ref.file, paths(await gathered(after.scan()))

    assert asyncio.run(ids(8)) == run(ids(1))


@pytest.mark.thorough
def test_a_single_change_rewrites_about_one_range() -> None:
    """By the real rule, made small: ranges of twelve on the average."""
    seen: list[str] = []
    trees = Trees(MemoryStore(), "repo", cut=RangeCut(6, 6, 36), width=1, seen=lambda what, ref: seen.append(what))
    base = run(trees.build(table_of(entry(f"{number:05d}") for number in range(0, 6000, 10)), 1))
    assert 40 < len(base.ranges) < 60
    seen.clear()
    for number in range(5, 6000, 200):
        after = run(trees.apply(base, changes_table([entry(f"{number:05d}")]), 2))
        assert len({ref.id for ref in after.ranges} - {ref.id for ref in base.ranges}) <= 4
    assert seen.count("write") < 30 * 1.5
    assert seen.count("open") < 30 * 1.5
