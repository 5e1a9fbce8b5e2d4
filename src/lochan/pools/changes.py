"""The changes of each commit of a pool against its first parent: objects that were added, and objects that were
removed.

    only added       their rows are new; so are rows that a merge brings to the branch that it goes to
    only removed     their rows are gone
    both             the rows were rewritten: the objects do not tell which of them are other rows
    a compaction     both, and its commit states that the rows are the same (`SAME_ROWS`)"""

from __future__ import annotations

from contextlib import aclosing
from enum import StrEnum
from typing import NamedTuple

from lochan.errors import Gone, Refused
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.pools.commit_objects import SAME_ROWS, row_count
from lochan.tree.diff import Difference, diff, differences_of
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import LookUp


class ChangeKind(StrEnum):
    NONE = "no change"
    APPEND = "append"
    DELETE = "delete"
    REWRITE = "rewrite"


class CommitChange(NamedTuple):
    id: str
    commit: Commit
    removed: tuple[Entry, ...] = ()
    added: tuple[Entry, ...] = ()

    @property
    def kind(self) -> ChangeKind:
        if not self.removed:
            return ChangeKind.APPEND if self.added else ChangeKind.NONE
        if self.keeps_rows:
            return ChangeKind.NONE
        return ChangeKind.REWRITE if self.added else ChangeKind.DELETE

    @property
    def keeps_rows(self) -> bool:
        """Returns whether the commit states that it keeps the rows of this very parent, and the numbers of rows
        agree."""
        marked = self.commit.metadata.get(SAME_ROWS) in self.commit.parents[:1]
        return marked and row_count(self.removed) == row_count(self.added)

    @property
    def size_bytes(self) -> int:
        return sum(entry.size for entry in self.added)

    def __str__(self) -> str:
        title = self.commit.message.partition("\n")[0]
        return f"commit {self.id[:12]} ({title})"


class LeftLine(Refused):
    """A commit is not on the line of another, by first parents."""


def line(look_up: LookUp, start: str, end: str) -> list[str]:
    """Returns the commits after `start` up to `end`, oldest first, by first parents. Raises LeftLine."""
    lowest = look_up(start).generation
    found: list[str] = []
    at = end
    while at != start:
        commit = look_up(at)
        if commit.generation <= lowest or not commit.parents:
            raise LeftLine(f"commit {start[:12]} is not on the line of commit {end[:12]}")
        found.append(at)
        at = commit.parents[0]
    return found[::-1]


async def change_of(repository: OpenRepository, id: str) -> CommitChange:
    """Returns the changes of a commit. Raises Gone if the commit or its parent has expired."""
    refs = repository.folded()
    commit = refs.recorded(id)
    if not commit.parents or commit.tree == refs.recorded(commit.parents[0]).tree:  # a first commit is empty
        return CommitChange(id, commit)
    try:
        left, right = [await repository.tree(refs.commit(each)) for each in (commit.parents[0], id)]
    except Gone as error:
        raise Gone(f"what commit {id[:12]} changed is no longer known: {error.message}", hint=error.hint) from error
    removed: list[Entry] = []
    added: list[Entry] = []
    async with aclosing(diff(repository.trees, left, right)) as tables:
        async for table in tables:
            for each in filter(_other_bytes, differences_of(table)):
                removed += [] if each.left is None else [each.left]
                added += [] if each.right is None else [each.right]
    return CommitChange(id, commit, tuple(removed), tuple(added))


def _other_bytes(each: Difference) -> bool:
    """Returns False if only a note in the metadata differs."""
    if each.left is None or each.right is None:
        return True
    one, other = ([(block.sha256, block.size) for block in side.blocks] for side in (each.left, each.right))
    return one != other
