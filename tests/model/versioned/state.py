"""The state of a repository in the model: dictionaries that each request maps to new ones.

Commits are named by their content (message, parents, files), so that states can be compared with what was read from a
lake, whose ids nobody can predict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

Files = Mapping[str, str]
Changes = Mapping[str, str | None]  # None: deleted


NOTHING: Mapping[str, str] = {}


class No(Exception):
    """The lake is to refuse, and to say so by this kind of error."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Commit(NamedTuple):
    message: str
    parents: tuple[str, ...]
    files: Files

    @property
    def id(self) -> str:
        return sha256(repr((self.message, self.parents, sorted(self.files.items()))).encode()).hexdigest()


class Branch(NamedTuple):
    head: str
    staged: Changes = NOTHING


class Stash(NamedTuple):
    branch: str
    head: str
    staged: Changes
    message: str


class Workspace(NamedTuple):
    note: str  # by which it is known
    branch: str
    is_stale: bool  # its branch is gone, whatever has its name now
    fork: str
    changes: Changes = NOTHING  # files and what is staged: which of the two a put becomes makes no difference


@dataclass(frozen=True)
class State:
    commits: Mapping[str, Commit]
    branches: Mapping[str, Branch]
    tags: Mapping[str, str] = field(default_factory=dict)
    deleted: Mapping[str, tuple[Branch, ...]] = field(default_factory=dict)  # the last one last
    stashes: tuple[Stash, ...] = ()  # the newest last
    workspaces: tuple[Workspace, ...] = ()  # the open ones, the newest last
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # pattern -> what is blocked
    read_only: bool = False

    # --- reads -----------------------------------------------------------------------------------------------------
    def branch(self, name: str) -> Branch:
        if name not in self.branches:
            raise No("not-found")
        return self.branches[name]

    def resolve(self, ref: str) -> str:
        """`main`, `main@`, `v1~2`: the commit."""
        name, _, back = ref.removesuffix("@").partition("~")
        id = self.branches[name].head if name in self.branches else self.tags.get(name)
        if id is None:
            raise No("not-found")
        for _ in range(int(back or 0)):
            if not self.commits[id].parents:
                raise No("not-found")
            id = self.commits[id].parents[0]
        return id

    def files(self, id: str) -> Files:
        return self.commits[id].files

    def view(self, ref: str) -> Files:
        """What a reader of the ref sees."""
        files = self.files(self.resolve(ref))
        return applied(files, self.branches[ref].staged) if ref in self.branches else files

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        return {id: commit.parents for id, commit in self.commits.items()}

    @cached_property
    def trees(self) -> dict[str, Files]:
        return {id: commit.files for id, commit in self.commits.items()}

    # --- changing ----------------------------------------------------------------------------------------------------
    def check_writable(self) -> None:
        if self.read_only:
            raise No("read-only")

    def with_branch(self, name: str, branch: Branch) -> "State":
        return replace(self, branches={**self.branches, name: branch})

    def without_branch(self, name: str) -> "State":
        return replace(
            self,
            branches={key: each for key, each in self.branches.items() if key != name},
            workspaces=tuple(each._replace(is_stale=each.is_stale or each.branch == name) for each in self.workspaces),
        )

    def with_workspace(self, workspace: Workspace) -> "State":
        """Replaces the workspace, or adds it as the newest."""
        if all(each.note != workspace.note for each in self.workspaces):
            return replace(self, workspaces=(*self.workspaces, workspace))
        changed = tuple(workspace if each.note == workspace.note else each for each in self.workspaces)
        return replace(self, workspaces=changed)

    def without_workspace(self, note: str) -> "State":
        return replace(self, workspaces=tuple(each for each in self.workspaces if each.note != note))

    def with_staged(self, name: str, changes: Changes) -> "State":
        branch = self.branch(name)
        return self.with_branch(name, branch._replace(staged={**branch.staged, **changes}))

    def with_commit(self, commit: Commit) -> "State":
        return replace(self, commits={**self.commits, commit.id: commit})

    def without_idle(self, name: str) -> "State":
        """Compaction drops tombstones over nothing, which no reader can see."""
        if name not in self.branches:
            return self
        branch = self.branches[name]
        return self.with_branch(name, branch._replace(staged=without_idle(self.files(branch.head), branch.staged)))


def applied(files: Files, changes: Changes) -> Files:
    both = {**files, **changes}
    return {path: data for path, data in both.items() if data is not None}


def without_idle(files: Files, staged: Changes) -> Changes:
    return {path: data for path, data in staged.items() if data is not None or path in files}


def same(expected: State, seen: State) -> bool:
    """Tombstones over nothing may be missing; everything else is equal. What no ref leads to is ignored."""
    return (
        (expected.tags, expected.rules, expected.read_only) == (seen.tags, seen.rules, seen.read_only)
        and expected.branches.keys() == seen.branches.keys()
        and all(_alike(expected, branch, seen.branches[name]) for name, branch in expected.branches.items())
        and _kept(expected) == _kept(seen)
    )


def _alike(state: State, expected: Branch, seen: Branch) -> bool:
    if expected.head != seen.head:
        return False
    files = state.files(expected.head)
    return seen.staged.items() <= expected.staged.items() and without_idle(files, expected.staged) == without_idle(
        files, seen.staged
    )


def _kept(state: State) -> tuple[object, ...]:
    """Stashes and deleted branches, compared without tombstones over nothing, because they may have been compacted."""
    deleted = {
        name: [(each.head, without_idle(state.files(each.head), each.staged)) for each in branches]
        for name, branches in state.deleted.items()
        if branches
    }
    stashes = [each._replace(staged=without_idle(state.files(each.head), each.staged)) for each in state.stashes]
    return deleted, stashes, state.workspaces


class Result(NamedTuple):
    """A possible effect of a request."""

    state: State
    value: object = ""


def guard(state: State, branch: str, action: str) -> None:
    if any(action in blocked and fnmatchcase(branch, pattern) for pattern, blocked in state.rules.items()):
        raise No("protected")
