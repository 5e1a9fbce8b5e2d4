"""Commits that were made in another system become commits here, with the same parents, author, time and message. They
land on a branch in groups:

    a ─ b ─┬─ m      a, b, c and m are landed together, by one event, since b alone or c alone would be named by no
      ╲    │         branch once the other has landed. In a line every commit is a group of its own.
        c ─┘"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.tree.tree import Tree
from lochan.versioning.heads.commit import commit_record
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.open_repository import OpenRepository


class ForeignCommit(NamedTuple):
    id: str  # its id in the other system
    parents: tuple[str, ...]  # the ids of its parents there; the changes are those against the first
    text: CommitMessage


class ForeignChanges(Protocol):
    def __call__(self, commit: ForeignCommit, parents: Sequence[Tree], mint: int) -> AsyncIterator[pa.Table]:
        """Yields the changes of the commit against its first parent (RUN_SCHEMA, in path order, no table empty). It
        gets the trees of all its parents here. Files that it writes carry the mint. It may be called again."""


async def land_group(
    repository: OpenRepository,
    branch: str,
    group: Sequence[ForeignCommit],
    known: Mapping[str, str],
    changes: ForeignChanges,
    *,
    actor: Actor,
) -> dict[str, str]:
    """Lands a group. Returns the ids here by those in the other system. `known` are those that landed before. REQUIRES:
    parents come before their children, and all but the last have a child in the group. Raises Gone if a garbage
    collection has overtaken it."""
    made: dict[str, str] = {}

    async def prepare(turn: str) -> PreparedMove:
        refs, mint = await repository.refs()
        found = refs.branch(branch)
        made.clear()
        records: dict[str, Commit] = {}

        def record(id: str) -> Commit:
            return records[id] if id in records else refs.recorded(id)

        for each in group:
            ids = [made.get(parent) or known[parent] for parent in each.parents]
            parents = {id: record(id) for id in ids}
            trees = [await repository.tree(parent) for parent in parents.values()]
            tree = await repository.trees.apply(trees[0], changes(each, trees, mint), mint)
            commit = commit_record(tree, parents, each.text, actor, repository.clock.wall(), traced=False)
            records[commit.id], made[each.id] = commit, commit.id
        moved = Moved(
            branch,
            found.incarnation,
            found.head,
            made[group[-1].id],
            "import",
            tuple(records.values()),
            read_at=mint,
            turn=turn,
            mint=mint,
        )
        return PreparedMove(moved)

    await land(repository, branch, prepare, actor=actor)
    return made


def groups(order: Sequence[ForeignCommit], head: str) -> list[list[ForeignCommit]]:
    """Cuts a history, parents before children, into groups. After each of them the last commit has all the others and
    `head`, where the branch stood before, among its ancestors."""
    tips, found = {head}, []
    group: list[ForeignCommit] = []
    for commit in order:
        tips.difference_update(commit.parents)
        tips.add(commit.id)
        group.append(commit)
        if len(tips) == 1:
            found.append(group)
            group = []
    if group:  # the head itself is the last commit, so only a head that is no ancestor of it is left over
        found.append(group)
    return found
