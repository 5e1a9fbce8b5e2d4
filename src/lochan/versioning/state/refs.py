"""A repository's refs as a part of its journal's state, and how a checkpoint stores them.

`refs_state.py` defines the state. `refs_fold.py` and `staging_fold.py` have the effects of each event."""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from lochan.errors import LochanError, Refused
from lochan.formats.collection_events import (
    Abandoned,
    Aliased,
    AliasTablesSet,
    Expired,
    Opened,
    PlanBegun,
    PlanEnded,
    Planned,
)
from lochan.formats.commit import Commit
from lochan.formats.events import Event
from lochan.formats.repository_events import (
    Committed,
    Compacted,
    Moved,
    Popped,
    ReadOnlySet,
    RepositoryClosed,
    RepositoryReopened,
    RunsStaged,
    Sealed,
    Staged,
    Stashed,
    TurnOver,
    UploadAborted,
    UploadOpened,
)
from lochan.formats.run import RunRef
from lochan.formats.workspace_events import WorkspaceOpened
from lochan.journal.state import AppliedRun, EventPosition, StatePart
from lochan.versioning.repositories import FILES, POOL
from lochan.versioning.state.branch import HIDDEN, DumpedBranch, DumpedStash, load_branch
from lochan.versioning.state.collection import LINK, DumpedCollection
from lochan.versioning.state.commits import CommitColumns
from lochan.versioning.state.guard import RULES_2, RULES_3, DumpedGuard
from lochan.versioning.state.pulls import PULLS_1, DumpedPulls
from lochan.versioning.state.pulls_fold import PULL_HANDLERS
from lochan.versioning.state.reflog import Moves
from lochan.versioning.state.refs_fold import HEAD_HANDLERS
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.staging_fold import STAGING_HANDLERS, plain_puts, stage_puts
from lochan.versioning.state.uploads import KeptUpload
from lochan.versioning.state.workspaces import DumpedWorkspaces


class DumpedRefs(msgspec.Struct, frozen=True, array_like=True):
    """The refs in a checkpoint. Fields are only ever added at the end."""

    commits: CommitColumns | list[Commit]  # a list in checkpoints from before there were columns
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
    brought: list[str] = []  # the ids of commits
    expired: bytes = b""  # a bit for each row of the commits
    inputs: dict[str, tuple[RunRef, ...]] = {}  # by the commit that was made from these runs
    pulls: DumpedPulls = DumpedPulls()


def dump_refs(refs: RefsState) -> "DumpedRefs":
    commits = refs.commit_table.dump()
    return DumpedRefs(
        commits,
        [branch.dump() for branch in refs.branches()],
        refs.tags(),
        [branch.dump() for _, branch in refs.deleted_table.items()],
        refs.guard.dump(),
        refs.collection.dump(),
        refs.stashes.dump(),
        refs.workspaces.dump(),
        refs.uploads.dump(),
        refs.reflog.dump(),
        refs.kind,
        sorted(id for id, _ in refs.brought_table.items()),
        refs.collection.expired_commits.dump(commits),
        dict(sorted(refs.input_table.items())),
        refs.pulls.dump(),
    )


def load_refs(refs: RefsState, dumped: msgspec.Raw) -> None:
    """Loads a checkpoint into the state. REQUIRES: the state is empty."""
    state = _decoder.decode(dumped)
    refs.commit_table.load(state.commits)
    for name, commit_id in state.tags:
        refs.tag_table.put(name, commit_id)
    for branch in map(load_branch, state.branches):
        refs.branch_table.put(branch.name, branch)
    for branch in map(load_branch, state.deleted):
        refs.deleted_table.put((branch.name, branch.incarnation), branch)
    refs.guard.load(state.guard)
    refs.collection.load(state.collection)
    refs.collection.expired_commits.load(refs.commit_table.columns, state.expired)
    refs.stashes.load(state.stashes)
    refs.workspaces.load(state.workspaces)
    refs.uploads.load(state.uploads)
    refs.pulls.load(state.pulls)
    refs.reflog.load(state.reflog)
    refs.kind_table.put("", state.kind)
    for id, runs in state.inputs.items():
        refs.input_table.put(id, runs)
    for id in state.brought:
        refs.brought_table.put(id, True)


_decoder = msgspec.msgpack.Decoder(DumpedRefs)


_HANDLERS = HEAD_HANDLERS | STAGING_HANDLERS | PULL_HANDLERS
# Events that no reader sees, and those that end the state.
_WHILE_READ_ONLY = {
    *(ReadOnlySet, Compacted, TurnOver, UploadAborted, Abandoned, PlanBegun, Planned, PlanEnded, Expired, Aliased),
    *(AliasTablesSet, RepositoryClosed, RepositoryReopened),
}
# Events that a pool does not have, because only head moves add data objects to its branches (S5).
_STAGING = {Staged, RunsStaged, Compacted, Sealed, Committed, Stashed, Popped, WorkspaceOpened, UploadOpened}


class Refs(RefsState, StatePart):
    name: ClassVar[str] = "refs"
    events = tuple(_HANDLERS)
    runs: ClassVar[tuple[type[Event], ...]] = (Staged,)
    features: ClassVar[tuple[str, ...]] = (RULES_2, RULES_3, PULLS_1, HIDDEN)

    def apply(self, event: Any, at: EventPosition) -> Any:
        self._check(event)
        result = _HANDLERS[type(event)](self, event, at)
        self.collection.saw(at.number)
        return result

    def apply_run(self, events: Iterable[Staged], at: EventPosition) -> AppliedRun:
        """Applies puts of small objects together. Each by itself would make another state of its branch."""
        branch, puts = plain_puts(events)
        if len(puts) < 2:
            return AppliedRun(1)
        try:
            self._check(Staged(branch))
            stage_puts(self, branch, puts)
        except LochanError:  # the requests may have different answers
            return AppliedRun(len(puts))
        self.collection.saw(at.number)
        return AppliedRun(len(puts), [at.number] * len(puts))

    def _check(self, event: Any) -> None:
        kind = type(event)
        if kind is not RepositoryReopened and self.rules.closed_repositories_stay_closed():
            self.guard.check_open()
        if kind not in _WHILE_READ_ONLY:
            self.guard.check_writable()
        if self.kind == POOL and _stages(event) and self.rules.pools_have_no_staging():
            raise no_staging()

    def needs(self) -> tuple[str, ...]:
        used = ((PULLS_1, self.pulls.in_use), (HIDDEN, self.has_hidden))
        return (*self.guard.needs, *(name for name, is_used in used if is_used))

    def dump(self) -> DumpedRefs:
        return dump_refs(self)

    def load(self, dumped: msgspec.Raw) -> None:
        load_refs(self, dumped)


def _stages(event: Any) -> bool:
    match event:
        case Opened(kind=kind):
            return kind == LINK
        case Moved(why=why):
            return why in ("import", "ingest")
    return type(event) in _STAGING


def no_staging() -> Refused:
    return Refused("a pool holds rows, and no files can be written to it", hint="`lochan load REPO FILE` adds rows")
