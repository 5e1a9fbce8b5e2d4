"""Head moves that are computed from trees: merge, revert, cherry-pick (rules S5, S6).

A move is one event, valid only while the head is the one it was computed on. A move that loses this race is computed
again on the new head; a difference is never re-applied. A move stages nothing, so it cannot commit the writes of
others.

A move is refused if the branch has staged changes, unless the request commits them first. Then both commits land in one
event, `committed … then`, because two events might never succeed under steady writes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple

import msgspec
import pyarrow as pa

from lochan.errors import Invalid, NothingToDo, PathsInTheWay, SameRef
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.repository_events import Committed, Moved, MoveOrigin
from lochan.staging.layers import EMPTY, Layers
from lochan.tree import merge as trees_merge
from lochan.tree.diff import diff
from lochan.tree.merge import MergeResult, Strategy
from lochan.tree.tree import Tree
from lochan.versioning.heads.commit import CommitRequest, commit_record
from lochan.versioning.heads.commit import prepare as prepare_commit
from lochan.versioning.heads.joins import JoinResult, NamedTree, NewObjects, base_ids, tree_of_bases, trivial_merge
from lochan.versioning.heads.joins import MoveBase as On
from lochan.versioning.heads.land import LookAgain, PathTest, PreparedMove, land
from lochan.versioning.idempotency import once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import is_ancestor
from lochan.versioning.revisions.resolve import ResolvedRef, resolve
from lochan.versioning.state.branch import dirty
from lochan.versioning.state.rules import RefsRules

ASK = Strategy()


# What to do if both sides changed a path, by verb.
_RESOLVE = {
    "merge": "change them on the source as they should be, or choose --strategy source-wins or dest-wins",
    "revert": "they were changed since: revert the later commits first, or write the version you want and commit it",
    "cherry-pick": "pick the commits before it first, or write the version you want and commit it",
}


class PathConflicts(PathsInTheWay):
    """Both sides changed the same paths differently."""

    def __init__(
        self, what: str, merged: MergeResult, every: Callable[[], AsyncIterator[pa.Table]], hint: str = ""
    ) -> None:
        count = merged.conflicts
        super().__init__(
            f"{what}: {count} path{'s were' if count > 1 else ' was'} changed on both sides",
            paths=merged.first["path"].to_pylist(),
            count=count,
            hint=hint or _RESOLVE[what],
        )
        self.merged = merged
        self.every = every  # all conflicts as tables, while the repository is open; the merge lists only the first


class CommitMessage(NamedTuple):
    """The user's text for the new commit. The verb fills in what is left out."""

    message: str = ""
    metadata: Mapping[str, str] = {}
    author: str = ""
    date: int | None = None


NOTHING = CommitMessage()


class MovePlan(NamedTuple):
    tree: NamedTree
    parents: tuple[str, ...]
    message: str
    author: str = ""
    new: NewObjects | None = None  # files that no commit before this tree has named
    metadata: Mapping[str, str] = {}  # metadata in addition to that of the message
    origin: MoveOrigin | None = None


Compute = Callable[[On], Awaitable[MovePlan]]


class PullMerge(NamedTuple):
    """The pull request that a merge ends."""

    id: str
    inactive: Callable[[], Awaitable[tuple[str, ...]]]  # returns its reviewers who are disabled or gone at that moment


@once(same)
async def merge(
    repository: OpenRepository,
    source: str,
    branch: str,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    strategy: Strategy = ASK,
    squash: bool = False,
    staged_source: bool = False,
    commit_first: CommitRequest | None = None,
    pull: PullMerge | None = None,
) -> str:
    """Merges the source into the branch. Returns the new head. Raises PathConflicts, NothingToDo, SameRef, and Dirty
    for uncommitted changes on the branch (unless `commit_first`) or on the source (unless `staged_source`)."""
    theirs = await merge_source(repository, source, branch, staged_source)

    async def compute(on: On) -> MovePlan:
        joined = await join_source(repository, on, theirs, source, strategy)
        parents = (on.id,) if squash else (on.id, theirs.commit_id)
        origin = MoveOrigin(theirs.commit_id, "", strategy.otherwise, dict(strategy.prefixes))
        return MovePlan(joined.tree, parents, f"Merge {source!r} into {branch!r}", new=joined.new, origin=origin)

    return await move(repository, branch, "merge", compute, message, actor=actor, commit_first=commit_first, pull=pull)


async def rehearse_merge(
    repository: OpenRepository,
    source: str,
    branch: str,
    *,
    strategy: Strategy = ASK,
    staged_source: bool = False,
    staged_target: bool = False,
) -> tuple[Tree, Tree]:
    """Returns the head's tree and the merged one, without moving anything. Raises what `merge` raises."""
    theirs = await merge_source(repository, source, branch, staged_source)
    refs, mint = await repository.refs()
    found = refs.branch(branch)
    if not found.layers.empty and not staged_target:
        raise dirty(branch)
    head = refs.commit(found.head)
    joined = await join_source(repository, On(found.head, head, refs.recorded, mint), theirs, source, strategy)
    return await repository.tree(head), await repository.trees.open(joined.tree.ref)


@once(same)
async def revert(
    repository: OpenRepository,
    branch: str,
    ref: str,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    parent: int = 1,
    commit_first: CommitRequest | None = None,
) -> str:
    """Takes back what that commit changed against its parent. Raises PathConflicts if the same paths were changed
    since."""
    undone = await repository.resolve(ref)
    title = undone.commit.message.partition("\n")[0]

    async def compute(on: On) -> MovePlan:
        before = parent_of(undone, parent)
        if repository.joins is not None:
            joined = await repository.joins.revert(on, before, undone.commit_id)
        else:
            trees = await repository.tree(undone.commit), await repository.tree(on.look_up(before))
            joined = JoinResult(await three_way(repository, trees[0], on, trees[1], "revert"))
        origin = MoveOrigin(before, undone.commit_id)
        says = f"Revert {title!r} ({undone.commit_id[:12]})"
        return MovePlan(joined.tree, (on.id,), says, new=joined.new, origin=origin)

    return await move(repository, branch, "revert", compute, message, actor=actor, commit_first=commit_first)


@once(same)
async def cherry_pick(
    repository: OpenRepository,
    branch: str,
    ref: str,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    parent: int = 1,
    commit_first: CommitRequest | None = None,
) -> str:
    """Applies what that commit changed against its parent to the branch."""
    picked = await repository.resolve(ref)

    async def compute(on: On) -> MovePlan:
        before = parent_of(picked, parent)
        if repository.joins is not None:
            joined = await repository.joins.pick(on, before, picked.commit_id)
        else:
            trees = await repository.tree(on.look_up(before)), await repository.tree(picked.commit)
            joined = JoinResult(await three_way(repository, trees[0], on, trees[1], "cherry-pick"))
        origin = MoveOrigin(picked.commit_id, before)
        message, author = picked.commit.message, picked.commit.author
        return MovePlan(joined.tree, (on.id,), message, author, joined.new, origin=origin)

    return await move(repository, branch, "cherry-pick", compute, message, actor=actor, commit_first=commit_first)


async def move(
    repository: OpenRepository,
    name: str,
    why: str,
    compute: Compute,
    message: CommitMessage,
    *,
    actor: Actor,
    commit_first: CommitRequest | None = None,
    pull: PullMerge | None = None,
) -> str:
    """Lands what `compute` makes of the head, as one new commit on a branch with nothing staged."""

    async def prepare(turn: str) -> PreparedMove | None:
        refs, mint = await repository.refs()
        branch = refs.branch(name)
        if not branch.layers.empty:
            if commit_first is None:
                raise dirty(name)
            return await _after_commit(repository, name, why, compute, message, commit_first, turn, actor)
        on = On(branch.head, refs.commit(branch.head), refs.recorded, mint)
        commit, plan = await _compute(repository, name, why, compute, message, on, actor)
        new, origins = plan.new, () if plan.origin is None else (plan.origin,)
        event = Moved(
            name, branch.incarnation, on.id, commit.id, why, (commit,), read_at=mint, turn=turn, origins=origins
        )
        if pull is not None:
            event = msgspec.structs.replace(event, pull=pull.id, inactive=await pull.inactive())
        return PreparedMove(
            event if new is None else msgspec.structs.replace(event, mint=new.mint, closes=new.closes),
            None if commit_first is None else _StillClean(name, pa.array([], pa.string())),
        )

    id: str = await land(repository, name, prepare, actor=actor)
    fp("move.landed")
    return id


class _StillClean(PathTest):
    """Tests a move that commits staged changes first. It also finds changes that were staged on a clean branch
    meanwhile."""

    def check(self, layers: Layers, rules: RefsRules) -> None:
        if not layers.empty:
            raise LookAgain(f"something was staged on branch {self._branch!r} meanwhile", hint="try again")


async def _after_commit(
    repository: OpenRepository,
    name: str,
    why: str,
    compute: Compute,
    message: CommitMessage,
    request: CommitRequest,
    turn: str,
    actor: Actor,
) -> PreparedMove | None:
    """Commits the staged changes first, and computes the move on top of that (S5)."""
    try:
        committed = await prepare_commit(repository, name, request, turn, actor)
    except NothingToDo:
        refs, _ = await repository.refs()
        if refs.branch(name).layers.empty:
            return None  # the branch is clean: the changes were reset or stashed meanwhile
        raise
    if committed is None:
        return None
    refs, mint = await repository.refs()
    first = committed.commit
    on = On(first.id, first, lambda id: first if id == first.id else refs.recorded(id), mint)
    then, plan = await _compute(repository, name, why, compute, message, on, actor)
    test = await _test(repository, refs.branch(name).layers, committed, then)
    if test is None:
        return None
    event = msgspec.structs.replace(committed, then=then, origin=plan.origin, why=why)
    return PreparedMove(event, test, above=committed.seal)


async def _test(repository: OpenRepository, layers: Layers, committed: Committed, then: Commit) -> PathTest | None:
    """Returns a test that no path that the move changes was left over by the commit or staged after its seal, or None
    if the seal is gone."""
    if committed.seal not in layers.seals:
        return None
    changed = await changed_paths(repository, await repository.tree(committed.commit), await repository.tree(then))
    test = PathTest(committed.branch, changed)
    left = EMPTY.append(*committed.leftovers)
    await test.look(await repository.view_of(committed.commit, left), left)
    above = layers.after(committed.seal)
    await test.look(await repository.view_of(committed.commit, above), above)
    return test


async def changed_paths(repository: OpenRepository, left: Tree, right: Tree) -> pa.StringArray:
    """Returns the paths that differ, in order."""
    columns = [table["path"] async for table in diff(repository.trees, left, right)]
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


async def _compute(
    repository: OpenRepository, name: str, why: str, compute: Compute, message: CommitMessage, on: On, actor: Actor
) -> tuple[Commit, MovePlan]:
    plan = await compute(on)
    if plan.tree.ref.id == on.head.tree and len(plan.parents) == 1:
        raise NothingToDo(f"the {why} would change nothing on branch {name!r}")
    fp("move.computed")
    text = message._replace(
        message=message.message or plan.message,
        author=message.author or plan.author,
        metadata={**message.metadata, **plan.metadata},
    )
    parents = {parent: on.look_up(parent) for parent in plan.parents}
    commit = commit_record(plan.tree, parents, text, actor, repository.clock.wall())
    return commit, plan


async def merge_source(repository: OpenRepository, source: str, branch: str, staged_source: bool) -> ResolvedRef:
    refs, _ = await repository.refs()
    theirs = resolve(refs, source, now=repository.clock.wall())
    if theirs.branch is not None and theirs.branch.name == branch:
        raise SameRef(f"branch {branch!r} cannot be merged into itself", hint="name another source")
    if theirs.branch is not None and not theirs.branch.layers.empty and not staged_source:
        raise dirty(theirs.branch.name)
    return theirs


async def join_source(
    repository: OpenRepository, on: On, theirs: ResolvedRef, source: str, strategy: Strategy
) -> JoinResult:
    if is_ancestor(on.look_up, theirs.commit_id, on.id):
        raise NothingToDo(f"everything in {source!r} is there already", hint="there is nothing to merge")
    if repository.joins is not None:
        return await repository.joins.merge(on, theirs.commit_id, strategy)
    bases = base_ids(on.look_up, on.id, theirs.commit_id)
    if len(bases) == 1:
        sides = on.look_up(bases[0]), on.head, theirs.commit
        for side in sides:
            repository.folded().check_live(side)
        tree = trivial_merge(*sides)
        if tree is not None:
            return JoinResult(tree)
    base = await tree_of_bases(repository.trees, repository.tree, on.look_up, bases, on.mint)
    return JoinResult(await three_way(repository, base, on, await repository.tree(theirs.commit), "merge", strategy))


def parent_of(of: ResolvedRef, number: int) -> str:
    parents = of.commit.parents
    if not 1 <= number <= len(parents):
        raise Invalid(f"commit {of.commit_id[:12]} has {len(parents)} parents, and no number {number}")
    return parents[number - 1]


async def three_way(
    repository: OpenRepository, base: Tree, on: On, theirs: Tree, what: str, strategy: Strategy = ASK
) -> Tree:
    ours = await repository.tree(on.head)
    merged = await trees_merge.merge(repository.trees, base, ours, theirs, mint=on.mint, strategy=strategy)
    if merged.tree is None:
        sides = base, ours, theirs
        raise PathConflicts(what, merged, lambda: trees_merge.conflicts(repository.trees, *sides, strategy=strategy))
    return merged.tree
