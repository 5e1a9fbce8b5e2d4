"""Derives from the events of a repository's journal how files follow from others.

    committed    the head's tree and the layers below the seal      ─▶ the commit's tree
    moved        the trees that were joined                         ─▶ the tree of a merge, revert, pick or rebase
    compacted    the layers that it names                           ─▶ runs, and a tree over the lowest runs

A recipe is made from an event and the state before it. Data that no event contains are primary: the entries of an
import or of a load, rows that a merge has computed, the files of a workspace. Such a tree has a recipe too, with the
reason why it cannot be made again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lochan.formats.commit import Commit
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.formats.repository_events import Committed, Compacted, CoveringTree, Moved, MoveOrigin
from lochan.formats.run import RunRef
from lochan.journal.state import EventPosition, State
from lochan.staging.layers import Inputs, Layer, Layers
from lochan.tree.merge import ASK, BASE, DEST, SOURCE, Strategy
from lochan.versioning.revisions.graph import LookUp, merge_bases
from lochan.versioning.state.refs import Refs

WATCHED = frozenset((Committed.type, Moved.type, Compacted.type))
_UNTOLD = (Strategy(ASK), Strategy(SOURCE), Strategy(DEST), Strategy(BASE))  # old events do not name a strategy


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    number: int  # the number of the event

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it makes, except the ranges of a tree, as paths below the repository."""
        raise NotImplementedError

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        """The trees that it reads."""
        return ()

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return ()


class TreeRecipe(Recipe, frozen=True, kw_only=True):
    target: TreeRef
    commit: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        return (self.target.file,)

    @property
    def mint(self) -> int:
        return mint_of_file(self.target.file)


class CommitRecipe(TreeRecipe, frozen=True, kw_only=True):
    base: TreeRef
    layers: Layers
    leftovers: tuple[RunRef, ...] = ()  # changes that stayed staged: all others were committed

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        return (self.base,)

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return (*self.layers.runs, *self.leftovers)


class JoinRecipe(TreeRecipe, frozen=True, kw_only=True):
    """A three-way merge. `bases` are its merge bases; there is one of them, except after a criss-cross."""

    ours: Commit
    ours_id: str
    theirs: Commit
    theirs_id: str
    bases: tuple[Commit, ...]
    is_merge: bool  # whether it merges two histories, whose bases may have to be merged themselves
    strategies: tuple[Strategy, ...]
    look_up: LookUp

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        return tuple(tree_of(each) for each in (self.ours, self.theirs, *self.bases))


class WorkspaceRecipe(TreeRecipe, frozen=True, kw_only=True):
    fork: TreeRef
    ours: TreeRef
    layers: Layers
    added: tuple[str, ...]

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        return (self.fork, self.ours)

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return self.layers.runs


class PrimaryTree(TreeRecipe, frozen=True, kw_only=True):
    """A tree without a recipe, for the given reason."""

    reason: str


class CoverRecipe(TreeRecipe, frozen=True, kw_only=True):
    base: TreeRef
    covered: tuple[RunRef, ...]
    known: CoveringTree | None  # a tree that it may have been made from

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        inputs = () if self.known is None else (TreeRef(self.known.tree, self.known.file),)
        return (self.base, *inputs)

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return self.covered


class RunsRecipe(Recipe, frozen=True, kw_only=True):
    outputs: tuple[RunRef, ...]
    chosen: tuple[Layer, ...]
    layers: Layers  # the layers that they were part of
    head: TreeRef | None  # tombstones of paths that neither this nor a lower layer has were dropped

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(each.file for each in self.outputs)

    @property
    def trees(self) -> tuple[TreeRef, ...]:
        return () if self.head is None else (self.head,)

    @property
    def runs(self) -> tuple[RunRef, ...]:
        below = self.layers.runs if self.head is not None else ()
        return (*below, *(each for each in self.chosen if isinstance(each, RunRef)))


def recipes_of(state: State, event: Any, at: EventPosition) -> tuple[Recipe, ...]:
    """Returns the recipes for the files that the event makes, from the state before it. `Replay` calls it."""
    refs = state.of(Refs)
    match event:
        case Committed():
            found = _of_commit(refs, event, at.number)
        case Moved():
            found = _of_move(refs, event, at.number)
        case Compacted():
            found = _of_compaction(refs, event, at.number)
        case _:
            return ()
    return tuple(found)


def _of_commit(refs: Refs, event: Committed, number: int) -> Iterator[Recipe]:
    branch = refs.branch(event.branch)
    base = tree_of(refs.recorded(branch.head))
    target = tree_of(event.commit)
    if target.file not in ("", base.file):
        layers = branch.layers.below(event.seal)
        yield CommitRecipe(
            number=number,
            target=target,
            commit=event.commit.id,
            base=base,
            layers=layers,
            leftovers=event.leftovers,
        )
    if event.then is not None:
        commits = {event.commit.id: event.commit}
        yield from _of_join(_Join(refs, commits, event.then, event.origin, 0, number))


def _of_move(refs: Refs, event: Moved, number: int) -> Iterator[Recipe]:
    commits: dict[str, Commit] = {}
    origins = event.origins if len(event.origins) == len(event.commits) else (None,) * len(event.commits)
    for commit, origin in zip(event.commits, origins, strict=True):
        commits[commit.id] = commit
        if event.workspace:
            yield from _of_workspace(refs, event, commit, number)
        else:
            yield from _of_join(_Join(refs, commits, commit, origin, event.mint, number, event.why))


class _Join(msgspec.Struct, frozen=True):
    refs: Refs
    known: dict[str, Commit]  # new commits of the same event
    commit: Commit
    origin: MoveOrigin | None
    mint: int  # the mint of new data objects
    number: int
    why: str = ""

    def look_up(self, id: str) -> Commit:
        return self.known.get(id) or self.refs.recorded(id)


def _of_join(join: _Join) -> Iterator[Recipe]:
    commit, target = join.commit, tree_of(join.commit)
    parents = [tree_of(join.look_up(each)).file for each in commit.parents]
    if target.file in ("", *parents):
        return
    origin = join.origin
    if origin is None and len(commit.parents) == 2:  # a merge that was written before events had origins
        origin = MoveOrigin(commit.parents[1])
    primary = _why_primary(join, origin)
    if primary or origin is None:
        yield PrimaryTree(number=join.number, target=target, commit=commit.id, reason=primary)
        return
    ours_id = commit.parents[0]
    is_merge, theirs_id = not origin.against, origin.source
    bases = merge_bases(join.look_up, ours_id, theirs_id) if is_merge else [origin.against]
    joined = [join.look_up(each) for each in (theirs_id, *bases)]
    if target.file in [tree_of(each).file for each in joined]:
        return  # it is one of them, and was made before
    chosen = Strategy(origin.strategy or ASK, origin.prefixes)
    yield JoinRecipe(
        number=join.number,
        target=target,
        commit=commit.id,
        ours=join.look_up(ours_id),
        ours_id=ours_id,
        theirs=joined[0],
        theirs_id=theirs_id,
        bases=tuple(joined[1:]),
        is_merge=is_merge,
        strategies=(chosen,) if origin.strategy or not is_merge else _UNTOLD,
        look_up=join.look_up,
    )


def _why_primary(join: _Join, origin: MoveOrigin | None) -> str:
    if join.mint and join.why not in _OUTSIDE:
        return f"the {join.why} made new data objects, and only its tree describes them"
    if origin is None:
        return _PRIMARY.get(join.why, f"the event of the {join.why or 'commit'} does not tell what it was made from")
    return ""


_OUTSIDE = ("import", "ingest")  # their mint is that of ranges
_PRIMARY = {
    "import": "only the tree of an import tells which files were found outside",
    "ingest": "only the tree of an ingest tells which files were found outside",
    "load": "only the tree of a load describes its data objects",
    "delete": "only the tree of a delete describes its data objects",
    "compact": "only the tree of a compaction describes its data objects",
}


def _of_workspace(refs: Refs, event: Moved, commit: Commit, number: int) -> Iterator[Recipe]:
    ours, target = tree_of(refs.recorded(event.source)), tree_of(commit)
    if target.file in ("", ours.file):
        return
    workspace = refs.workspaces.get(event.workspace)
    yield WorkspaceRecipe(
        number=number,
        target=target,
        commit=commit.id,
        fork=tree_of(refs.recorded(workspace.fork)),
        ours=ours,
        layers=workspace.layers,
        added=workspace.added,
    )


def _of_compaction(refs: Refs, event: Compacted, number: int) -> Iterator[Recipe]:
    branch = refs.branch_of(event.branch, event.incarnation)
    layers = branch.layers
    if event.outputs:
        head = tree_of(refs.recorded(event.head)) if event.head else None
        chosen = _choose_layers(layers, Inputs(event.spans, event.runs))
        yield RunsRecipe(number=number, outputs=event.outputs, chosen=chosen, layers=layers, head=head)
    over = event.over
    if over is not None and over.file:
        by_id = {each.id: each for each in (*layers.runs, *event.outputs)}
        covering = layers.over if layers.over is not None and layers.over.base == over.base else None
        yield CoverRecipe(
            number=number,
            target=TreeRef(over.tree, over.file),
            base=tree_of(refs.recorded(branch.head)),
            covered=tuple(by_id[id] for id in over.runs),
            known=covering,
        )


def _choose_layers(layers: Layers, inputs: Inputs) -> tuple[Layer, ...]:
    spans, runs = set(inputs.spans), set(inputs.runs)
    return tuple(
        each
        for each in layers.layers
        if (each.id in runs if isinstance(each, RunRef) else (each.first, each.last) in spans)
    )


def tree_of(commit: Commit) -> TreeRef:
    return TreeRef(commit.tree, commit.tree_file) if commit.tree_file else EMPTY


def mint_of_file(file: str) -> int:
    """Returns the mint number in a name such as `<folder>/<id>-<mint>….parquet`."""
    return int(file.rpartition("/")[2].removesuffix(".parquet").split("-")[1])
