"""A merge takes whole ranges where it can, and compares rows only where both sides changed the same span."""

import pytest

from lochan.errors import Invalid
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.tree.merge import conflicts, conflicts_of, merge
from lochan.tree.strategy import BASE as BASE_WINS
from lochan.tree.strategy import DEST, SOURCE, Strategy
from tests.unit.tree.forest import Forest, entry, gathered, run

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
    with pytest.raises(Invalid, match="no strategy"):
        Strategy("mine")
