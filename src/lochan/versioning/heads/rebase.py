"""Rebase: the commits that a branch has and `onto` has not are replayed on top of `onto`, and the branch moves there
(rules S5, S6).

    o ─ a ─ b   branch              o ─ x ─ a' ─ b'   branch
     ╲                     ──▶
       x        onto

Every commit is a three-way merge of trees: its change against its first parent, applied to what was replayed before it.
Merges are left out; the commits they brought in are replayed in one line with the rest. A commit that changes nothing
any more is dropped; one that never changed anything is kept. All of it is one event: if there is a conflict anywhere,
nothing has moved."""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import pyarrow as pa

from lochan.errors import NothingToDo, SameRef
from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved, MoveOrigin
from lochan.journal.keys import CarriedOut
from lochan.tree.merge import MergeResult, conflicts, merge
from lochan.versioning.heads.joins import JoinResult, MoveBase
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.heads.moves import PathConflicts
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import LookUp, only_left, topological
from lochan.versioning.state.branch import dirty


class RebaseOutcome(NamedTuple):
    head: str
    replayed: int | None  # None if it was done before under the same key, and is not known
    dropped: int | None  # commits that change nothing any more


class ReplayConflicts(PathConflicts):
    """A commit of the branch and `onto` changed the same paths differently."""

    def __init__(
        self, id: str, commit: Commit, merged: MergeResult, every: Callable[[], AsyncIterator[pa.Table]]
    ) -> None:
        title = commit.message.partition("\n")[0]
        hint = "nothing was moved; merge instead, or settle these paths on the branch first"
        super().__init__(f"replaying commit {id[:12]} ({title})", merged, every, hint)


async def _earlier_rebase(repository: OpenRepository, before: CarriedOut) -> RebaseOutcome:
    return RebaseOutcome(before.result, None, None)


@once(_earlier_rebase)
async def rebase(repository: OpenRepository, branch: str, onto: str, *, actor: Actor) -> RebaseOutcome:
    """Rebases the branch. Raises ReplayConflicts, NothingToDo, SameRef, and Dirty if the branch has staged changes. If
    the branch was moved meanwhile, every commit is replayed again, on the commit that `onto` named at first."""
    target = await repository.resolve(onto)
    if target.branch is not None and target.branch.name == branch:
        raise SameRef(f"branch {branch!r} cannot be rebased onto itself", hint="name another ref")
    done = RebaseOutcome("", 0, 0)

    async def prepare(turn: str) -> PreparedMove:
        nonlocal done
        refs, mint = await repository.refs()
        found = refs.branch(branch)
        if not found.layers.empty:
            raise dirty(branch)
        chosen = _to_replay(refs.recorded, found.head, target.commit_id)
        if chosen is None:
            raise NothingToDo(f"branch {branch!r} is on top of {onto!r} already")
        new, origins, least = await _replay_commits(
            repository, refs.recorded, chosen, (target.commit_id, found.head), mint, actor
        )
        head = new[-1].id if new else target.commit_id
        done = RebaseOutcome(head, len(new), len(chosen) - len(new))
        move = Moved(branch, found.incarnation, found.head, head, "rebase", tuple(new), read_at=mint, turn=turn)
        return PreparedMove(msgspec.structs.replace(move, mint=least, origins=tuple(origins)))

    head = await land(repository, branch, prepare, actor=actor)
    return done._replace(head=head)


def _to_replay(look_up: LookUp, head: str, onto: str) -> list[str] | None:
    """Returns the commits to replay, oldest first, or None if they are already one line on top of `onto`."""
    own = set(only_left(look_up, head, onto))
    line: list[str] = []
    for id, _ in topological(look_up, head):
        if len(line) == len(own):
            break
        if id in own:
            line.append(id)
    expected = [(below,) for below in [*line, onto][1:]]
    if (line or head == onto) and [look_up(id).parents for id in line] == expected:
        return None
    return [id for id in reversed(line) if len(look_up(id).parents) < 2]


async def _replay_commits(
    repository: OpenRepository, look_up: LookUp, chosen: Sequence[str], since: tuple[str, str], mint: int, actor: Actor
) -> tuple[list[Commit], list[MoveOrigin], int]:
    """Returns the new commits, the origin of each, and the lowest mint of the files that no commit has named before, or
    0 if there are none."""
    new: list[Commit] = []
    origins: list[MoveOrigin] = []
    least = 0
    tip_id, tip = since[0], look_up(since[0])
    for id in chosen:
        commit = look_up(id)
        if not commit.parents:
            continue  # a first commit is empty
        before = look_up(commit.parents[0])
        joined = await _replay(repository, MoveBase(tip_id, tip, look_up, mint), id, commit, since)
        ref = joined.tree.ref
        if joined.new is not None:
            least = min(least or joined.new.mint, joined.new.mint)
        if ref.id == tip.tree and commit.tree != before.tree:
            continue
        tip = msgspec.structs.replace(
            commit,
            parents=(tip_id,),
            committer=actor.user,
            tree=ref.id,
            tree_file=ref.file,
            generation=tip.generation + 1,
        )
        tip_id = tip.id
        new.append(tip)
        origins.append(MoveOrigin(id, commit.parents[0]))
    return new, origins, least


async def _replay(
    repository: OpenRepository, on: MoveBase, id: str, commit: Commit, since: tuple[str, str]
) -> JoinResult:
    if repository.joins is not None:
        return await repository.joins.replay(on, commit.parents[0], id, since)
    before = on.look_up(commit.parents[0])
    sides = [await repository.tree(each) for each in (before, on.head, commit)]
    merged = await merge(repository.trees, *sides, mint=on.mint)
    if merged.tree is None:
        raise ReplayConflicts(id, commit, merged, partial(conflicts, repository.trees, *sides))
    return JoinResult(merged.tree)
