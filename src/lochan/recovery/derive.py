"""Carries out recipes. Their results are written to a scratch store, and read from there before the lake, so a damaged
file of the lake is never used to make another one.

A result counts only if it has exactly the name that the event gave it. Names are hashes of contents, so it is the same
tree. A run's name is not a hash, so its size, its count and its first and last path are compared instead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import Clock
from lochan.errors import Corrupt, Gone, LochanError
from lochan.formats.commit import Commit
from lochan.formats.run import RunRef, empty
from lochan.ids import Ids
from lochan.recovery.overlay_store import OverlayStore
from lochan.recovery.recipes import (
    CommitRecipe,
    CoverRecipe,
    JoinRecipe,
    PrimaryTree,
    Recipe,
    RunsRecipe,
    TreeRecipe,
    WorkspaceRecipe,
    tree_of,
)
from lochan.staging import covering_tree
from lochan.staging.compaction import CompactionPlan, compact
from lochan.staging.covering_tree import CoveringPlan
from lochan.staging.runs import Runs
from lochan.staging.view import View
from lochan.tree.assemble import POOLS, STANDARD
from lochan.tree.merge import merge
from lochan.tree.patches import NEVER
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from lochan.versioning.heads.joins import base_tree
from lochan.versioning.workspaces.selection import fits


class CannotDerive(LochanError):
    """A file cannot be made again, for the reason in the message."""


class Deriver:
    """Carries out recipes of one repository."""

    def __init__(self, store: OverlayStore, repository: str, clock: Clock, *, is_pool: bool) -> None:
        self._store = store
        self._prefix = repository
        self._clock = clock
        cut = POOLS if is_pool else STANDARD
        self.trees = Trees(store, repository, cut=cut)
        # Older versions wrote every range as a whole: the name shows which way it was.
        self._ways = (self.trees, Trees(store, repository, cut=cut, patches=NEVER))
        self._runs = Runs(store, repository, clock, Ids(), threads=self.trees.threads)

    async def derive(self, recipe: Recipe) -> None:
        """Writes the files of the recipe to the scratch store. Raises CannotDerive."""
        try:
            if isinstance(recipe, RunsRecipe):
                await self._make_runs(recipe)
            elif isinstance(recipe, TreeRecipe):
                await self._make_tree(recipe)
        except (Corrupt, Gone) as error:
            raise CannotDerive(f"what it was made from cannot be read: {error.message}") from error

    async def _make_tree(self, recipe: TreeRecipe) -> None:
        if isinstance(recipe, PrimaryTree):
            raise CannotDerive(recipe.reason)
        for way in self._ways:
            self.trees = way
            async for tree in self._trees(recipe):
                if tree is not None and tree.ref == recipe.target:
                    return
        raise CannotDerive(_MISMATCH[type(recipe)])

    def _trees(self, recipe: TreeRecipe) -> AsyncIterator[Tree | None]:
        """Yields the trees that the event may have made. If an event leaves something open, each possibility is tried,
        and the name decides."""
        match recipe:
            case CommitRecipe():
                return self._committed_trees(recipe)
            case JoinRecipe():
                return self._join_trees(recipe)
            case WorkspaceRecipe():
                return self._of_workspace(recipe)
            case CoverRecipe():
                return self._covering_trees(recipe)
        raise TypeError(type(recipe))

    async def _committed_trees(self, recipe: CommitRecipe) -> AsyncIterator[Tree]:
        base = await self.trees.open(recipe.base)
        left = [(await self._runs.open(each)).batch.column("path") for each in recipe.leftovers]
        yield await self.trees.apply(base, self._changes(recipe, base, left), recipe.mint)
        # Upkeep may have made the tree in advance, over these runs.
        tree, _ = await self.trees.overlay(base, self._changes(recipe, base, left), recipe.mint)
        yield tree

    async def _changes(self, recipe: CommitRecipe, base: Tree, left: list[pa.Array]) -> AsyncIterator[pa.Table]:
        stayed = pa.concat_arrays(left) if left else None
        async for table in View(recipe.layers, base, self._runs).scan_changes():
            yield table if stayed is None else table.filter(pc.invert(pc.is_in(table["path"], value_set=stayed)))

    async def _join_trees(self, recipe: JoinRecipe) -> AsyncIterator[Tree | None]:
        ours, theirs = await self._tree(recipe.ours), await self._tree(recipe.theirs)
        if recipe.is_merge:
            ids = recipe.ours_id, recipe.theirs_id
            base = await base_tree(self.trees, self._tree, recipe.look_up, *ids, recipe.mint)
        else:
            base = await self._tree(recipe.bases[0])
        for strategy in recipe.strategies:
            yield (await merge(self.trees, base, ours, theirs, mint=recipe.mint, strategy=strategy)).tree

    async def _of_workspace(self, recipe: WorkspaceRecipe) -> AsyncIterator[Tree | None]:
        fork, ours = await self.trees.open(recipe.fork), await self.trees.open(recipe.ours)
        staged = await View(recipe.layers, fork, self._runs).changes()
        added = staged.filter(fits(staged["path"], recipe.added)) if recipe.added else empty()
        for changes in (staged, added):
            theirs = await self.trees.apply(fork, changes, recipe.mint)
            yield (await merge(self.trees, fork, ours, theirs, mint=recipe.mint)).tree

    async def _covering_trees(self, recipe: CoverRecipe) -> AsyncIterator[Tree]:
        base = await self.trees.open(recipe.base)
        for over in {None, recipe.known}:
            if over is None or over.runs == tuple(each.id for each in recipe.covered[: len(over.runs)]):
                plan = CoveringPlan(recipe.covered, over)
                made = await covering_tree.make(plan, base, self.trees, self._runs, recipe.mint)
                yield await self.trees.open(type(recipe.target)(made.tree, made.file))

    async def _make_runs(self, recipe: RunsRecipe) -> None:
        writer = Runs(self._store, self._prefix, self._clock, _GivenIds(recipe.outputs), threads=self.trees.threads)
        head = None if recipe.head is None else (await self.trees.open(recipe.head)).has_many
        first = recipe.outputs[0]
        result = compact(CompactionPlan(recipe.chosen, first.level), recipe.layers, self._runs, head)
        made = await writer.write_cut(result.changes(), first.level, first.mint)
        if made != recipe.outputs:
            for each in made:
                await self._store.forget(f"{self._prefix}/{each.file}")
            raise CannotDerive("its inputs give another run: it was written by another version of the Parquet writer")

    async def _tree(self, commit: Commit) -> Tree:
        return await self.trees.open(tree_of(commit))


class _GivenIds(Ids):
    """Returns ids that were drawn long ago."""

    def __init__(self, refs: tuple[RunRef, ...]) -> None:
        super().__init__()
        self._left: Iterator[str] = iter([each.id for each in refs])

    def ksuid(self, now: int) -> str:
        return next(self._left, "superfluous")


_MISMATCH: dict[type[TreeRecipe], str] = {
    CommitRecipe: "what was staged for it gives another tree",
    JoinRecipe: "the trees that were joined give another tree: the event does not tell how conflicts were settled",
    WorkspaceRecipe: "only its tree tells which files of the workspace's folder were committed",
    CoverRecipe: "the runs below it give another tree",
}
