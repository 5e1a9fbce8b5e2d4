"""The steps of a pool's history: which objects each commit added, removed and held, read from the commits' trees."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from lochan.formats.entry import Entry
from lochan.pools.facts import PREFIX
from lochan.pools.merge_objects import Objects, Side, Step
from lochan.pools.objects import object_id, object_path
from lochan.tree.diff import ADDED, REMOVED, diff
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees

COMPUTED_FROM = f"{PREFIX}from"  # in an entry's metadata; stored on disk


class Point(NamedTuple):
    """A commit, or a merge of merge bases that stands for one."""

    id: str
    parents: tuple[str, ...]
    tree: Tree
    follows: bool  # whether it descends from all merge bases


async def step(trees: Trees, before: Tree, after: Tree) -> Step:
    """Returns the difference of two trees."""
    removed: list[str] = []
    added: list[str] = []
    akin: list[Objects] = []
    async for table in diff(trees, before, after):
        removed += table.filter(pc.equal(table["kind"], REMOVED))["path"].to_pylist()
        come = table.filter(pc.equal(table["kind"], ADDED))
        added += come["path"].to_pylist()
        akin += _related_objects(come)
    return Step(frozenset(removed), frozenset(added), tuple(akin))


def _related_objects(come: pa.Table) -> list[Objects]:
    metadata = pc.struct_field(come["right"], "metadata").combine_chunks()
    texts = pc.map_lookup(metadata, COMPUTED_FROM, "first") if len(metadata) else pa.array([], pa.string())
    found = come.append_column("from", texts).filter(pc.is_valid(texts))
    pairs = zip(found["path"].to_pylist(), found["from"].to_pylist(), strict=True)
    return [frozenset((path, *map(object_path, text.split(",")))) for path, text in pairs]


def with_sources(entry: Entry, objects: Iterable[str]) -> Entry:
    """Returns the entry, with a note of the objects of another history that its rows came from."""
    text = ",".join(sorted(map(object_id, objects)))
    return replace(entry, metadata={**entry.metadata, COMPUTED_FROM: text}) if text else entry


async def objects_in(tree: Tree, objects: Iterable[str]) -> Objects:
    """Returns the objects that are in the tree."""
    paths = pa.array(sorted(objects), pa.string())
    return frozenset(paths.filter(pa.array(await tree.has_many(paths))).to_pylist())


class History:
    """One side's commits since the merge base: their changes, and which of the given objects each held."""

    def __init__(self, trees: Trees, points: Sequence[Point], outside: dict[str, Tree]) -> None:
        """Describes one side. `points` are ordered, parents first. `outside` has the trees of parents that are not
        among them."""
        self._trees = trees
        self._points = points
        self._known = {point.id: point.tree for point in points} | outside
        self._did: dict[str, Step] = {}  # by commit, its changes against its first parent
        self.where: dict[str, Tree] = {}  # by object, a tree that holds it

    async def steps(self) -> list[Step]:
        """Returns the step of each commit. The step of a merge is what it computed; its parents did the rest."""
        return [await self._step(point) for point in self._points if point.parents]

    async def _step(self, point: Point) -> Step:
        befores = [self._known[parent] for parent in point.parents]
        did = [await step(self._trees, before, point.tree) for before in befores]
        self._did[point.id] = did[0]
        for before, each in zip(befores, did, strict=True):
            self.where |= dict.fromkeys(each.removed, before) | dict.fromkeys(each.added, point.tree)
        made = frozenset.intersection(*(each.added for each in did))
        akin = tuple(related for related in did[0].akin if related & made)
        return Step(frozenset().union(*(each.removed for each in did)), made, akin)

    async def side(self, now: Objects, objects: Objects, base: Objects) -> Side:
        """Returns the side for `settle`. REQUIRES: steps() was called."""
        added: Objects = frozenset().union(*(each.added for each in self._did.values()))
        holding: dict[str, Objects] = {}
        for point in self._points:
            holding[point.id] = await self._held_objects(point, holding, objects)
        # A line that branched off earlier may still hold objects from then. They prove nothing about later changes.
        counted = [holding[each.id] for each in self._points if each.follows or holding[each.id] <= base | added]
        last = holding[self._points[-1].id] if self._points else now
        dropped = frozenset().union(*counted) - last
        return Side(now, counted[:-1] if counted[-1:] == [now] else counted, dropped)

    async def _held_objects(self, point: Point, holding: dict[str, Objects], objects: Objects) -> Objects:
        if not point.parents:
            return await objects_in(point.tree, objects)
        first, did = point.parents[0], self._did[point.id]
        if first not in holding:
            holding[first] = await objects_in(self._known[first], objects)
        return ((holding[first] - did.removed) | did.added) & objects
