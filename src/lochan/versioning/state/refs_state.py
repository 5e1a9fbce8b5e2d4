"""The state of a repository's refs: branches with their staging, tags, the commits they name, and everything else its
journal folds to. This module has the reads of the state, and the steps that several events share."""

from collections.abc import Callable, Iterable
from typing import ClassVar

import msgspec

from lochan.errors import AlreadyExists, ConcurrentCommit, Conflict, Gone, Invalid, NotFound
from lochan.formats.commit import Commit
from lochan.formats.run import RunRef
from lochan.journal.state import EventPosition
from lochan.journal.table import FoldTable, FoldTables
from lochan.staging.layers import Layers
from lochan.versioning.name_filter import ALL_NAMES, NameFilter
from lochan.versioning.repositories import FILES
from lochan.versioning.state.branch import AGAIN, BranchState, RecordNames, Stashes, moved_underneath, record_of
from lochan.versioning.state.collection import Collection
from lochan.versioning.state.commits import Commits
from lochan.versioning.state.guard import Guard
from lochan.versioning.state.pulls import Pulls
from lochan.versioning.state.reflog import RefLog
from lochan.versioning.state.rules import RULES, RefsRules
from lochan.versioning.state.uploads import Uploads
from lochan.versioning.state.workspaces import Workspaces

_BRANCH = "branch "  # a name for `RecordNames`


class NotYourTurn(ConcurrentCommit):
    """Other requests have waited longer to move this branch."""


class Busy(Conflict):
    """The maximum number of commits of this branch is under way."""


class RefsState(FoldTables):
    rules: ClassVar[RefsRules] = RULES

    def __init__(self) -> None:
        self.commit_table = Commits()
        self.branch_table: FoldTable[str, BranchState] = FoldTable()
        self.tag_table: FoldTable[str, str] = FoldTable()
        self.deleted_table: FoldTable[tuple[str, int], BranchState] = FoldTable()
        self.reflog = RefLog()
        self.guard = Guard()
        self.collection = Collection()
        self.stashes = Stashes()
        self.workspaces = Workspaces()
        self.uploads = Uploads()
        self.pulls = Pulls()
        self.record_names = RecordNames()
        self.kind_table: FoldTable[str, str] = FoldTable()  # the kind of the repository, under an empty name
        self.brought_table: FoldTable[str, bool] = (
            FoldTable()
        )  # commits of a pool that may hold objects of other histories

        self.input_table: FoldTable[str, tuple[RunRef, ...]] = FoldTable()  # by the commit made from these runs

    # --- reading -----------------------------------------------------------------------------------------------------
    def commit(self, id: str) -> Commit:
        """Returns the commit. Raises NotFound, and Gone if it has expired."""
        found = self.recorded(id)
        self.check_live(found)
        return found

    def recorded(self, id: str) -> Commit:
        """Returns the commit, expired or not, for walks through the history. Raises NotFound."""
        found = self.commit_table.get(id)
        if found is None:
            raise NotFound(f"no commit {id}")
        return found

    def live_parents(self, commit: Commit, *, first_parent: bool = False) -> list[Commit]:
        """Returns the commit's parents. An expired parent is replaced by its nearest ancestors that have not
        expired."""
        found: dict[str, Commit] = {}
        queue = [*reversed(commit.parents[:1] if first_parent else commit.parents)]
        seen: set[str] = set()
        while queue:
            id = queue.pop()
            parent = self.recorded(id)
            if not self.collection.has_expired(id):
                found[id] = parent
            elif id not in seen:
                seen.add(id)
                queue += reversed(parent.parents[:1] if first_parent else parent.parents)
        return list(found.values())

    def check_live(self, commit: Commit) -> None:
        """Raises Gone if the commit has expired, because its files may be gone. A commit that no event has recorded
        yet, such as that of staged changes, has not expired."""
        if self.collection.any_expired and self.collection.has_expired(commit.id):
            raise Gone(f"commit {commit.id[:12]} has expired", hint="its objects are no longer kept")

    def branch(self, name: str) -> BranchState:
        found = self.branch_table.get(name)
        if found is None:
            hint = "`lochan branch list REPO` shows those there are"
            raise NotFound(f"no branch {name!r}", hint=hint).named(name, self.branch_names)
        return found

    def find_branch(self, name: str) -> BranchState | None:
        return self.branch_table.get(name)

    def find_tag(self, name: str) -> str | None:
        return self.tag_table.get(name)

    def tag(self, name: str) -> str:
        """Returns the id of the tag's commit. Raises NotFound."""
        found = self.tag_table.get(name)
        if found is None:
            hint = "`lochan tag list REPO` shows those there are"
            raise NotFound(f"no tag {name!r}", hint=hint).named(name, self.tag_names)
        return found

    def branches(self, wanted: NameFilter = ALL_NAMES) -> list[BranchState]:
        """Returns the branches with such names, in order; hidden ones too."""
        found = (each for name, each in self.branch_table.items() if wanted.fits(name))
        return sorted(found, key=lambda each: each.name.encode())

    def shown_branches(self, wanted: NameFilter = ALL_NAMES) -> list[BranchState]:
        """Returns those of `branches` that are not hidden."""
        return [each for each in self.branches(wanted) if not each.hidden]

    @property
    def has_hidden(self) -> bool:
        """Returns whether a branch is hidden, or a deleted one that can be restored."""
        return any(each.hidden for table in (self.branch_table, self.deleted_table) for _, each in table.items())

    def tags(self, wanted: NameFilter = ALL_NAMES) -> list[tuple[str, str]]:
        """Returns the tags with such names, in order."""
        return sorted(each for each in self.tag_table.items() if wanted.fits(each[0]))

    @property
    def is_bare(self) -> bool:
        """Returns whether there is no branch and no tag."""
        return not any(True for table in (self.branch_table, self.tag_table) for _ in table.items())

    def names(self) -> list[str]:
        """Returns the names of all branches and tags."""
        return [*self.branch_names(), *self.tag_names()]

    def branch_names(self) -> list[str]:
        return [name for name, _ in self.branch_table.items()]

    def tag_names(self) -> list[str]:
        return [name for name, _ in self.tag_table.items()]

    def deleted_names(self) -> list[str]:
        """Returns the names of branches that can be restored."""
        return [name for (name, _), _ in self.deleted_table.items()]

    def deleted(self, name: str) -> list[BranchState]:
        """Returns the deleted branches of that name that can be restored, the last one first."""
        found = (branch for (of, _), branch in self.deleted_table.items() if of == name)
        return sorted(found, key=lambda b: (record_of(b.incarnation), b.incarnation), reverse=True)

    @property
    def kind(self) -> str:
        return self.kind_table.get("") or FILES

    def has_brought(self, id: str) -> bool:
        """Returns, for a pool's commit, whether it was made from commits that are not its parents, and may hold their
        objects. All other commits hold only objects of their parents and new ones."""
        return id in self.brought_table

    def commits_with(self, prefix: str) -> list[str]:
        return self.commit_table.with_prefix(prefix)

    # --- steps that several events share -----------------------------------------------------------------------------
    def stage(self, name: str, change: Callable[[Layers], Layers]) -> None:
        branch = self.branch(name)
        self.branch_table.put(name, msgspec.structs.replace(branch, layers=change(branch.layers)))

    def move(self, branch: BranchState, head: str, layers: Layers, at: EventPosition) -> None:
        """Moves the head. Any head move, reset, restore, stash push or pop removes the branch's seals (S1)."""
        layers = layers.unsealed() if self.rules.head_moves_remove_seals() else layers
        self.point(msgspec.structs.replace(branch, head=head, layers=layers), at)

    def point(self, branch: BranchState, at: EventPosition) -> None:
        before = self.branch_table.get(branch.name)
        self.branch_table.put(branch.name, branch)
        if before is None or before.head != branch.head:
            self.reflog.moved(branch.name, at.time, branch.head)

    def branch_of(self, name: str, incarnation: int) -> BranchState:
        branch = self.branch(name)
        if branch.incarnation != incarnation:
            raise moved_underneath(branch.name)
        return branch

    def next_incarnation(self, name: str, at: EventPosition) -> int:
        before = self.record_names.count(f"{_BRANCH}{name}", at.number)
        return at.number + AGAIN * before if at.version > 1 else at.number

    def check_turn(self, branch: BranchState, request: str) -> None:
        if branch.turns and not branch.is_front(request) and self.rules.turns_are_kept():
            raise NotYourTurn(f"others wait to move branch {branch.name!r}", hint="try again in a moment")

    def add_commits(self, commits: Iterable[Commit]) -> None:
        """Adds new commits. The parents of each must be there before it. Raises before anything is changed."""
        new: dict[str, Commit] = {}
        for commit in commits:
            known = [new.get(parent) or self.commit(parent) for parent in commit.parents]
            if commit.generation != 1 + max((parent.generation for parent in known), default=-1):
                raise Invalid("the commit's generation does not follow from its parents'")
            new[commit.id] = commit
        for id, commit in new.items():
            self.commit_table.put(id, commit)

    def keep_inputs(self, commit: str, committed: Layers) -> None:
        """Keeps the runs that alone hold some of the changes: the commit's tree can be made again from them, so they
        are kept as long as the commit."""
        runs = tuple(run for run in committed.runs if run.primary)
        if runs:
            self.input_table.put(commit, runs)

    def check_free(self, name: str) -> None:
        if name in self.branch_table:
            raise AlreadyExists(f"there is a branch {name!r} already")
        if name in self.tag_table:
            raise AlreadyExists(f"there is a tag {name!r} already")
