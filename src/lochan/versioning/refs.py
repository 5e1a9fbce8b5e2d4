"""A repository's refs: branches with their staging, tags, and the commits they name: what its journal folds to.

Every rule of the form "valid only while …" is a test here, made by the writer before the append and again by whoever
folds the record. What needs the store to be read (does this head move touch a staged path?) is the writer's alone.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import msgspec

from lochan.errors import AlreadyExists, ConcurrentCommit, Conflict, Gone, Invalid, NotFound, NothingToDo, Refused
from lochan.formats.collection_events import Abandoned, Aliased, Expired, Opened, PlanEnded, Planned
from lochan.formats.commit import Commit
from lochan.formats.entry import Change, Tombstone
from lochan.formats.events import Event
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    BranchRestored,
    Committed,
    Compacted,
    Moved,
    Popped,
    ProtectionSet,
    ReadOnlySet,
    RepositoryOpened,
    RunsStaged,
    Sealed,
    Staged,
    StashDropped,
    Stashed,
    TagCreated,
    TagDeleted,
    Turned,
    TurnOver,
)
from lochan.formats.upload_events import PartPut, UploadAborted, UploadOpened
from lochan.formats.workspace_events import (
    WorkspaceAdded,
    WorkspaceDropped,
    WorkspaceOpened,
    WorkspaceReverted,
    WorkspaceSealed,
    WorkspaceStaged,
)
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import Table
from lochan.staging.layers import Inputs, Layers
from lochan.versioning.commits import Columns, Commits
from lochan.versioning.reflog import Moves, RefLog
from lochan.versioning.repositories import FILES, POOL
from lochan.versioning.rules import RULES, Rules
from lochan.versioning.state.branch import Branch, DumpedBranch, Turn, dirty, loaded, moved_underneath
from lochan.versioning.state.collection import LINK, Collection, DumpedCollection, mint_of
from lochan.versioning.state.guard import COMMIT, REWRITE, STAGE, DumpedGuard, Guard
from lochan.versioning.state.record_names import AGAIN, RecordNames, record_of
from lochan.versioning.state.stashes import DumpedStash, Stash, Stashes, stash_id
from lochan.versioning.state.uploads import KeptUpload, Uploads
from lochan.versioning.state.workspaces import DROPPED, DumpedWorkspaces, Workspace, Workspaces

SEALS_MAX = 8  # a ninth commit of one branch waits: to evict the oldest would let them evict each other for ever
CLEAN = ("merge", "revert", "cherry-pick", "rebase")  # refused on a branch with anything staged (S5)
_COMMITS = ("import", "ingest", "workspace", "load", "delete")  # a compaction changes no row
_BRANCH, _STASH = "branch ", "stash"  # what a record can make twice
_BLOCKED = {"reset": REWRITE, "rebase": REWRITE} | dict.fromkeys(_COMMITS, COMMIT)


class NotYourTurn(ConcurrentCommit):
    """Others wait to move this branch, and were there before."""


class Busy(Conflict):
    """As many commits of this branch are under way as there may be."""


class Refs(StatePart):
    name: ClassVar[str] = "refs"
    rules: ClassVar[Rules] = RULES

    def __init__(self) -> None:
        self._commits = Commits()
        self._branches: Table[str, Branch] = Table()
        self._tags: Table[str, str] = Table()
        self._deleted: Table[tuple[str, int], Branch] = Table()
        self.reflog = RefLog()
        self.guard = Guard()
        self.collection = Collection()
        self.stashes = Stashes()
        self.workspaces = Workspaces()
        self.uploads = Uploads()
        self._made = RecordNames()
        self._kind: Table[str, str] = Table()  # of the repository, under no name
        self._brought: Table[str, bool] = Table()  # of a pool: commits that may hold what other histories hold

    # --- reading -----------------------------------------------------------------------------------------------------
    def commit(self, id: str) -> Commit:
        """Raises NotFound, and Gone for one that has expired."""
        found = self.recorded(id)
        if self.collection.has_expired(id):
            raise Gone(f"commit {id[:12]} has expired", hint="its objects are no longer kept")
        return found

    def recorded(self, id: str) -> Commit:
        """What is known of it, expired or not: for who walks through history. Raises NotFound."""
        found = self._commits.get(id)
        if found is None:
            raise NotFound(f"no commit {id}")
        return found

    def branch(self, name: str) -> Branch:
        found = self._branches.get(name)
        if found is None:
            hint = "`lochan branch list REPO` shows those there are"
            raise NotFound(f"no branch {name!r}", hint=hint).named(name, self._branch_names)
        return found

    def find_branch(self, name: str) -> Branch | None:
        return self._branches.get(name)

    def find_tag(self, name: str) -> str | None:
        return self._tags.get(name)

    def branches(self) -> list[Branch]:
        return sorted((branch for _, branch in self._branches.items()), key=lambda b: b.name.encode())

    def tags(self) -> list[tuple[str, str]]:
        return sorted(self._tags.items())

    def names(self) -> list[str]:
        """Of all branches and tags."""
        return [*self._branch_names(), *self._tag_names()]

    def _branch_names(self) -> list[str]:
        return [name for name, _ in self._branches.items()]

    def _tag_names(self) -> list[str]:
        return [name for name, _ in self._tags.items()]

    def deleted_names(self) -> list[str]:
        """Of branches that can be restored."""
        return [name for (name, _), _ in self._deleted.items()]

    def deleted(self, name: str) -> list[Branch]:
        """Deleted branches of that name that can be restored, the last one first."""
        found = (branch for (of, _), branch in self._deleted.items() if of == name)
        return sorted(found, key=lambda b: (record_of(b.incarnation), b.incarnation), reverse=True)

    @property
    def kind(self) -> str:
        return self._kind.get("") or FILES

    def has_brought(self, id: str) -> bool:
        """Of a pool's commit: whether it was made from commits that are not its parents, and so may hold their objects.
        All others hold what their parents hold, and new objects."""
        return id in self._brought

    def commits_with(self, prefix: str) -> list[str]:
        return self._commits.with_prefix(prefix)

    # --- folding -----------------------------------------------------------------------------------------------------
    def apply(self, event: Any, at: EventPosition) -> Any:
        kind = type(event)
        if kind not in _WHILE_READ_ONLY:
            self.guard.check_writable()
        if self.kind == POOL and _stages(event) and self.rules.pools_have_no_staging():
            raise no_staging()
        result = _HANDLERS[kind](self, event, at)
        self.collection.saw(at.number)
        return result

    def _opened(self, event: RepositoryOpened, at: EventPosition) -> str:
        if any(True for _ in self._branches.items()):
            raise AlreadyExists("this repository was opened before")
        id = event.commit.id
        self._kind.put("", event.kind)
        self._commits.put(id, event.commit)
        self._point(Branch(event.default_branch, at.number, id), at)
        return id

    # --- staging
    def _staged(self, event: Staged, at: EventPosition) -> int:
        changes: tuple[Change, ...] = event.puts
        if event.deletes or len(changes) != 1:  # nearly always it is one put
            changes = (*changes, *map(Tombstone, event.deletes))
            if len({change.path for change in changes}) != len(changes):
                raise Invalid("a path stands twice in one request")
        if event.closes:
            self.collection.check_closes(event.closes)
        self.collection.check_entries(self.rules, event.puts, event.read_at, event.checked, len(event.closes))
        self.guard.check(event.branch, STAGE)
        if event.completes:
            self.uploads.get(event.completes)
        branch = self.branch(event.branch)
        self._branches.put(branch.name, msgspec.structs.replace(branch, layers=branch.layers.put(*changes)))
        if event.closes or event.completes:
            self._ended(event)
        return at.number

    def _ended(self, event: Staged | WorkspaceStaged) -> None:
        self.collection.close(event.closes)
        if event.completes:
            self.uploads.close(event.completes)

    def _runs_staged(self, event: RunsStaged, at: EventPosition) -> int:
        self.collection.check_closes(event.closes)
        self.collection.check_runs(self.rules, event.runs)
        if event.read_at:
            self.collection.check_derived(self.rules, event.read_at, event.checked)
        elif not event.closes:
            self.collection.check_first(self.rules, (event.mint,))
        self.guard.check(event.branch, STAGE)
        self._stage(event.branch, lambda layers: layers.append(*event.runs))
        self.collection.close(event.closes)
        return at.number

    def _compacted(self, event: Compacted, at: EventPosition) -> None:
        branch = self.branch(event.branch)
        strict = self.rules.compaction_needs_its_inputs()
        if strict and branch.incarnation != event.incarnation:
            raise Refused(f"branch {branch.name!r} is not the one whose staging was compacted")
        if event.head and branch.head != event.head and self.rules.dropped_tombstones_need_the_head():
            raise Refused(f"branch {branch.name!r} is not as it was when its staging was compacted")
        self.collection.check_runs(self.rules, event.outputs)
        if event.over is not None:  # its tree shares ranges with the head's
            self.collection.check_derived(self.rules, event.read_at, event.checked)
        inputs = Inputs(event.spans, event.runs)
        self._stage(event.branch, lambda layers: layers.compacted(inputs, event.outputs, event.over))

    # --- head moves
    def _sealed(self, event: Sealed, at: EventPosition) -> int:
        branch = self.branch(event.branch)
        self.guard.check(branch.name, COMMIT)
        if at.number in branch.layers.seals:
            return at.number  # two commits began in one record: they share the seal, and one of them will land
        if len(branch.layers.seals) >= SEALS_MAX and not branch.is_front(event.turn):
            raise Busy(f"{SEALS_MAX} commits of branch {branch.name!r} are under way", hint="try again in a moment")
        self._stage(event.branch, lambda layers: layers.seal(at.number))
        return at.number

    def _committed(self, event: Committed, at: EventPosition) -> str:
        branch = self.branch(event.branch)
        self.guard.check(branch.name, COMMIT)
        sealed = event.seal in branch.layers.seals
        follows = event.commit.parents[:1] == (branch.head,)
        if not sealed and (self.rules.committed_needs_its_seal() or not follows):
            raise moved_underneath(branch.name)
        if not follows:
            raise Invalid("the commit's first parent is not the head")
        self._check_turn(branch, event.turn)
        self.collection.check_derived(self.rules, event.read_at, event.checked)
        self.collection.check_runs(self.rules, event.leftovers)
        if event.then is not None and event.then.parents[:1] != (event.commit.id,):
            raise Invalid("what comes then does not follow the commit")
        last = event.then or event.commit
        self._add((event.commit, event.then) if event.then else (event.commit,))
        layers = self._without(branch.layers, event) if sealed else branch.layers
        self._move(branch.without_turn(event.turn), last.id, layers, at)
        return last.id

    def _without(self, layers: Layers, event: Committed) -> Layers:
        """S4."""
        if self.rules.leftovers_lie_below_later_writes():
            return layers.drop_below(event.seal, event.leftovers)
        return layers.drop_below(event.seal).append(*event.leftovers)

    def _moved(self, event: Moved, at: EventPosition) -> str:
        branch = self.branch(event.branch)
        elsewhere = branch.incarnation != event.incarnation or branch.head != event.source
        if elsewhere and self.rules.moves_need_their_head():
            raise moved_underneath(branch.name)
        needs_clean = event.why in CLEAN and not event.discard and self.rules.merges_need_a_clean_branch()
        if needs_clean and not branch.layers.empty:
            raise dirty(branch.name)
        if event.commits and event.commits[-1].id != event.target:
            raise Invalid("the last of the new commits is not where the branch is to go")
        if event.target != event.source:
            self._check_turn(branch, event.turn)
            self.guard.check(branch.name, _BLOCKED.get(event.why, ""))
        if event.commits:
            self.collection.check_derived(self.rules, event.read_at, event.checked)
        self.collection.check_closes(event.closes)
        if event.mint and not event.closes:
            self.collection.check_first(self.rules, (event.mint,))
        self._check_workspace(event, branch)
        self._add(event.commits)
        if self.kind == POOL and event.why in CLEAN:
            for commit in event.commits:
                if len(commit.parents) == 1:
                    self._brought.put(commit.id, True)
        self.commit(event.target)
        if event.workspace and self.rules.workspace_commits_close_it():
            self.workspaces.close(event.workspace, event.target)
        self.collection.close(event.closes)
        layers = branch.layers.cleared() if event.discard else branch.layers
        self._move(branch.without_turn(event.turn), event.target, layers, at)
        return event.target

    def _check_workspace(self, event: Moved, branch: Branch) -> None:
        """S8."""
        if not event.workspace:
            return
        workspace = self.workspaces.get(event.workspace)
        if workspace.branch != branch.name:
            raise Invalid(f"workspace {workspace.id!r} is one of branch {workspace.branch!r}")
        if workspace.last != event.upto and self.rules.workspace_commits_need_its_last_event():
            raise ConcurrentCommit(
                f"workspace {workspace.id!r} was written to while it was committed", hint="commit it again"
            )
        if self.collection.removals(workspace.id):
            raise ConcurrentCommit(f"files of workspace {workspace.id!r} are being removed", hint="commit it again")
        if workspace.incarnation != branch.incarnation and self.rules.workspace_commits_need_the_incarnation():
            raise ConcurrentCommit(
                f"branch {branch.name!r} was deleted and made again since workspace {workspace.id!r} was opened",
                hint="open a new workspace",
            )

    def _turned(self, event: Turned, at: EventPosition) -> int:
        """Returns how many are in front."""
        branch = self.branch(event.branch)
        entry = Turn(event.request, event.patience, event.writer, at.number, at.user)
        place = next((at for at, turn in enumerate(branch.turns) if turn.request == event.request), len(branch.turns))
        turns = (*branch.turns[:place], entry, *branch.turns[place + 1 :])
        self._branches.put(branch.name, msgspec.structs.replace(branch, turns=turns))
        return place

    def _turn_over(self, event: TurnOver, at: EventPosition) -> None:
        branch = self.branch(event.branch)
        left = branch.without_writer(event.writer) if event.writer else branch.without_turn(event.request)
        if event.upto and any(turn.renewed > event.upto for turn in branch.turns if turn not in left.turns):
            raise Conflict(f"those who wait to move branch {branch.name!r} have shown themselves", hint="wait for them")
        self._branches.put(branch.name, left)

    # --- branches and tags
    def _branch_created(self, event: BranchCreated, at: EventPosition) -> str:
        self._check_free(event.name)
        self.commit(event.commit)
        self._point(Branch(event.name, self._incarnation(event.name, at), event.commit), at)
        return event.commit

    def _branch_deleted(self, event: BranchDeleted, at: EventPosition) -> None:
        branch = self._whole(event.name, event.incarnation)
        self.guard.check(branch.name, REWRITE)
        self._branches.drop(branch.name)
        self.reflog.moved(branch.name, at.time, "")
        self._deleted.put((branch.name, branch.incarnation), branch)

    def _branch_restored(self, event: BranchRestored, at: EventPosition) -> str:
        branch = self._deleted.get((event.name, event.incarnation))
        if branch is None:
            raise NotFound(f"no deleted branch {event.name!r} is kept").named(event.name, self.deleted_names)
        self._check_free(event.name)
        self._deleted.drop((event.name, event.incarnation))
        again = msgspec.structs.replace(branch, incarnation=self._incarnation(event.name, at), turns=())
        self._move(again, branch.head, branch.layers, at)
        return branch.head

    def _branch_renamed(self, event: BranchRenamed, at: EventPosition) -> str:
        branch = self._whole(event.name, event.incarnation)
        self.guard.check(branch.name, REWRITE)
        self._check_free(event.to)
        self._branches.drop(branch.name)
        self.reflog.moved(branch.name, at.time, "")
        incarnation = self._incarnation(event.to, at)
        again = msgspec.structs.replace(branch, name=event.to, incarnation=incarnation, turns=())
        self._move(again, branch.head, branch.layers, at)
        return branch.head

    def _tag_created(self, event: TagCreated, at: EventPosition) -> str:
        self._check_free(event.name)
        self.commit(event.commit)
        self._tags.put(event.name, event.commit)
        return event.commit

    def _tag_deleted(self, event: TagDeleted, at: EventPosition) -> None:
        if event.name not in self._tags:
            hint = "`lochan tag list REPO` shows those there are"
            raise NotFound(f"no tag {event.name!r}", hint=hint).named(event.name, self._tag_names)
        self._tags.drop(event.name)

    # --- stashes (S9)
    def _stashed(self, event: Stashed, at: EventPosition) -> str:
        branch = self.branch(event.branch)
        if branch.layers.empty:
            raise NothingToDo(f"nothing is staged on branch {branch.name!r}", hint="there is nothing to put aside")
        before = self._made.count(_STASH, at.number)
        id = stash_id(at.number, before) if at.version > 1 else self.stashes.old_id(at.number)
        kept = branch.layers.unsealed()
        self.stashes.push(Stash(id, branch.name, branch.head, kept, event.message, at.user, at.time))
        layers = branch.layers.cleared() if self.rules.stashes_take_the_staging_along() else branch.layers
        self._move(branch, branch.head, layers, at)
        return id

    def _popped(self, event: Popped, at: EventPosition) -> str:
        branch, stash = self.branch(event.branch), self.stashes.get(event.stash)
        self.guard.check(branch.name, STAGE)
        if branch.head != event.head and self.rules.pops_need_their_head():
            raise moved_underneath(branch.name)
        if not branch.layers.empty and self.rules.pops_need_a_clean_branch():
            raise dirty(branch.name)
        self.stashes.drop(stash.id)
        self._move(branch, branch.head, branch.layers.restored(stash.layers), at)
        return stash.id

    def _stash_dropped(self, event: StashDropped, at: EventPosition) -> str:
        self.stashes.drop(self.stashes.get(event.stash).id)
        return event.stash

    # --- workspaces (S8)
    def _workspace_opened(self, event: WorkspaceOpened, at: EventPosition) -> str:
        branch = self.branch(event.branch)
        id = f"{at.number}-{event.tail}"
        return self.workspaces.open(
            Workspace(id, branch.name, branch.incarnation, branch.head, at.number, at.user, at.time, event.note)
        )

    def _workspace_staged(self, event: WorkspaceStaged, at: EventPosition) -> int:
        self.collection.check_closes(event.closes)
        self.collection.check_entries(self.rules, event.puts, event.read_at, event.checked, len(event.closes))
        if event.completes:
            self.uploads.get(event.completes)
        number = self.workspaces.stage(event, at)
        self._ended(event)
        return number

    # --- multipart uploads
    def _upload_opened(self, event: UploadOpened, at: EventPosition) -> str:
        self.branch(event.branch)
        self.guard.check(event.branch, STAGE)
        if event.workspace:
            self.workspaces.get(event.workspace)
        return self.uploads.open(event, at)

    def _part_put(self, event: PartPut, at: EventPosition) -> str:
        if event.read_at:
            self.collection.check_derived(self.rules, event.read_at, event.checked)
        elif self.collection.cut:
            self.collection.check_first(self.rules, (mint_of(block.address) for block in event.blocks))
        return self.uploads.put(event, at)

    def _workspace_dropped(self, event: WorkspaceDropped, at: EventPosition) -> None:
        self.workspaces.close(self.workspaces.get(event.workspace).id, DROPPED)

    # --- what is no longer kept (G6)
    def _expired(self, event: Expired, at: EventPosition) -> None:
        rooted = {branch.head for branch in self.branches()} | {commit for _, commit in self.tags()}
        rooted |= {each.fork for each in self.workspaces.all()} | {each.head for each in self.stashes.all()}
        dropped = set(event.branches)
        rooted |= {branch.head for key, branch in self._deleted.items() if key not in dropped}
        for id in event.commits:
            self.commit(id)
            if id in rooted:
                raise Refused(f"commit {id[:12]} is the head of a branch, a tag, or kept for something else")
        for key in event.branches:
            if key not in self._deleted:
                raise NotFound(f"no deleted branch {key[0]!r} of that incarnation is kept")
        for key in event.branches:
            self._deleted.drop(key)
        self.collection.expire(event.commits)

    # --- shared by several -------------------------------------------------------------------------------------------
    def _stage(self, name: str, change: Callable[[Layers], Layers]) -> None:
        branch = self.branch(name)
        self._branches.put(name, msgspec.structs.replace(branch, layers=change(branch.layers)))

    def _move(self, branch: Branch, head: str, layers: Layers, at: EventPosition) -> None:
        """S1: any head move, reset, restore, stash push or pop removes the branch's seals."""
        layers = layers.unsealed() if self.rules.head_moves_remove_seals() else layers
        self._point(msgspec.structs.replace(branch, head=head, layers=layers), at)

    def _point(self, branch: Branch, at: EventPosition) -> None:
        before = self._branches.get(branch.name)
        self._branches.put(branch.name, branch)
        if before is None or before.head != branch.head:
            self.reflog.moved(branch.name, at.time, branch.head)

    def _whole(self, name: str, incarnation: int) -> Branch:
        branch = self.branch(name)
        if branch.incarnation != incarnation:
            raise moved_underneath(branch.name)
        return branch

    def _incarnation(self, name: str, at: EventPosition) -> int:
        before = self._made.count(f"{_BRANCH}{name}", at.number)
        return at.number + AGAIN * before if at.version > 1 else at.number

    def _check_turn(self, branch: Branch, request: str) -> None:
        if branch.turns and not branch.is_front(request) and self.rules.turns_are_kept():
            raise NotYourTurn(f"others wait to move branch {branch.name!r}", hint="try again in a moment")

    def _add(self, commits: Iterable[Commit]) -> None:
        """New commits, each with its parents here before it. Raises before anything is changed."""
        new: dict[str, Commit] = {}
        for commit in commits:
            known = [new.get(parent) or self.commit(parent) for parent in commit.parents]
            if commit.generation != 1 + max((parent.generation for parent in known), default=-1):
                raise Invalid("the commit's generation does not follow from its parents'")
            new[commit.id] = commit
        for id, commit in new.items():
            self._commits.put(id, commit)

    def _check_free(self, name: str) -> None:
        if name in self._branches:
            raise AlreadyExists(f"there is a branch {name!r} already")
        if name in self._tags:
            raise AlreadyExists(f"there is a tag {name!r} already")

    # --- forks and checkpoints ---------------------------------------------------------------------------------------
    def fork(self) -> Self:
        fork = type(self)()
        fork._commits, fork._branches = self._commits.fork(), self._branches.fork()
        fork._tags, fork._deleted = self._tags.fork(), self._deleted.fork()
        fork.reflog = self.reflog.fork()
        fork.guard, fork.collection = self.guard.fork(), self.collection.fork()
        fork.stashes, fork.workspaces = self.stashes.fork(), self.workspaces.fork()
        fork.uploads, fork._made = self.uploads.fork(), self._made.fork()
        fork._kind, fork._brought = self._kind.fork(), self._brought.fork()
        return fork

    def join(self) -> None:
        for table in (self._branches, self._tags, self._deleted, self._kind, self._brought):
            table.join()
        self._commits.join()
        self.reflog.join()
        for piece in (self.guard, self.collection, self.stashes, self.workspaces, self.uploads, self._made):
            piece.join()

    def dump(self) -> "_Dumped":
        return _Dumped(
            self._commits.dump(),
            [branch.dump() for branch in self.branches()],
            self.tags(),
            [branch.dump() for _, branch in self._deleted.items()],
            self.guard.dump(),
            self.collection.dump(),
            self.stashes.dump(),
            self.workspaces.dump(),
            self.uploads.dump(),
            self.reflog.dump(),
            self.kind,
            sorted(id for id, _ in self._brought.items()),
        )

    def load(self, dumped: msgspec.Raw) -> None:
        state = _decoder.decode(dumped)
        self._commits.load(state.commits)
        for name, commit_id in state.tags:
            self._tags.put(name, commit_id)
        for branch in map(loaded, state.branches):
            self._branches.put(branch.name, branch)
        for branch in map(loaded, state.deleted):
            self._deleted.put((branch.name, branch.incarnation), branch)
        self.guard.load(state.guard)
        self.collection.load(state.collection)
        self.stashes.load(state.stashes)
        self.workspaces.load(state.workspaces)
        self.uploads.load(state.uploads)
        self.reflog.load(state.reflog)
        self._kind.put("", state.kind)
        for id in state.brought:
            self._brought.put(id, True)


class _Dumped(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    commits: Columns | list[Commit]  # a list, in checkpoints from before there were columns
    branches: list[DumpedBranch]
    tags: list[tuple[str, str]]
    deleted: list[DumpedBranch]
    guard: DumpedGuard = DumpedGuard()
    collection: DumpedCollection = DumpedCollection()
    stashes: list[DumpedStash] = []
    workspaces: DumpedWorkspaces = DumpedWorkspaces()
    uploads: list[KeptUpload] = []
    reflog: dict[str, Moves] = {}
    kind: str = FILES
    brought: list[str] = []  # ids of commits


_HANDLERS: dict[type[Event], Callable[[Refs, Any, EventPosition], Any]] = {
    RepositoryOpened: Refs._opened,
    Staged: Refs._staged,
    RunsStaged: Refs._runs_staged,
    Compacted: Refs._compacted,
    Sealed: Refs._sealed,
    Committed: Refs._committed,
    Moved: Refs._moved,
    Turned: Refs._turned,
    TurnOver: Refs._turn_over,
    BranchCreated: Refs._branch_created,
    BranchDeleted: Refs._branch_deleted,
    BranchRestored: Refs._branch_restored,
    BranchRenamed: Refs._branch_renamed,
    TagCreated: Refs._tag_created,
    TagDeleted: Refs._tag_deleted,
    Stashed: Refs._stashed,
    Popped: Refs._popped,
    StashDropped: Refs._stash_dropped,
    WorkspaceOpened: Refs._workspace_opened,
    WorkspaceStaged: Refs._workspace_staged,
    WorkspaceAdded: lambda refs, event, at: refs.workspaces.add(event, at),
    WorkspaceReverted: lambda refs, event, at: refs.workspaces.revert(event, at),
    WorkspaceSealed: lambda refs, event, at: refs.workspaces.seal(event, at),
    WorkspaceDropped: Refs._workspace_dropped,
    UploadOpened: Refs._upload_opened,
    PartPut: Refs._part_put,
    UploadAborted: lambda refs, event, at: refs.uploads.close(event.upload),
    ProtectionSet: lambda refs, event, at: refs.guard.set_rules(event),
    ReadOnlySet: lambda refs, event, at: refs.guard.set_read_only(event),
    Opened: lambda refs, event, at: refs.collection.open(event, at),
    Abandoned: lambda refs, event, at: refs.collection.abandon(event),
    Planned: lambda refs, event, at: refs.collection.draw(event, at),
    PlanEnded: lambda refs, event, at: refs.collection.end(event),
    Expired: Refs._expired,
    Aliased: lambda refs, event, at: refs.collection.add_alias(refs.rules, event),
}
Refs.events = tuple(_HANDLERS)
# What no reader sees, and what ends it.
_WHILE_READ_ONLY = {ReadOnlySet, Compacted, TurnOver, UploadAborted, Abandoned, Planned, PlanEnded, Expired, Aliased}
# What a pool has not: its branches hold data objects, which come by head moves alone (S5).
_STAGING = {Staged, RunsStaged, Compacted, Sealed, Committed, Stashed, Popped, WorkspaceOpened, UploadOpened}


def _stages(event: Any) -> bool:
    match event:
        case Opened(kind=kind):
            return kind == LINK
        case Moved(why=why):
            return why in ("import", "ingest")
    return type(event) in _STAGING


def no_staging() -> Refused:
    return Refused("a pool holds rows, and no files can be written to it", hint="`lochan load REPO FILE` adds rows")


_decoder = msgspec.msgpack.Decoder(_Dumped)
