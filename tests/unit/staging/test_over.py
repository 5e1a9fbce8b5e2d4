"""The covering tree over the lowest runs: when it is made, how long it is valid, and what it saves a reader."""

from collections.abc import Callable

import msgspec
import pytest

from lochan.errors import Refused
from lochan.formats.entry import Change, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.range import RangeRef
from lochan.formats.repository_events import CoveringTree
from lochan.staging import covering_tree as over
from lochan.staging.compaction import CompactionLimits
from lochan.staging.layers import EMPTY, DumpedLayers, Inputs, Layers, inputs_of, load
from lochan.staging.runs import Runs
from lochan.staging.view import View
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.run import run
from tests.unit.staging.fakes import entry, gone, new_runs, ref, table

LIMITS = CompactionLimits(tombstones=3)
BASE = "metaranges/base"


def buried(id: str, tombstones: int) -> Layers:
    return EMPTY.append(msgspec.structs.replace(ref(id), tombstones=tombstones))


def new_cover(*ids: str, base: str = BASE) -> CoveringTree:
    return CoveringTree(base, ids, "tree", "metaranges/tree")


# --- when it is made -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "layers, covers",
    [
        pytest.param(EMPTY, None, id="nothing"),
        pytest.param(buried("A", 2), None, id="few tombstones"),
        pytest.param(buried("A", 3), "A", id="enough"),
        pytest.param(EMPTY.append(*buried("A", 2).runs, *buried("B", 1).runs), "AB", id="enough in two runs"),
        pytest.param(EMPTY.append(ref("A"), *buried("B", 3).runs), "AB", id="with what lies below them"),
        pytest.param(EMPTY.put(entry("x")).append(*buried("A", 3).runs), None, id="over inline changes"),
        pytest.param(buried("A", 3).put(entry("x")).append(ref("B")), "A", id="up to inline changes"),
        pytest.param(buried("A", 3).seal(1).append(*buried("B", 3).runs), "A", id="up to a seal"),
        pytest.param(buried("A", 3).covered(new_cover("A")), None, id="there is one"),
        pytest.param(buried("A", 3).covered(new_cover("A", base="other")), "A", id="there is one, for another head"),
        pytest.param(buried("A", 3).covered(new_cover("A")).append(*buried("B", 2).runs), None, id="few more"),
        pytest.param(buried("A", 3).covered(new_cover("A")).append(*buried("B", 3).runs), "AB", id="many more"),
    ],
)
def test_plans(layers: Layers, covers: str | None) -> None:
    found = over.plan(layers, BASE, LIMITS)
    assert (None if found is None else "".join(each.id for each in found.runs)) == covers


# --- how long it holds -----------------------------------------------------------------------------------------------
THREE = EMPTY.append(ref("A"), ref("B"), ref("C")).put(entry("x"))


@pytest.mark.parametrize(
    "change, held",
    [
        pytest.param(lambda layers: layers.put(entry("y")), True, id="put"),
        pytest.param(lambda layers: layers.append(ref("D")), True, id="append"),
        pytest.param(lambda layers: layers.seal(1), True, id="seal"),
        pytest.param(lambda layers: layers.seal(1).unsealed(), True, id="seal and unsealed"),
        pytest.param(lambda layers: layers.seal(1).below(1), True, id="what a commit sees"),
        pytest.param(lambda layers: layers.seal(1).after(1), False, id="what came after the seal"),
        pytest.param(lambda layers: layers.seal(1).drop_below(1), False, id="committed"),
        pytest.param(lambda layers: layers.cleared(), False, id="reset"),
        pytest.param(lambda layers: _compacted(layers, 2, 4), True, id="compacted above"),
        pytest.param(lambda layers: _compacted(layers, 1, 3), False, id="compacted across"),
        pytest.param(lambda layers: _compacted(layers, 0, 1), False, id="compacted within"),
        pytest.param(lambda layers: load(layers.dump()), True, id="checkpoint"),
    ],
)
def test_it_holds_while_its_runs_are_the_lowest(change: Callable[[Layers], Layers], held: bool) -> None:
    covered = THREE.covered(new_cover("A", "B"))
    assert (change(covered).over is not None) == held


def _compacted(layers: Layers, start: int, stop: int) -> Layers:
    return layers.replace(inputs_of(layers.layers[start:stop]), (ref("N", 2),))


def test_leftovers_of_a_commit_come_to_lie_below() -> None:
    layers = EMPTY.seal(1).append(ref("A")).covered(new_cover("A"))
    assert layers.drop_below(1).over is not None
    assert layers.drop_below(1, (ref("L"),)).over is None


@pytest.mark.parametrize("ids", ["", "B", "AC", "ABCD", "BA"])
def test_for_other_runs_it_is_refused(ids: str) -> None:
    with pytest.raises(Refused, match="no longer the lowest"):
        THREE.compacted(Inputs((), ()), (), new_cover(*ids))


def test_it_comes_with_a_compaction_or_alone() -> None:
    alone = THREE.compacted(Inputs((), ()), (), new_cover("A", "B", "C"))
    assert alone.items == THREE.items and alone.over == new_cover("A", "B", "C")
    both = THREE.compacted(Inputs((), ("A", "B")), (ref("N", 2),), new_cover("N", "C"))
    assert [each.id for each in both.runs] == ["N", "C"] and both.over == new_cover("N", "C")
    with pytest.raises(Refused):
        THREE.compacted(Inputs((), ()), ())


def test_a_checkpoint_from_before_there_was_such_a_tree() -> None:
    dumped = msgspec.msgpack.decode(msgspec.msgpack.encode(THREE.dump()))
    old = msgspec.msgpack.decode(msgspec.msgpack.encode(dumped[:2]), type=DumpedLayers)
    assert load(old).dump() == THREE.dump()


# --- what it saves ---------------------------------------------------------------------------------------------------
class Branch:
    def __init__(self, *paths: str, size: int = 4) -> None:
        self.opened: list[RangeRef] = []
        self.trees = Trees(MemoryStore(), "repo", cut=RangeCut(size, 2, 2 * size), width=1, seen=self._saw)
        self.runs: Runs = new_runs()[0]
        self.base: Tree = run(self.trees.build(table_of(map(entry, paths)), 1))
        self.layers = EMPTY

    def stage(self, *changes: Change) -> None:
        self.layers = self.layers.append(*run(self.runs.write_cut(table(*changes), 1, 1)))

    def cover(self) -> CoveringTree:
        chosen = over.plan(self.layers, self.base.ref.file, CompactionLimits(tombstones=0))
        assert chosen is not None
        found = run(over.make(chosen, self.base, self.trees, self.runs, 2))
        self.layers = self.layers.covered(found)
        return found

    def view(self) -> View:
        return View(self.layers, self.base, self.runs, run(over.open_tree(self.layers, self.base, self.trees)))

    def _saw(self, what: str, range: RangeRef) -> None:
        if what == "open":
            self.opened.append(range)


NUMBERS = [f"{number:04d}" for number in range(1_000)]


@pytest.mark.thorough
@pytest.mark.parametrize("delimiter", ["", "/"])
def test_a_page_costs_the_same_with_many_tombstones_in_front(delimiter: str) -> None:
    branch = Branch(*NUMBERS)
    plain = branch.view()
    expected = run(plain.list(after=NUMBERS[989], delimiter=delimiter, limit=5))
    branch.stage(*map(gone, NUMBERS[:990]))
    branch.cover()
    branch.opened.clear()
    view = branch.view()
    assert run(view.list(delimiter=delimiter, limit=5)) == expected
    assert view.cost.rows <= plain.cost.rows + 2 * 4, "up to the end of a range"
    assert len(branch.opened) <= 2
    assert run(view.get(NUMBERS[0])) is None and run(view.get(NUMBERS[-1])) == entry(NUMBERS[-1])


@pytest.mark.thorough
def test_ranges_that_nothing_touches_are_shared() -> None:
    branch = Branch(*NUMBERS)
    branch.stage(gone(NUMBERS[500]))
    branch.cover()
    tree = run(over.open_tree(branch.layers, branch.base, branch.trees))
    assert tree is not None and len(set(tree.ranges) - set(branch.base.ranges)) <= 2


@pytest.mark.thorough
def test_more_runs_are_laid_over_the_tree_that_is_there() -> None:
    branch = Branch(*NUMBERS)
    branch.stage(*map(gone, NUMBERS[:500]))
    assert branch.cover().whole
    branch.opened.clear()
    branch.stage(gone(NUMBERS[999]))
    found = branch.cover()
    assert len(found.runs) == 2
    assert len(branch.opened) <= 3, "the first five hundred are not applied again"
    assert [each.path for each in run(branch.view().list(limit=1000)).entries] == NUMBERS[500:999]


def again(path: str) -> Entry:
    return msgspec.structs.replace(entry(path), mtime=77)


def test_the_same_content_once_more_is_seen_as_it_was_staged() -> None:
    branch = Branch(*NUMBERS[:9])
    branch.stage(again(NUMBERS[3]))
    assert not branch.cover().whole, "a commit would leave that entry alone"
    assert run(branch.view().get(NUMBERS[3])) == again(NUMBERS[3])


def test_after_a_reverted_change_the_cover_is_not_whole() -> None:
    branch = Branch(*NUMBERS[:9])
    branch.stage(gone(NUMBERS[3]))
    assert branch.cover().whole
    branch.stage(again(NUMBERS[3]))
    assert not branch.cover().whole


def test_over_another_head_it_is_not_used() -> None:
    branch = Branch(*NUMBERS[:9])
    branch.stage(gone(NUMBERS[3]))
    branch.cover()
    branch.base = run(branch.trees.build(table_of([entry("new"), entry(NUMBERS[3])]), 3))
    assert run(over.open_tree(branch.layers, branch.base, branch.trees)) is None
    assert [each.path for each in run(branch.view().list()).entries] == ["new"]


def test_everything_deleted_is_the_empty_tree() -> None:
    branch = Branch(*NUMBERS[:9])
    branch.stage(*map(gone, NUMBERS[:9]))
    assert branch.cover().file == ""
    assert run(branch.view().list()).entries == []


def test_a_branch_without_a_commit() -> None:
    branch = Branch()
    branch.stage(gone("a"), entry("b"))
    assert branch.cover().base == ""
    assert run(branch.view().list()).entries == [entry("b")]
