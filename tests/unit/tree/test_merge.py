"""A merge takes whole ranges if it can, and compares rows only where both sides changed the same span."""

import asyncio

import pytest

from lochan.errors import Invalid
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.tree import merge as merge_module
from lochan.tree.assemble import RangeCut
from lochan.tree.merge import BASE as BASE_WINS
from lochan.tree.merge import DEST, SOURCE, Strategy, conflicts, conflicts_of, merge
from lochan.tree.trees import Trees
from tests.unit.tree.small_trees import Forest, change, entry, gathered, run

BASE = "a b! c d! e f! g h"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged", "opened", "written"),
    [
        pytest.param("a=2", "e=3", "a=2 b!|c d!|e=3 f!|g h", "", "", id="other ranges: none is opened"),
        pytest.param("", "e=3", "a b!|c d!|e=3 f!|g h", "", "", id="only theirs: the tree itself"),
        pytest.param("a=2", "", "a=2 b!|c d!|e f!|g h", "", "", id="only ours: the tree itself"),
        pytest.param("e=3", "e=3", "a b!|c d!|e=3 f!|g h", "", "", id="both alike"),
        pytest.param("a=2", "-b!", "a=2 c d!|e f!|g h", "a b!|a c d!|a=2 b!|c d!", "a=2 c d!", id="a cut that goes"),
        pytest.param("a=2", "-d!", "a=2 b!|c e f!|g h", "", "", id="a cut that goes elsewhere"),
        pytest.param("a=2", "-e -f!", "a=2 b!|c d!|g h", "", "", id="a range that goes"),
        pytest.param("a=2", "e1!", "a=2 b!|c d!|e e1!|f!|g h", "", "", id="a range that splits"),
        pytest.param(
            "c=2", "c1=3", "a b!|c=2 c1=3 d!|e f!|g h", "c c1=3 d!|c d!|c=2 d!", "c=2 c1=3 d!", id="one range"
        ),
        pytest.param("-c", "d!=2", "a b!|d!=2|e f!|g h", "c d!|c d!=2|d!", "d!=2", id="a delete and a change"),
        pytest.param(
            "c=2", "c=2 d!=2", "a b!|c=2 d!=2|e f!|g h", "c d!|c=2 d!|c=2 d!=2", "", id="ours plus one is theirs"
        ),
        pytest.param("i", "j", "a b!|c d!|e f!|g h i j", "g h|g h i|g h j", "g h i j", id="both append"),
        pytest.param("-g -h", "z", "a b!|c d!|e f!|z", "g h|g h z", "z", id="ours deletes what theirs appends to"),
    ],
)
def test_which_ranges_are_opened_and_written(ours: str, theirs: str, merged: str, opened: str, written: str) -> None:
    forest = Forest()
    base = forest.build(BASE)
    three = base, forest.apply(base, ours), forest.apply(base, theirs)
    forest.seen.clear()
    result = run(merge(forest.trees, *three, mint=3))
    assert result.tree is not None
    assert forest.show(result.tree) == merged
    assert forest.ranges("open") == opened
    assert forest.ranges("write") == written
    assert result.tree.ref.id == Forest().build(merged.replace("|", " ")).ref.id


def test_a_range_that_ended_with_its_tree_is_opened_when_another_follows() -> None:
    forest = Forest()
    base, ours, theirs = forest.build("m"), forest.build("m z!"), forest.build("a m")
    ours_only, theirs_only = forest.build("a"), forest.build("z!")
    forest.seen.clear()
    merged = run(merge(forest.trees, forest.build("x"), forest.build("a x"), forest.build("x z!"), mint=3))
    assert merged.tree is not None and forest.show(merged.tree) == "a x z!"
    assert merged.tree.ref.id == forest.build("a x z!").ref.id
    nothing = forest.build("")
    forest.seen.clear()
    merged = run(merge(forest.trees, nothing, ours_only, theirs_only, mint=3))
    assert merged.tree is not None and forest.show(merged.tree) == "a z!"
    assert forest.ranges("open") == "a|z!"
    merged = run(merge(forest.trees, base, ours, theirs, mint=3))
    assert merged.tree is not None and forest.show(merged.tree) == "a m z!"


CLASH = ("a b! p/c q/d", "a=2 b! -p/c q/d=2", "a=3 b!=3 p/c=3 q/d=3")


def clash(forest: Forest, strategy: Strategy) -> tuple[str | None, list[str]]:
    base = forest.build(CLASH[0])
    three = base, forest.apply(base, CLASH[1]), forest.apply(base, CLASH[2])
    merged = run(merge(forest.trees, *three, mint=3, strategy=strategy))
    tables = run(gathered(conflicts(forest.trees, *three, strategy=strategy)))
    listed = [each.path for table in tables for each in conflicts_of(table)]
    assert merged.conflicts == len(listed)
    return forest.show(merged.tree) if merged.tree else None, listed


@pytest.mark.parametrize(
    ("strategy", "merged", "listed"),
    [
        pytest.param(Strategy(), None, ["a", "p/c", "q/d"], id="the user is asked"),
        pytest.param(Strategy(SOURCE), "a=3 b!=3|p/c=3 q/d=3", [], id="source wins"),
        pytest.param(Strategy(DEST), "a=2 b!=3|q/d=2", [], id="destination wins"),
        pytest.param(Strategy(BASE_WINS), "a b!=3|p/c q/d", [], id="neither wins"),
        pytest.param(Strategy(DEST, {"p/": BASE_WINS}), "a=2 b!=3|p/c q/d=2", [], id="neither, under a prefix"),
        pytest.param(Strategy(prefixes={"p/": SOURCE}), None, ["a", "q/d"], id="by prefix"),
        pytest.param(Strategy(DEST, {"q/": SOURCE}), "a=2 b!=3|q/d=3", [], id="a prefix goes before the rest"),
        pytest.param(Strategy(SOURCE, {"": DEST, "p": SOURCE}), "a=2 b!=3|p/c=3 q/d=2", [], id="the longest prefix"),
    ],
)
def test_strategies(strategy: Strategy, merged: str | None, listed: list[str]) -> None:
    assert clash(Forest(), strategy) == (merged, listed)


def test_a_conflict_shows_all_three_sides() -> None:
    forest = Forest()
    base = forest.build(CLASH[0])
    ours, theirs = forest.apply(base, CLASH[1]), forest.apply(base, CLASH[2])
    forest.seen.clear()
    first, second, _ = conflicts_of(run(merge(forest.trees, base, ours, theirs, mint=3)).first)
    assert first == ("a", entry("a"), entry("a=2"), entry("a=3"))
    assert second == ("p/c", entry("p/c"), None, entry("p/c=3"))
    assert forest.ranges("write") == ""
    later = run(gathered(conflicts(forest.trees, base, ours, theirs, after="a", prefix="p")))
    assert [each.path for table in later for each in conflicts_of(table)] == ["p/c"]


def test_added_on_both_sides_is_a_conflict_unless_alike() -> None:
    forest = Forest()
    base = forest.build("m")
    assert run(merge(forest.trees, base, forest.build("a=1 m"), forest.build("a=2 m"), mint=3)).conflicts == 1
    alike = run(merge(forest.trees, base, forest.build("a=1 b m"), forest.build("a=1 c m"), mint=3))
    assert alike.tree is not None and forest.show(alike.tree) == "a=1 b c m"


def test_what_both_added_is_not_there_where_the_base_wins() -> None:
    forest = Forest()
    base = forest.build("m")
    sides = forest.build("a=1 m n"), forest.build("a=2 k m")
    merged = run(merge(forest.trees, base, *sides, mint=3, strategy=Strategy(BASE_WINS))).tree
    assert merged is not None and forest.show(merged) == "k m n"
    back = run(
        merge(forest.trees, base, forest.build("m=2"), forest.build("m=3"), mint=3, strategy=Strategy(BASE_WINS))
    )
    assert back.tree is base


def test_where_both_made_the_same_change_ours_stays() -> None:
    forest = Forest()

    def at(address: str, *more: str) -> Entry:
        return Entry("a", (Block(address, 0, 1, b""),), 1, "0", "", 7)

    base = forest.build("m")
    ours = run(forest.trees.build(table_of([at("data/ours"), entry("b"), entry("m")]), 2))
    theirs = run(forest.trees.build(table_of([at("data/theirs"), entry("c"), entry("m")]), 2))
    merged = run(merge(forest.trees, base, ours, theirs, mint=3)).tree
    assert merged is not None and run(merged.get("a")) == at("data/ours")


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(Invalid, match="is not a merge strategy"):
        Strategy("mine")


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["default", "source-wins", "base-wins"])
@pytest.mark.parametrize("both", [False, True], ids=["other paths", "the same paths too"])
def test_windows_that_are_mixed_in_halves_give_the_same(
    strategy: str, both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_module, "_HALVED_ROWS_MIN", 2)
    names = [f"{number:04d}" for number in range(900)]
    mine = [f"{name}=ours" for name in names[::7]]
    other = [f"-{name}" for name in names[3::70]] + [f"{name}+" for name in names[::11]]
    other += [f"{name}=theirs" for name in names[::7]] if both else []

    async def merged(width: int) -> tuple[str | None, list[str]]:
        trees = Trees(MemoryStore(), "repo", cut=RangeCut(20, 20, 120), width=width)
        base = await trees.build(table_of(map(entry, names)), 1)
        ours, theirs = [await trees.apply(base, changes_table(map(change, each)), 2) for each in (mine, other)]
        made = await merge(trees, base, ours, theirs, mint=4, strategy=Strategy(strategy))
        return None if made.tree is None else made.tree.ref.id, made.first["path"].to_pylist()

    found = asyncio.run(merged(4))
    assert found == run(merged(1))
    assert len(found[1]) == (len(mine) if both and strategy == "default" else 0)
