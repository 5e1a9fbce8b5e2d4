"""Staging against dictionaries: whatever is staged, sealed, compacted and committed, every reader sees the model."""

from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import TypeVar, cast

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lochan.errors import Refused
from lochan.formats.entry import Block, Change, Entry, Tombstone
from lochan.formats.entry_table import table_of
from lochan.formats.repository_events import CoveringTree
from lochan.formats.run import RunRef, changes_of, entries_of
from lochan.staging import covering_tree as over
from lochan.staging import cursors, listing, merge, runs, sources
from lochan.staging.compaction import CompactionLimits, CompactionPlan, compact, plan
from lochan.staging.layers import EMPTY, DumpedLayers, Inputs, Layers, load
from lochan.staging.listing import ViewPage
from lochan.staging.view import View
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.unit.staging.fakes import MemoryBase, entry, gone, new_runs, table

pytestmark = pytest.mark.thorough

Model = dict[str, Entry]
T = TypeVar("T")

_LETTERS = "ab/é\U0010ffff\x00"
PATHS = st.text(_LETTERS, min_size=1, max_size=6)
PREFIXES = st.text(_LETTERS, max_size=3)
DELIMITERS = st.sampled_from(["", "/", "a", "ab", "//", "é", "\U0010ffff", "ba/"])
LIMITS = st.integers(1, 7)


def run(coroutine: Coroutine[object, None, T]) -> T:
    """Runs to the end without an event loop: nothing here ever has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return cast("T", ended.value)
    raise AssertionError("it waited")


def listed(model: Model, prefix: str, after: str, delimiter: str, limit: int) -> ViewPage:
    """The listing, by the definition."""
    items: list[str | Entry] = []
    for path in sorted(model):
        if not path.startswith(prefix) or path <= after:
            continue
        at = path.find(delimiter, len(prefix)) if delimiter else -1
        item = model[path] if at < 0 else path[: at + len(delimiter)]
        if item == after or (items and items[-1] == item):
            continue
        items.append(item)
    page = items[:limit]
    last = page[-1] if len(items) > limit else None
    return ViewPage(
        [item for item in page if isinstance(item, Entry)],
        [item for item in page if isinstance(item, str)],
        last.path if isinstance(last, Entry) else last,
    )


def applied(model: Model, changes: list[Change]) -> Model:
    result = dict(model)
    for change in changes:
        if isinstance(change, Tombstone):
            result.pop(change.path, None)
        else:
            result[change.path] = change
    return result


async def entries_in(tree: Tree) -> list[Entry]:
    tables = [pa.Table.from_batches([batch]) async for batch in tree.scan()]
    return [each for table in tables for each in entries_of(table)]


class Staging(RuleBasedStateMachine):
    """A branch: its base, its layers, and for each seal the state of the lake when it was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.runs, _ = new_runs()
        self.base = MemoryBase()
        self.layers = EMPTY
        self.model: Model = {}
        self.sealed: dict[int, Model] = {}
        self.number = 0
        self.tag = 0
        self.under_way: list[tuple[Inputs, tuple[RunRef, ...], MemoryBase | None]] = []
        self.trees = Trees(MemoryStore(), "repo", cut=RangeCut(2, 2, 5), width=1)
        self.covers: list[CoveringTree] = []
        self.tree_of: tuple[MemoryBase, Tree] | None = None

    @initialize(paths=st.lists(PATHS, max_size=12))
    def begin(self, paths: list[str]) -> None:
        self.base = MemoryBase(paths)
        self.model = dict(self.base.entries)

    def change(self, path: str, delete: bool) -> Change:
        self.tag += 1
        return gone(path) if delete else entry(path, self.tag)

    def view(self) -> View:
        return View(self.layers, self.base, self.runs)

    def views(self, layers: Layers | None = None) -> list[View]:
        """Over the base, over the same as a tree, and by way of the tree over the lowest runs, if there is one."""
        layers = self.layers if layers is None else layers
        tree = self.base_tree()
        found = run(over.open_tree(layers, tree, self.trees))
        covered = [] if found is None else [View(layers, tree, self.runs, found)]
        return [View(layers, self.base, self.runs), View(layers, tree, self.runs), *covered]

    def base_tree(self) -> Tree:
        if self.tree_of is None or self.tree_of[0] is not self.base:
            self.tree_of = self.base, run(self.trees.build(table_of(self.base.entries.values()), 1))
        return self.tree_of[1]

    async def head_has(self, paths: pa.StringArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return np.array([path in self.base.entries for path in paths.to_pylist()], np.bool_)

    @rule(changes=st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=9))
    def put(self, changes: list[tuple[str, bool]]) -> None:
        made = [self.change(*change) for change in changes]
        self.layers = self.layers.put(*made)
        self.model = applied(self.model, made)

    @rule(changes=st.dictionaries(PATHS, st.booleans(), min_size=1, max_size=9))
    def append_run(self, changes: dict[str, bool]) -> None:
        made = [self.change(*change) for change in changes.items()]
        self.layers = self.layers.append(*run(self.runs.write_cut(table(*made), 1, 1)))
        self.model = applied(self.model, made)

    @precondition(lambda self: self.head)
    @rule(data=st.data(), as_run=st.booleans())
    def put_again(self, data: st.DataObject, as_run: bool) -> None:
        """Puts what the head already holds: no change to a commit, but readers see it."""
        self.tag += 1
        there = self.head[data.draw(st.sampled_from(sorted(self.head)))]
        blocks = tuple(Block(f"again/{self.tag}", 0, block.size, block.sha256) for block in there.blocks)
        again = msgspec.structs.replace(there, blocks=blocks, mtime=self.tag)
        if as_run:
            self.layers = self.layers.append(*run(self.runs.write_cut(table(again), 1, 1)))
        else:
            self.layers = self.layers.put(again)
        self.model = applied(self.model, [again])

    @rule(paths=st.lists(PATHS, max_size=5))
    def move_head(self, paths: list[str]) -> None:
        """An import of another client lands: never on a staged path (S5), and no seal is left."""
        staged = run(self.view().paths_staged(pa.array(paths, pa.string()))).to_pylist()
        self.tag += 1
        new = {path: entry(path, self.tag) for path in paths if path not in staged}
        before, self.base = self.base, MemoryBase()
        self.base.entries = {**before.entries, **new}
        self.model = {**self.model, **new}
        self.layers = self.layers.unsealed()
        self.sealed.clear()

    @rule(later=st.booleans())
    def cover(self, later: bool) -> None:
        """A tree over the lowest runs is made; it takes effect now, or later, or not at all."""
        tree = self.base_tree()
        chosen = over.plan(self.layers, tree.ref.file, CompactionLimits(tombstones=0))
        if chosen is None or not chosen.runs:
            return
        made = run(over.make(chosen, tree, self.trees, self.runs, 1))
        if later:
            self.covers.append(made)
        else:
            self.layers = self.layers.compacted(Inputs((), ()), (), made)
            self.check_whole(made)

    def check_whole(self, made: CoveringTree) -> None:
        """If it claims to cover runs, a commit of these runs gives the same tree, down to the addresses."""
        covered = Layers(self.layers.runs[: len(made.runs)])
        changes = run(View(covered, self.base, self.runs).changes())
        committed = run(self.trees.apply(self.base_tree(), changes, 1))
        found = run(over.open_tree(self.layers, self.base_tree(), self.trees))
        assert found is not None and found.ref.id == committed.ref.id
        if made.whole:
            assert run(entries_in(found)) == run(entries_in(committed))

    @precondition(lambda self: self.covers)
    @rule(data=st.data())
    def land_cover(self, data: st.DataObject) -> None:
        made = self.covers.pop(data.draw(st.integers(0, len(self.covers) - 1)))
        with suppress(Refused):
            self.layers = self.layers.compacted(Inputs((), ()), (), made)

    @precondition(lambda self: len(self.sealed) < 3)
    @rule()
    def seal(self) -> None:
        self.number += 1
        self.layers = self.layers.seal(self.number)
        self.sealed[self.number] = dict(self.model)

    @rule()
    def unseal(self) -> None:
        self.layers = self.layers.unsealed()
        self.sealed.clear()

    @precondition(lambda self: self.sealed)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        """Commits everything below a seal, or a part of it: the rest stays staged."""
        seal = data.draw(st.sampled_from(sorted(self.sealed)))
        below = run(View(self.layers.below(seal), self.base, self.runs).changes())
        changes = changes_of(below)
        left = data.draw(st.lists(st.sampled_from(changes), unique_by=lambda each: each.path)) if changes else []
        head = applied(self.head, [change for change in changes if change not in left])
        self.base = MemoryBase()
        self.base.entries = head
        as_run: bool = data.draw(st.booleans())
        if left and as_run:
            self.layers = self.layers.drop_below(seal, run(self.runs.write_cut(table(*left), 1, 1)))
        else:
            self.layers = self.layers.drop_below(seal, changes=left)
        self.sealed.clear()
        assert not self.layers.seals

    @property
    def head(self) -> Model:
        return self.base.entries

    @rule(
        limits=st.builds(
            CompactionLimits, st.integers(1, 9), st.integers(1, 2000), st.integers(0, 3), st.integers(0, 4)
        ),
        drop=st.booleans(),
        later=st.booleans(),
    )
    def compact(self, limits: CompactionLimits, drop: bool, later: bool) -> None:
        chosen = plan(self.layers, limits)
        if chosen is not None:
            self.carry_out(chosen, drop, later)

    @precondition(lambda self: not self.layers.empty)
    @rule(data=st.data(), drop=st.booleans(), later=st.booleans())
    def compact_any(self, data: st.DataObject, drop: bool, later: bool) -> None:
        segment = data.draw(st.sampled_from([each for each in self.layers.segments() if each]))
        start = data.draw(st.integers(0, len(segment) - 1))
        stop = data.draw(st.integers(start + 1, len(segment)))
        self.carry_out(CompactionPlan(segment[start:stop], 2), drop, later)

    def carry_out(self, chosen: CompactionPlan, drop: bool, later: bool) -> None:
        done = compact(chosen, self.layers, self.runs, self.head_has if drop else None)
        outputs = run(self.runs.write_cut(done.changes(), done.level, 1))
        assert done.dropped <= drop
        under_way = (done.inputs, outputs, self.base if done.dropped else None)
        if later:
            self.under_way.append(under_way)
        else:
            assert self.lands(*under_way)
            assert not self.lands(*under_way), "the same layers were compacted twice"

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def land(self, data: st.DataObject) -> None:
        """A compaction that began earlier takes effect, or is refused: either way, no reader sees a difference."""
        self.lands(*self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1))))

    def lands(self, inputs: Inputs, outputs: tuple[RunRef, ...], head: MemoryBase | None) -> bool:
        if head is not None and head is not self.base:
            return False
        try:
            self.layers = self.layers.replace(inputs, outputs)
        except Refused:
            return False
        return True

    @rule()
    def restart(self) -> None:
        """Restarts from a checkpoint."""
        data = msgspec.msgpack.encode(self.layers.dump())
        again = load(msgspec.msgpack.decode(data, type=DumpedLayers))
        assert again.dump() == self.layers.dump()
        self.layers = again

    @rule()
    def stash_and_pop(self) -> None:
        self.layers = self.layers.cleared().restored(self.layers)
        self.sealed.clear()

    @rule(prefix=PREFIXES, after=PREFIXES, delimiter=DELIMITERS, limit=LIMITS)
    def listing(self, prefix: str, after: str, delimiter: str, limit: int) -> None:
        expected = listed(self.model, prefix, after, delimiter, limit)
        for view in self.views():
            assert run(view.list(prefix, after, delimiter, limit)) == expected
            columns = run(view.list_columns(prefix, after, delimiter, limit))
            assert ViewPage(entries_of(columns.entries), columns.prefixes, columns.next) == expected

    @rule(prefix=PREFIXES, delimiter=DELIMITERS, limit=LIMITS)
    def pages(self, prefix: str, delimiter: str, limit: int) -> None:
        whole = run(self.view().list(prefix, "", delimiter, 1000))
        entries: list[Entry] = []
        prefixes: list[str] = []
        after: str | None = ""
        while after is not None:
            page = run(self.view().list(prefix, after, delimiter, limit))
            assert len(page.entries) + len(page.prefixes) <= limit
            entries += page.entries
            prefixes += page.prefixes
            after = page.next
        assert (entries, prefixes) == (whole.entries, whole.prefixes)

    @rule(path=PATHS)
    def get(self, path: str) -> None:
        for view in self.views():
            assert run(view.get(path)) == self.model.get(path)

    @rule(prefix=PREFIXES)
    def changes(self, prefix: str) -> None:
        """The staged changes turn the base into the model, and name no path twice."""
        staged, *others = [changes_of(run(view.changes(prefix))) for view in self.views()]
        assert all(other == staged for other in others)
        paths = [change.path for change in staged]
        assert paths == sorted(set(paths)) and all(path.startswith(prefix) for path in paths)
        under = {path: each for path, each in self.head.items() if path.startswith(prefix)}
        assert applied(under, staged) == {p: e for p, e in self.model.items() if p.startswith(prefix)}

    @rule(paths=st.lists(PATHS, max_size=9))
    def paths_staged(self, paths: list[str]) -> None:
        staged = {change.path for change in changes_of(run(self.view().changes()))}
        for view in self.views():
            found = run(view.paths_staged(pa.array(paths, pa.string()))).to_pylist()
            assert found == sorted(staged & set(paths))

    @invariant()
    def everything_is_there(self) -> None:
        for view in self.views():
            assert run(view.list(limit=1000)) == listed(self.model, "", "", "", 1000)

    @invariant()
    def a_seal_keeps_its_moment(self) -> None:
        for seal, model in self.sealed.items():
            for view in self.views(self.layers.below(seal)):
                assert run(view.list(limit=1000)).entries == [model[path] for path in sorted(model)]


def small_blocks() -> pytest.MonkeyPatch:
    """Every block is full, every piece large, every run cut and checked by its bloom filter first."""
    patch = pytest.MonkeyPatch()
    for module, name, value in (
        (listing, "BLOCK_MIN", 1),
        (listing, "BLOCK_MAX", 4),
        (listing, "_CLOSE_STEPS", 2),
        (cursors, "_PROBE_RATIO", 1),
        (sources, "_PIECE_MIN", 2),
        (sources, "_BY_ROW_MAX", 1),
        (merge, "_PIECE", 2),
        (merge, "_STRIDE", 1),
        (runs, "ROWS_MAX", 3),
        (runs, "INLINE_BYTES_MAX", 0),
    ):
        patch.setattr(module, name, value)
    return patch


class SmallBlocks(Staging):
    def __init__(self) -> None:
        super().__init__()
        self.patch = small_blocks()

    def teardown(self) -> None:
        self.patch.undo()


_SETTINGS = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestStaging = Staging.TestCase
TestStaging.settings = _SETTINGS
TestSmallBlocks = SmallBlocks.TestCase
TestSmallBlocks.settings = _SETTINGS


@pytest.fixture(params=[False, True], ids=["usual blocks", "small blocks"])
def _blocks(request: pytest.FixtureRequest) -> Iterator[None]:
    patch = small_blocks() if request.param else None
    yield
    if patch is not None:
        patch.undo()


_LAYERS = st.lists(st.tuples(st.booleans(), st.dictionaries(PATHS, st.booleans(), min_size=1, max_size=12)), max_size=5)
_QUERIES = st.lists(st.tuples(PREFIXES, PREFIXES, DELIMITERS, LIMITS), min_size=1, max_size=8)


@pytest.mark.usefixtures("_blocks")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_LAYERS, st.lists(PATHS, max_size=20, unique=True), st.integers(1, 9), _QUERIES)
def test_listings(
    staged: list[tuple[bool, dict[str, bool]]],
    below: list[str],
    batch_rows: int,
    queries: list[tuple[str, str, str, int]],
) -> None:
    """Layers of random changes, inline or in runs, over a random base."""
    held, _ = new_runs()
    base = MemoryBase(below, batch_rows=batch_rows)
    layers, model = EMPTY, dict(base.entries)
    for tag, (inline, changes) in enumerate(staged, 1):
        made = [gone(path) if delete else entry(path, tag) for path, delete in changes.items()]
        layers = layers.put(*made) if inline else layers.append(*run(held.write_cut(table(*made), 1, 1)))
        model = applied(model, made)
    trees = Trees(MemoryStore(), "repo", cut=RangeCut(1, 2, batch_rows), width=1)
    tree = run(trees.build(table_of(base.entries.values()), 1))
    for query in queries:
        for below_all in (base, tree):
            view = View(layers, below_all, held)
            columns = run(view.list_columns(*query))
            assert run(view.list(*query)) == listed(model, *query)
            assert ViewPage(entries_of(columns.entries), columns.prefixes, columns.next) == listed(model, *query)
