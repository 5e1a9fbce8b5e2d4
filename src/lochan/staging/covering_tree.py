"""The tree over the lowest runs: with it, a page costs the same even after a million tombstones.

    run, run │ run, inline …        a reader of `over` reads the layers above it and one tree, in which deleted paths
    ╰─ over ─╯                      are simply absent
    base

Like compaction, it is made in the background. It shares every range that no run touches with the base. If it is
missing, or was made for another head, readers merge the runs with the base and see the same.
"""

from typing import NamedTuple

from lochan.formats.metarange import TreeRef
from lochan.formats.repository_events import CoveringTree
from lochan.formats.run import RunRef
from lochan.staging.compaction import LIMITS, CompactionLimits
from lochan.staging.layers import Layers
from lochan.staging.runs import Runs
from lochan.staging.sources import EmptyBase
from lochan.staging.view import View
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees


class CoveringPlan(NamedTuple):
    runs: tuple[RunRef, ...]  # all runs that it will cover, oldest first
    known: CoveringTree | None  # a tree that covers the first of them already


def plan(layers: Layers, base: str, limits: CompactionLimits = LIMITS) -> CoveringPlan | None:
    """Returns what to cover next, or None. Only tombstones are worth a tree: an entry costs a reader only its share of
    the page. `base` is the file of the head's tree."""
    runs = _lowest(layers)
    known = layers.over if layers.over is not None and layers.over.base == base else None
    new = runs[len(known.runs) if known else 0 :]
    if sum(run.tombstones for run in new) < limits.tombstones:
        return None
    return CoveringPlan(runs, known)


async def make(chosen: CoveringPlan, base: Tree, trees: Trees, runs: Runs, mint: int) -> CoveringTree:
    """Makes the tree. REQUIRES: `base` is the tree that the plan was made for."""
    known = chosen.known
    below = base if known is None else await trees.open(TreeRef(known.tree, known.file))
    new = chosen.runs[len(known.runs) if known else 0 :]
    changes = View(Layers(new), EmptyBase(), runs).scan_changes()
    tree, restated = await trees.overlay(below, changes, mint)
    ids = tuple(run.id for run in chosen.runs)
    return CoveringTree(base.ref.file, ids, tree.ref.id, tree.ref.file, known is None and not restated)


async def open_tree(layers: Layers, base: Tree, trees: Trees) -> Tree | None:
    """Returns the tree for a view of the layers over this base, or None if there is none."""
    over = layers.over
    if over is None or over.base != base.ref.file:
        return None
    return await trees.open(TreeRef(over.tree, over.file))


async def committed_tree(layers: Layers, base: Tree, trees: Trees) -> Tree | None:
    """Returns the tree that a commit of all these layers over this base makes, if it exists already, or None."""
    known = layers.over
    if known is None or not known.whole or len(known.runs) != len(layers.layers):
        return None
    return await open_tree(layers, base, trees)


def _lowest(layers: Layers) -> tuple[RunRef, ...]:
    """Returns the lowest layers that are runs, up to the first layer that is not: a commit leaves layers above a seal
    alone."""
    found: list[RunRef] = []
    for item in layers.items:
        if not isinstance(item, RunRef):
            break
        found.append(item)
    return tuple(found)
