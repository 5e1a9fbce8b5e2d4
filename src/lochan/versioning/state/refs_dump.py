"""The state of a repository's refs as checkpoints keep it. On somebody's disk."""

import msgspec

from lochan.formats.commit import Commit
from lochan.versioning.repositories import FILES
from lochan.versioning.state.branch import DumpedBranch, loaded
from lochan.versioning.state.collection import DumpedCollection
from lochan.versioning.state.commits import CommitColumns
from lochan.versioning.state.guard import DumpedGuard
from lochan.versioning.state.reflog import Moves
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.stashes import DumpedStash
from lochan.versioning.state.uploads import KeptUpload
from lochan.versioning.state.workspaces import DumpedWorkspaces


class DumpedRefs(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    commits: CommitColumns | list[Commit]  # a list, in checkpoints from before there were columns
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


def dump_refs(refs: RefsState) -> "DumpedRefs":
    return DumpedRefs(
        refs.commit_table.dump(),
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
    )


def load_refs(refs: RefsState, dumped: msgspec.Raw) -> None:
    """REQUIRES: the state is empty."""
    state = _decoder.decode(dumped)
    refs.commit_table.load(state.commits)
    for name, commit_id in state.tags:
        refs.tag_table.put(name, commit_id)
    for branch in map(loaded, state.branches):
        refs.branch_table.put(branch.name, branch)
    for branch in map(loaded, state.deleted):
        refs.deleted_table.put((branch.name, branch.incarnation), branch)
    refs.guard.load(state.guard)
    refs.collection.load(state.collection)
    refs.stashes.load(state.stashes)
    refs.workspaces.load(state.workspaces)
    refs.uploads.load(state.uploads)
    refs.reflog.load(state.reflog)
    refs.kind_table.put("", state.kind)
    for id in state.brought:
        refs.brought_table.put(id, True)


_decoder = msgspec.msgpack.Decoder(DumpedRefs)
