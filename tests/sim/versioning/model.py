"""The meaning of a repository, in dictionaries: the decided events, folded by what each request asked for, and nothing
else.

It knows no layers, no runs and no compaction. A branch is what its head holds, what a reader sees (puts, deletes and
head moves, in the order of the journal), and the writes that are staged. Every event that makes a commit is compared
with what that commit ought to hold; the code under test is never asked.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lochan.formats.commit import Commit
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    BranchRestored,
    Committed,
    Moved,
    Popped,
    RepositoryOpened,
    RunsStaged,
    Sealed,
    Staged,
    StashDropped,
    Stashed,
)
from lochan.formats.run import RunRef
from lochan.formats.workspace_events import WorkspaceDropped, WorkspaceOpened, WorkspaceStaged
from tests.sim.versioning import moves
from tests.sim.versioning.model_values import Branch, Broken, Content, Stash, Workspace, Write
from tests.sim.versioning.request import ClientRequest
from tests.sim.versioning.three_way import ancestors, changes, patched


class Model:
    def __init__(
        self, tree_of: Callable[[Commit], Content], run_of: Callable[[RunRef], Mapping[str, str | None]]
    ) -> None:
        self.branches: dict[str, Branch] = {}
        self.trees: dict[str, Content] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.stashes: dict[str, Stash] = {}
        self.workspaces: dict[str, Workspace] = {}
        self.files: list[ClientRequest] = []  # put, or being put, in workspaces
        self.committed: dict[str, str] = {}  # workspace -> commit
        self.opened: dict[str, str] = {}  # every workspace there ever was -> its branch
        self.history: list[dict[str, Branch]] = [{}]  # after record n
        self._deleted: dict[tuple[str, int], Branch] = {}
        self._seals: dict[tuple[str, int], frozenset[int]] = {}
        self._serial = 0
        self.tree_of = tree_of
        self._run_of = run_of

    def apply(self, event: Any, number: int, request: ClientRequest) -> None:
        """Raises Broken."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:  # what is not in the table changes nothing that anybody sees
            handler(self, event, number, request)

    def recorded(self) -> None:
        """A whole record was applied."""
        self.history.append(dict(self.branches))

    # --- staging -----------------------------------------------------------------------------------------------------
    def _opened(self, event: RepositoryOpened, number: int, request: ClientRequest) -> None:
        self._know(event.commit, {})
        self._put(Branch(event.default_branch, number, event.commit.id, {}))

    def _staged(self, event: Staged, number: int, request: ClientRequest) -> None:
        self._stage(event.branch, [*((e.path, e.checksum) for e in event.puts), *((p, None) for p in event.deletes)])

    def _runs_staged(self, event: RunsStaged, number: int, request: ClientRequest) -> None:
        self._stage(event.branch, [item for run in event.runs for item in self._run_of(run).items()])

    def _stage(self, name: str, told: Iterable[tuple[str, str | None]]) -> None:
        branch = self._branch(name)
        writes = [self._write(path, value) for path, value in told]
        self._put(replace(branch, view=_over(branch.view, writes), staged=(*branch.staged, *writes)))

    def _write(self, path: str, value: str | None) -> Write:
        self._serial += 1
        return Write(self._serial, path, value)

    # --- commits -----------------------------------------------------------------------------------------------------
    def _sealed(self, event: Sealed, number: int, request: ClientRequest) -> None:
        below = frozenset(write.serial for write in self._branch(event.branch).staged)
        self._seals.setdefault((event.branch, number), below)

    def _committed(self, event: Committed, number: int, request: ClientRequest) -> None:
        branch = self._branch(event.branch)
        below = self._seals.get((event.branch, event.seal))
        if below is None:
            raise Broken(f"COMMIT: {branch.name} was never sealed at {event.seal}")
        if event.seal <= request.since:
            raise Broken(f"COMMIT: what was staged before it was asked for may be above its seal {event.seal}")
        chosen = [w for w in branch.staged if w.serial in below and request.takes(w.path)]
        kept = tuple(w for w in branch.staged if w not in chosen)
        self._make(event.commit, branch, _over(self.trees[branch.head], chosen), "COMMIT")
        self._put(replace(branch, head=event.commit.id, staged=kept))
        if event.then is not None:
            self._land(event.then, self._branch(branch.name), request)

    def _moved(self, event: Moved, number: int, request: ClientRequest) -> None:
        branch = self._branch(event.branch)
        if event.discard:
            staged, view = (), self._tree(event.target)
            self._put(replace(branch, head=event.target, view=view, staged=staged))
            return
        if event.workspace:
            self._check_workspace(event, branch)
        if event.why == "rebase":
            self._rebase(event, branch, request)
            return
        if not event.commits:
            raise Broken(f"MOVE: {event.why} of {branch.name} brings no commit and discards nothing")
        self._land(event.commits[-1], branch, replace(request, workspace=event.workspace))
        if event.workspace:
            del self.workspaces[event.workspace]
            self.committed[event.workspace] = event.target

    def _land(self, commit: Commit, branch: Branch, request: ClientRequest) -> None:
        """A head move that was computed from trees: it must be right on this very head (S6), and leave staged changes
        alone (S5)."""
        ours = self.trees[branch.head]
        if (
            request.verb in ("merge", "revert", "cherry-pick")
            and dict(branch.view) != dict(ours)
            and not request.commits_first
        ):
            raise Broken(f"DIRTY: {request.verb} landed on uncommitted changes of {branch.name}")
        expected = moves.expected_trees(self, commit, branch, request)
        actual = self.tree_of(commit)
        if actual not in expected:
            raise Broken(f"{request.verb.upper()}: the commit holds {dict(actual)}, on that head it means {expected}")
        if commit.parents[:1] != (branch.head,):
            raise Broken(f"HISTORY: {request.verb} does not stand on the head of {branch.name}")
        self._know(commit, actual)
        self._go(branch, commit.id, request)

    def _rebase(self, event: Moved, branch: Branch, request: ClientRequest) -> None:
        """Replays what the branch has and `onto` does not. This is known only for a line without merges."""
        onto = event.commits[0].parents[0] if event.commits else event.target
        self.check_source(onto, request)
        if dict(branch.view) != dict(self.trees[branch.head]):
            raise Broken(f"DIRTY: rebase landed on uncommitted changes of {branch.name}")
        for commit in event.commits:
            self._know(commit, self.tree_of(commit))
        own = ancestors(self.parents, branch.head) - ancestors(self.parents, onto)
        if all(len(self.parents[id]) == 1 for id in own):
            expected = moves.replayed(self, sorted(own, key=lambda id: len(ancestors(self.parents, id))), onto)
            if expected != self._tree(event.target):
                raise Broken(f"REBASE: the branch holds {self.trees[event.target]}, it should hold {expected}")
        self._go(branch, event.target, request)

    def _go(self, branch: Branch, target: str, request: ClientRequest) -> None:
        """Moves to another head, with everything that is staged."""
        moved = changes(self.trees[branch.head], self.trees[target])
        for path in sorted(moved):
            if branch.view.get(path) != self.trees[branch.head].get(path):
                raise Broken(f"STAGED PATH: {request.verb} changed {path}, which is staged on {branch.name}")
        # What is left on these paths are deletes of what was not there; compaction may have dropped them by now.
        staged = tuple(write for write in branch.staged if write.path not in moved)
        self._put(replace(branch, head=target, view=patched(branch.view, moved), staged=staged))

    def check_source(self, theirs: str, request: ClientRequest) -> None:
        heads = {
            now[request.source].head for now in [*self.history[request.since :], self.branches] if request.source in now
        }
        if theirs not in heads:
            raise Broken(f"MERGE: {request.source} was never at {theirs[:8]} since the merge was asked for")

    def _make(self, commit: Commit, branch: Branch, expected: Content, what: str) -> None:
        actual = self.tree_of(commit)
        if dict(actual) != dict(expected):
            raise Broken(f"{what}: the commit of {branch.name} holds {dict(actual)}, it should hold {dict(expected)}")
        if commit.parents != (branch.head,):
            raise Broken(f"HISTORY: the commit does not stand on the head of {branch.name}")
        self._know(commit, actual)

    # --- stashes and workspaces --------------------------------------------------------------------------------------
    def _stashed(self, event: Stashed, number: int, request: ClientRequest) -> None:
        branch = self._branch(event.branch)
        id = next(id for at in range(1_000) if (id := f"{number}.{at}" if at else f"{number}") not in self.stashes)
        self.stashes[id] = Stash(branch.head, branch.staged)
        self._put(replace(branch, view=self.trees[branch.head], staged=()))

    def _popped(self, event: Popped, number: int, request: ClientRequest) -> None:
        branch, stash = self._branch(event.branch), self.stashes.pop(event.stash, None)
        if stash is None:
            raise Broken(f"POPPED: there is no stash {event.stash}")
        head = self.trees[branch.head]
        if dict(branch.view) != dict(head):
            raise Broken(f"DIRTY: a stash was popped on uncommitted changes of {branch.name}")
        changed = changes(self.trees[stash.head], head)
        for write in stash.staged:
            if write.path in changed and write.path in changes(head, _over(head, stash.staged)):
                raise Broken(f"POPPED: {write.path} was changed on {branch.name} since it was stashed")
        self._put(replace(branch, view=_over(head, stash.staged), staged=stash.staged))

    def _stash_dropped(self, event: StashDropped, number: int, request: ClientRequest) -> None:
        if self.stashes.pop(event.stash, None) is None:
            raise Broken(f"DROPPED: there is no stash {event.stash}")

    def _workspace_opened(self, event: WorkspaceOpened, number: int, request: ClientRequest) -> None:
        branch = self._branch(event.branch)
        id = f"{number}-{event.tail}"
        self.opened[id] = branch.name
        self.workspaces[id] = Workspace(branch.name, branch.incarnation, branch.head, {})

    def _workspace_staged(self, event: WorkspaceStaged, number: int, request: ClientRequest) -> None:
        workspace = self._workspace(event.workspace)
        told = {**{entry.path: entry.checksum for entry in event.puts}, **dict.fromkeys(event.deletes)}
        self.workspaces[event.workspace] = replace(workspace, changed={**workspace.changed, **told})

    def _workspace_dropped(self, event: WorkspaceDropped, number: int, request: ClientRequest) -> None:
        self._workspace(event.workspace)
        del self.workspaces[event.workspace]

    def _check_workspace(self, event: Moved, branch: Branch) -> None:
        workspace = self._workspace(event.workspace)
        if (workspace.branch, workspace.incarnation) != (branch.name, branch.incarnation):
            raise Broken(f"WORKSPACE: {event.workspace} was not opened on this {branch.name}")

    def _workspace(self, id: str) -> Workspace:
        found = self.workspaces.get(id)
        if found is None:
            raise Broken(f"WORKSPACE: {id} is not open")
        return found

    # --- refs --------------------------------------------------------------------------------------------------------
    def _created(self, event: BranchCreated, number: int, request: ClientRequest) -> None:
        self._check_free(event.name)
        self._put(Branch(event.name, number, event.commit, self._tree(event.commit)))

    def _dropped(self, event: BranchDeleted, number: int, request: ClientRequest) -> None:
        branch = self.branches.pop(event.name, None)
        if branch is None or branch.incarnation != event.incarnation:
            raise Broken(f"DELETED: there is no branch {event.name} made at {event.incarnation}")
        self._deleted[branch.name, branch.incarnation] = branch

    def _restored(self, event: BranchRestored, number: int, request: ClientRequest) -> None:
        self._check_free(event.name)
        branch = self._deleted.pop((event.name, event.incarnation), None)
        if branch is None:
            raise Broken(f"RESTORED: {event.name} made at {event.incarnation} is not among the deleted")
        self._put(replace(branch, incarnation=number))

    def _renamed(self, event: BranchRenamed, number: int, request: ClientRequest) -> None:
        self._check_free(event.to)
        branch = self.branches.pop(event.name)
        self._put(replace(branch, name=event.to, incarnation=number))

    def _check_free(self, name: str) -> None:
        if name in self.branches:
            raise Broken(f"TWICE: there is a branch {name} already")

    def _branch(self, name: str) -> Branch:
        found = self.branches.get(name)
        if found is None:
            raise Broken(f"NOWHERE: there is no branch {name}")
        return found

    def _tree(self, id: str) -> Content:
        if id not in self.trees:
            raise Broken(f"NOWHERE: there is no commit {id}")
        return self.trees[id]

    def _put(self, branch: Branch) -> None:
        self.branches[branch.name] = branch

    def _know(self, commit: Commit, holds: Content) -> None:
        self.trees[commit.id] = dict(holds)
        self.parents[commit.id] = commit.parents


def _over(content: Content, writes: Iterable[Write]) -> dict[str, str]:
    return patched(content, {write.path: write.value for write in writes})


_HANDLERS: dict[type, Callable[[Model, Any, int, ClientRequest], None]] = {
    RepositoryOpened: Model._opened,
    Staged: Model._staged,
    RunsStaged: Model._runs_staged,
    Sealed: Model._sealed,
    Committed: Model._committed,
    Moved: Model._moved,
    BranchCreated: Model._created,
    BranchDeleted: Model._dropped,
    BranchRestored: Model._restored,
    BranchRenamed: Model._renamed,
    Stashed: Model._stashed,
    Popped: Model._popped,
    StashDropped: Model._stash_dropped,
    WorkspaceOpened: Model._workspace_opened,
    WorkspaceStaged: Model._workspace_staged,
    WorkspaceDropped: Model._workspace_dropped,
}
