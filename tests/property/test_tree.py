"""Trees against dicts: whatever is built, changed, listed, compared and merged, the dict gives the same."""

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.formats.entry import Entry, Tombstone
from lochan.formats.entry_table import entries_of, table_of
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.diff import ADDED, CHANGED, REMOVED, DiffCounts, count, diff, differences_of, roll_up
from lochan.tree.merge import ASK, DEST, SOURCE, Strategy, conflicts, conflicts_of, merge
from lochan.tree.tree import Tree
from lochan.tree.trees import Changes, Trees
from tests.unit.tree.small_trees import gathered, run

pytestmark = pytest.mark.thorough

Model = dict[str, str]  # path -> checksum

# Few letters, so that paths meet; some that try the order and the encoding: a newline, é in two spellings, an emoji,
# the last character below the surrogates and the first above them.
LETTERS = ["a", "b", "/", "\n", "é", "e\u0301", "\ud7ff", "\ue000", "🐟", "\0"]
PATHS = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4).map("".join)
MODELS = st.dictionaries(PATHS, st.sampled_from("xyz"), max_size=40)
EDITS = st.dictionaries(PATHS, st.sampled_from(["x", "y", "z", ""]), max_size=12)  # "" deletes
# Each example writes some Parquet files, a millisecond each.
limited = settings(deadline=None, max_examples=2_000 if os.environ.get("FULL") else 30)
SMALL = RangeCut(least=2, modulus=2, most=8)


def small_trees() -> Trees:
    return Trees(MemoryStore(), "repo", cut=SMALL, width=1)


def entry(path: str, checksum: str) -> Entry:
    headers = {"cache-control": "no-store", "expires": "0"} if checksum == "y" else {}
    return Entry(path, (), 1 + len(path), "same" if checksum != "x" else "x", "etag", 7, "", {}, (), headers)


def build(trees: Trees, model: Model) -> Tree:
    return run(trees.build(table_of(entry(*item) for item in model.items()), 1))


def edited(model: Model, edits: Model) -> Model:
    return {path: value for path, value in {**model, **edits}.items() if value}


def apply(trees: Trees, base: Tree, edits: Model, mint: int = 2) -> Tree:
    changes = changes_table(entry(path, value) if value else Tombstone(path) for path, value in edits.items())
    return run(trees.apply(base, changes, mint))


def contents(tree: Tree) -> list[Entry]:
    return [each for batch in run(gathered(tree.scan())) for each in entries_of(pa.Table.from_batches([batch]))]


def expected(model: Model) -> list[Entry]:
    return [entry(path, model[path]) for path in sorted(model, key=str.encode)]


@limited
@given(MODELS, st.lists(EDITS, max_size=4))
def test_a_tree_is_the_same_however_it_came_about(model: Model, steps: list[Model]) -> None:
    trees = small_trees()
    tree = build(trees, model)
    assert contents(tree) == expected(model)
    for number, edits in enumerate(steps, 2):
        model = edited(model, edits)
        tree = apply(trees, tree, edits, number)
        fresh = build(trees, model)
        assert [ref.id for ref in tree.ranges] == [ref.id for ref in fresh.ranges]
        assert tree.ref.id == fresh.ref.id
        assert contents(tree) == expected(model)
        assert (tree.count, tree.bytes) == (len(model), sum(each.size for each in expected(model)))
        reopened = run(Trees(trees._store, "repo", cut=SMALL, width=1).open(tree.ref))
        assert contents(reopened) == expected(model)


@limited
@given(MODELS, EDITS.filter(bool), st.lists(st.integers(0, 12), max_size=6), st.booleans(), st.sampled_from([1, 3]))
def test_changes_in_pieces_make_the_same_files_as_all_at_once(
    model: Model, edits: Model, ends: list[int], restate: bool, width: int
) -> None:
    """Wherever they are cut: the same ranges are opened, each once, and the same files are written."""
    changes = changes_table(entry(path, value) if value else Tombstone(path) for path, value in edits.items())
    bounds = [0, *sorted(min(end, len(changes)) for end in ends), len(changes)]

    async def pieces() -> AsyncIterator[pa.Table]:
        for start, end in pairwise(bounds):
            yield changes.slice(start, end - start)

    async def files(given: Changes) -> tuple[Tree, int, list[tuple[str, str]]]:
        seen: list[tuple[str, str]] = []
        trees = Trees(
            MemoryStore(), "repo", cut=SMALL, width=width, seen=lambda what, ref: seen.append((what, ref.file))
        )
        base = await trees.build(table_of(entry(*item) for item in model.items()), 1)
        seen.clear()
        return *(await trees._changed(base, given, 2, restate=restate)), sorted(seen)

    (whole, restated, seen), (cut, restated_cut, seen_cut) = asyncio.run(files(changes)), asyncio.run(files(pieces()))
    assert (cut.ref, cut.ranges, restated_cut, seen_cut) == (whole.ref, whole.ranges, restated, seen)


@limited
@given(MODELS, PATHS)
def test_a_path_is_found_if_it_is_there(model: Model, other: str) -> None:
    tree = build(small_trees(), model)
    for path in [*model, other]:
        assert run(tree.get(path)) == (entry(path, model[path]) if path in model else None)
    asked = sorted({*list(model)[::2], other, other + "a"}, key=str.encode)
    assert run(tree.has_many(pa.array(asked))).tolist() == [path in model for path in asked]
    found = run(tree.seek(other.encode()))
    behind = sorted(path.encode() for path in model if path.encode() >= other.encode())
    assert (found[0].path(found[1]) if found else None) == (behind[0] if behind else None)


@limited
@given(MODELS, st.one_of(st.just(""), PATHS), st.one_of(st.just(""), PATHS))
def test_a_scan_gives_what_lies_under_a_prefix_and_behind_a_path(model: Model, prefix: str, after: str) -> None:
    found = [each for batch in run(gathered(build(small_trees(), model).scan(prefix, after))) for each in batch["path"]]
    wanted = [path for path in model if path.startswith(prefix) and path.encode() > after.encode()]
    assert [path.as_py() for path in found] == sorted(wanted, key=str.encode)


@limited
@given(
    MODELS,
    st.one_of(st.just(""), PATHS),
    st.one_of(st.just(""), st.text(st.sampled_from(["a", "b", "/", "é", "🐟"]), min_size=1, max_size=2)),
    st.integers(1, 7),
)
def test_the_pages_of_a_listing_are_the_items_in_order(model: Model, prefix: str, delimiter: str, limit: int) -> None:
    tree = build(small_trees(), model)
    items: list[str] = []
    after: str | None = ""
    while after is not None:
        page = run(tree.list(prefix, after, delimiter, limit))
        names = [*page.entries["path"].to_pylist(), *page.prefixes]
        assert len(names) <= limit and (page.next is None or len(names) == limit)
        items += sorted(names, key=str.encode)
        assert page.next is None or page.next == items[-1]
        after = page.next
    assert items == listed(model, prefix, delimiter)


@limited
@given(MODELS, st.one_of(st.just(""), PATHS), st.one_of(st.just(""), PATHS))
def test_a_listing_may_begin_anywhere(model: Model, prefix: str, after: str) -> None:
    page = run(build(small_trees(), model).list(prefix, after, "/"))
    behind = {path: value for path, value in model.items() if path.encode() > after.encode()}
    wanted = [item for item in listed(behind, prefix, "/") if item != after]
    assert sorted([*page.entries["path"].to_pylist(), *page.prefixes], key=str.encode) == wanted


def listed(model: Model, prefix: str, delimiter: str) -> list[str]:
    items = set()
    for path in model:
        if path.startswith(prefix):
            head, found, _ = path[len(prefix) :].partition(delimiter) if delimiter else (path[len(prefix) :], "", "")
            items.add(prefix + head + found)
    return sorted(items, key=str.encode)


@limited
@given(MODELS, EDITS, st.one_of(st.just(""), PATHS))
def test_a_diff_is_what_changed(model: Model, edits: Model, prefix: str) -> None:
    trees = small_trees()
    other = edited(model, edits)
    left, right = build(trees, model), build(trees, other)
    found = [each for table in run(gathered(diff(trees, left, right, prefix))) for each in differences_of(table)]
    wanted = differences(model, other, prefix)
    assert [(each.path, each.kind) for each in found] == wanted
    for each in found:
        assert each.left == (entry(each.path, model[each.path]) if each.path in model else None)
        assert each.right == (entry(each.path, other[each.path]) if each.path in other else None)
    assert run(count(trees, left, right, prefix)) == counted(model, other, wanted)
    sums: dict[str, list[tuple[str, str]]] = {}
    for path, kind in wanted:
        head, mark, _ = path[len(prefix) :].partition("/")
        sums.setdefault(prefix + head + mark, []).append((path, kind))
    rolled = run(roll_up(trees, left, right, prefix, "/"))
    assert rolled == {name: counted(model, other, group) for name, group in sums.items()}


def differences(left: Model, right: Model, prefix: str = "") -> list[tuple[str, str]]:
    kinds = {path: REMOVED for path in left if path not in right}
    kinds |= {path: ADDED for path in right if path not in left}
    kinds |= {path: CHANGED for path in left if path in right and left[path] != right[path]}
    return sorted(((p, kind) for p, kind in kinds.items() if p.startswith(prefix)), key=lambda item: item[0].encode())


def counted(left: Model, right: Model, group: list[tuple[str, str]]) -> DiffCounts:
    kinds = [kind for _, kind in group]
    return DiffCounts(
        kinds.count(ADDED),
        kinds.count(REMOVED),
        kinds.count(CHANGED),
        sum(1 + len(path) for path, _ in group if path in right),
        sum(1 + len(path) for path, _ in group if path in left),
    )


@limited
@given(MODELS, EDITS, EDITS, st.sampled_from([ASK, SOURCE, DEST]), st.dictionaries(PATHS, st.sampled_from([ASK, DEST])))
def test_a_merge_is_what_both_changed(
    model: Model, our_edits: Model, their_edits: Model, otherwise: str, prefixes: dict[str, str]
) -> None:
    trees = small_trees()
    strategy = Strategy(otherwise, prefixes)
    ours, theirs = edited(model, our_edits), edited(model, their_edits)
    three = build(trees, model), build(trees, ours), build(trees, theirs)
    result, clashes = dict(ours), []
    for path in {**model, **theirs}:
        base, our, their = model.get(path), ours.get(path), theirs.get(path)
        if their in (base, our):
            continue
        fits = [prefix for prefix in prefixes if path.startswith(prefix)]
        decided = prefixes[max(fits, key=len)] if fits else otherwise
        if our == base or decided == SOURCE:
            result[path] = their or ""
        elif decided == ASK:
            clashes.append(path)
    merged = run(merge(trees, *three, mint=3, strategy=strategy))
    listed = [each for t in run(gathered(conflicts(trees, *three, strategy=strategy))) for each in conflicts_of(t)]
    assert [each.path for each in listed] == sorted(clashes, key=str.encode)
    assert merged.conflicts == len(clashes)
    assert conflicts_of(merged.first) == listed
    for each in listed:
        models = ((each.base, model), (each.ours, ours), (each.theirs, theirs))
        assert all(found == (entry(each.path, of[each.path]) if each.path in of else None) for found, of in models)
    if clashes:
        assert merged.tree is None
    else:
        result = {path: value for path, value in result.items() if value}
        assert merged.tree is not None
        assert contents(merged.tree) == expected(result)
        assert merged.tree.ref.id == build(trees, result).ref.id
