"""Head moves that are computed from trees: merge, revert, cherry-pick (rules S5, S6).

A move is one event, valid only while the head is the one it was computed on. Whoever loses that race computes anew on
the new head, never re-applies a difference. Nothing of it is ever staged, so it cannot commit a neighbour's writes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from lochan.errors import Conflict, Invalid
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.refs_events import Moved
from lochan.tree import merge as trees_merge
from lochan.tree.merge import Merged
from lochan.tree.strategy import Strategy
from lochan.tree.tree import Tree
from lochan.versioning.graph import merge_bases
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.refs import Branch, Refs, dirty
from lochan.versioning.resolve import Resolved, resolve

_ATTEMPTS = 10
ASK = Strategy()


class PathConflicts(Conflict):
    """Both sides changed the same paths, and not alike."""

    kind = "conflict"

    def __init__(self, what: str, merged: Merged) -> None:
        super().__init__(
            f"{what}: {merged.conflicts} path{'s were' if merged.conflicts > 1 else ' was'} changed on both sides",
            hint="resolve them on the source, or choose source-wins or dest-wins",
        )
        self.merged = merged


class Said(NamedTuple):
    """What the new commit is to say; what is left out is said by the verb."""

    message: str = ""
    metadata: Mapping[str, str] = {}
    author: str = ""
    date: int | None = None


NOTHING = Said()


class _Plan(NamedTuple):
    tree: Tree
    parents: tuple[str, ...]
    message: str
    author: str = ""


Compute = Callable[[Refs, Branch, Commit, int], Awaitable[_Plan]]


async def merge(
    repository: OpenRepository,
    source: str,
    branch: str,
    said: Said = NOTHING,
    *,
    actor: Actor,
    strategy: Strategy = ASK,
    squash: bool = False,
    staged_source: bool = False,
) -> str:
    """Returns the new head. Raises PathConflicts, Refused for uncommitted changes on the branch or (unless
    `staged_source`) on the source, Invalid if there is nothing to merge."""
    theirs = await _source(repository, source, staged_source)

    async def compute(refs: Refs, ours: Branch, head: Commit, mint: int) -> _Plan:
        base = _merge_base(refs, ours, theirs.commit_id, source)
        tree = await _three_way(repository, refs.commit(base), head, theirs.commit, mint, "merge", strategy)
        parents = (ours.head,) if squash else (ours.head, theirs.commit_id)
        return _Plan(tree, parents, f"Merge {source!r} into {branch!r}")

    return await _move(repository, branch, "merge", compute, said, actor)


async def revert(
    repository: OpenRepository,
    branch: str,
    ref: str,
    said: Said = NOTHING,
    *,
    actor: Actor,
    parent: int = 1,
) -> str:
    """Takes back what that commit changed against its parent. Raises PathConflicts where something else changed the
    same paths since."""
    undone = await repository.resolve(ref)

    async def compute(refs: Refs, ours: Branch, head: Commit, mint: int) -> _Plan:
        before = refs.commit(_parent(undone, parent))
        tree = await _three_way(repository, undone.commit, head, before, mint, "revert")
        title = undone.commit.message.partition("\n")[0]
        return _Plan(tree, (ours.head,), f"Revert {title!r} ({undone.commit_id[:12]})")

    return await _move(repository, branch, "revert", compute, said, actor)


async def cherry_pick(
    repository: OpenRepository,
    branch: str,
    ref: str,
    said: Said = NOTHING,
    *,
    actor: Actor,
    parent: int = 1,
) -> str:
    """Puts what that commit changed against its parent on top of the branch."""
    picked = await repository.resolve(ref)

    async def compute(refs: Refs, ours: Branch, head: Commit, mint: int) -> _Plan:
        before = refs.commit(_parent(picked, parent))
        tree = await _three_way(repository, before, head, picked.commit, mint, "cherry-pick")
        return _Plan(tree, (ours.head,), picked.commit.message, picked.commit.author)

    return await _move(repository, branch, "cherry-pick", compute, said, actor)


async def _move(repository: OpenRepository, name: str, why: str, compute: Compute, said: Said, actor: Actor) -> str:
    for _ in range(_ATTEMPTS):
        refs, mint = await repository.refs()
        branch = refs.branch(name)
        if not branch.layers.empty:
            raise dirty(name)
        head = refs.commit(branch.head)
        plan = await compute(refs, branch, head, mint)
        if plan.tree.ref.id == head.tree and len(plan.parents) == 1:
            raise Invalid(f"the {why} would change nothing on branch {name!r}")
        commit = _record(plan, refs, said, actor, repository.clock.wall())
        fp("move.computed")
        event = Moved(name, branch.incarnation, branch.head, commit.id, why, (commit,), read_at=mint)
        try:
            await repository.submit(actor, event)
        except Conflict:
            continue
        fp("move.landed")
        return commit.id
    raise Conflict(f"branch {name!r} was moved {_ATTEMPTS} times meanwhile", hint="try again")


def _record(plan: _Plan, refs: Refs, said: Said, actor: Actor, now: int) -> Commit:
    return Commit(
        parents=plan.parents,
        author=said.author or plan.author or actor.user,
        committer=actor.user,
        message=said.message or plan.message,
        date=now if said.date is None else said.date,
        metadata=dict(said.metadata),
        tree=plan.tree.ref.id,
        tree_file=plan.tree.ref.file,
        generation=1 + max(refs.commit(parent).generation for parent in plan.parents),
    )


async def _source(repository: OpenRepository, source: str, staged_source: bool) -> Resolved:
    refs, _ = await repository.refs()
    theirs = resolve(refs, source)
    if theirs.branch is not None and not theirs.branch.layers.empty and not staged_source:
        raise dirty(theirs.branch.name)
    return theirs


def _merge_base(refs: Refs, ours: Branch, theirs: str, source: str) -> str:
    bases = merge_bases(refs.commit, ours.head, theirs)
    if not bases:
        raise Invalid(f"{source!r} and branch {ours.name!r} have no history in common")
    if bases[0] == theirs:
        raise Invalid(f"everything in {source!r} is in branch {ours.name!r} already", hint="there is nothing to merge")
    return bases[0]


def _parent(of: Resolved, number: int) -> str:
    parents = of.commit.parents
    if not 1 <= number <= len(parents):
        raise Invalid(f"commit {of.commit_id[:12]} has {len(parents)} parents, and no number {number}")
    return parents[number - 1]


async def _three_way(
    repository: OpenRepository,
    base: Commit,
    ours: Commit,
    theirs: Commit,
    mint: int,
    what: str,
    strategy: Strategy = ASK,
) -> Tree:
    """Raises PathConflicts."""
    trees = [await repository.tree(commit) for commit in (base, ours, theirs)]
    merged = await trees_merge.merge(repository.trees, *trees, mint=mint, strategy=strategy)
    if merged.tree is None:
        raise PathConflicts(what, merged)
    return merged.tree
