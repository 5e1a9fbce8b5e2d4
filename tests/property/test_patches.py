"""Trees whose ranges are patches against dicts: however a tree came about, it has the rows, the id, the differences and
the merges of one that was written as a whole, also for a reader who has nothing in memory."""

import os
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.store.memory import MemoryStore
from lochan.tree.diff import count, diff, differences_of
from lochan.tree.merge import DEST, SOURCE, Strategy, merge
from lochan.tree.patches import NEVER, PatchLimits
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from tests.property.test_tree import (
    EDITS,
    MODELS,
    SMALL,
    Model,
    apply,
    build,
    contents,
    counted,
    differences,
    edited,
    entry,
    expected,
)
from tests.small_patches import ALWAYS
from tests.unit.tree.small_trees import gathered, run

pytestmark = pytest.mark.thorough

# Each example writes several trees, and reads them as somebody who has nothing in memory.
limited = settings(deadline=None, max_examples=1_000 if os.environ.get("FULL") else 12)
LIMITS = st.sampled_from([ALWAYS, PatchLimits(2, 2), PatchLimits(4, 1)])
STEPS = st.lists(EDITS, min_size=1, max_size=4)


class Version(NamedTuple):
    model: Model
    tree: Tree


def patched_trees(limits: PatchLimits, width: int = 1) -> Trees:
    return Trees(MemoryStore(), "repo", cut=SMALL, width=width, patches=limits)


def grown(trees: Trees, first: Version, steps: list[Model]) -> list[Version]:
    """A version after each step."""
    versions = [first]
    for mint, edits in enumerate(steps, 2):
        model, tree = versions[-1]
        versions.append(Version(edited(model, edits), apply(trees, tree, edits, mint)))
    return versions


def check(trees: Trees, version: Version) -> None:
    whole = build(Trees(MemoryStore(), "repo", cut=SMALL, width=1, patches=NEVER), version.model)
    stated = [
        [(each.id, each.min_path, each.max_path, each.count, each.bytes) for each in tree.ranges]
        for tree in (version.tree, whole)
    ]
    assert stated[0] == stated[1]
    assert version.tree.ref.id == whole.ref.id
    for each in version.tree.ranges:
        assert each.base is None or each.base.base is None, "a patch of a patch"
    assert contents(version.tree) == expected(version.model)
    reader = Trees(trees._store, "repo", cut=SMALL, width=1)
    assert contents(run(reader.open(version.tree.ref))) == expected(version.model)


@limited
@given(MODELS, STEPS, LIMITS)
def test_any_chain_of_changes(model: Model, steps: list[Model], limits: PatchLimits) -> None:
    trees = patched_trees(limits)
    for version in grown(trees, Version(model, build(trees, model)), steps):
        check(trees, version)


@limited
@given(MODELS, STEPS, LIMITS)
def test_a_diff_of_any_two_versions(model: Model, steps: list[Model], limits: PatchLimits) -> None:
    trees = patched_trees(limits)
    versions = grown(trees, Version(model, build(trees, model)), steps)
    for left, right in zip(versions, [*versions[2:], *versions[:2]], strict=True):
        reader = Trees(trees._store, "repo", cut=SMALL, width=1)
        one, other = run(reader.open(left.tree.ref)), run(reader.open(right.tree.ref))
        found = [each for table in run(gathered(diff(reader, one, other))) for each in differences_of(table)]
        wanted = differences(left.model, right.model)
        assert [(each.path, each.kind) for each in found] == wanted
        for each in found:
            for side, of in ((each.left, left.model), (each.right, right.model)):
                assert side == (entry(each.path, of[each.path]) if each.path in of else None)
        assert run(count(reader, one, other)) == counted(left.model, right.model, wanted)


@limited
@given(MODELS, EDITS, EDITS, EDITS, LIMITS, st.sampled_from([SOURCE, DEST]))
def test_a_merge_of_patches(
    model: Model, first: Model, our_edits: Model, their_edits: Model, limits: PatchLimits, strategy: str
) -> None:
    trees = patched_trees(limits)
    base = grown(trees, Version(model, build(trees, model)), [first])[-1]
    ours = Version(edited(base.model, our_edits), apply(trees, base.tree, our_edits, 3))
    theirs = Version(edited(base.model, their_edits), apply(trees, base.tree, their_edits, 4))
    result = dict(ours.model)
    for path in {**base.model, **theirs.model}:
        was, our, their = (each.model.get(path) for each in (base, ours, theirs))
        if their not in (was, our) and (our == was or strategy == SOURCE):
            result[path] = their or ""
    merged = run(merge(trees, base.tree, ours.tree, theirs.tree, mint=5, strategy=Strategy(strategy)))
    assert merged.tree is not None
    check(trees, Version({path: value for path, value in result.items() if value}, merged.tree))
