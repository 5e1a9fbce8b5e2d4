"""The effects of events below the heads: staging, workspaces, multipart uploads, and the state of garbage collection.

As in `refs_fold.py`, every rule of the form "valid only while …" is a check here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.collection_events import (
    Abandoned,
    Aliased,
    AliasTablesSet,
    Expired,
    Opened,
    PlanBegun,
    PlanEnded,
    Planned,
    RetentionSet,
)
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.events import Event
from lochan.formats.repository_events import Compacted, PartPut, RunsStaged, Staged, UploadAborted, UploadOpened
from lochan.formats.workspace_events import (
    WorkspaceAdded,
    WorkspaceDropped,
    WorkspaceOpened,
    WorkspaceReverted,
    WorkspaceSealed,
    WorkspaceStaged,
)
from lochan.journal.state import EventPosition
from lochan.staging.layers import Inputs, primary_runs
from lochan.versioning.state.collection import mint_of
from lochan.versioning.state.protection import STAGE
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.workspaces import DROPPED, WorkspaceState


# --- staging ----------------------------------------------------------------------------------------------------------
def _staged(refs: RefsState, event: Staged, at: EventPosition) -> int:
    changes: tuple[Change, ...] = event.puts
    if event.deletes or len(changes) != 1:  # nearly every event is one put
        changes = (*changes, *map(Tombstone, event.deletes))
        if len({change.path for change in changes}) != len(changes):
            raise Invalid("a path appears twice in one request")
    if event.closes:
        refs.collection.check_closes(event.closes)
    refs.collection.check_entries(refs.rules, event.puts, event.read_at, event.checked, len(event.closes))
    refs.guard.check(event.branch, STAGE)
    if event.completes:
        refs.uploads.get(event.completes)
    branch = refs.branch(event.branch)
    refs.branch_table.put(branch.name, msgspec.structs.replace(branch, layers=branch.layers.put(*changes)))
    if event.closes or event.completes:
        _ended(refs, event)
    return at.number


def plain_puts(events: Iterable[Staged]) -> tuple[str, list[Entry]]:
    """Returns the objects of the first of these events that put one each on the same branch, and do nothing else."""
    puts: list[Entry] = []
    branch = ""
    for event in events:
        is_plain = len(event.puts) == 1 and not (event.deletes or event.closes or event.completes or event.read_at)
        if not is_plain or (puts and event.branch != branch):
            break
        branch = event.branch
        puts.append(event.puts[0])
    return branch, puts


def stage_puts(refs: RefsState, name: str, puts: Sequence[Entry]) -> None:
    """Stages the puts of several events, in order. If one of them is refused, none is staged."""
    refs.collection.check_entries(refs.rules, puts, 0, 0, 0)
    refs.guard.check(name, STAGE)
    refs.stage(name, lambda layers: layers.put(*puts))


def _ended(refs: RefsState, event: Staged | WorkspaceStaged) -> None:
    refs.collection.close(event.closes)
    if event.completes:
        refs.uploads.close(event.completes)


def _runs_staged(refs: RefsState, event: RunsStaged, at: EventPosition) -> int:
    refs.collection.check_closes(event.closes)
    refs.collection.check_runs(refs.rules, event.runs)
    if event.read_at:
        refs.collection.check_derived(refs.rules, event.read_at, event.checked)
    elif not event.closes:
        refs.collection.check_data(refs.rules, (event.mint,))
    refs.guard.check(event.branch, STAGE)
    refs.stage(event.branch, lambda layers: layers.append(*primary_runs(event.runs)))
    refs.collection.close(event.closes)
    return at.number


def _compacted(refs: RefsState, event: Compacted, at: EventPosition) -> None:
    branch = refs.branch(event.branch)
    strict = refs.rules.compaction_needs_its_inputs()
    if strict and branch.incarnation != event.incarnation:
        raise Refused(f"branch {branch.name!r} is not the one whose staging was compacted")
    if event.head and branch.head != event.head and refs.rules.dropped_tombstones_need_the_head():
        raise Refused(f"branch {branch.name!r} is not as it was when its staging was compacted")
    refs.collection.check_runs(refs.rules, event.outputs)
    if event.over is not None:  # the tree shares ranges with the head's tree
        refs.collection.check_derived(refs.rules, event.read_at, event.checked)
    inputs = Inputs(event.spans, event.runs)
    refs.stage(event.branch, lambda layers: layers.compacted(inputs, event.outputs, event.over))


# --- workspaces (S8) --------------------------------------------------------------------------------------------------
def _workspace_opened(refs: RefsState, event: WorkspaceOpened, at: EventPosition) -> str:
    branch = refs.branch(event.branch)
    id = f"{at.number}-{event.tail}"
    return refs.workspaces.open(
        WorkspaceState(id, branch.name, branch.incarnation, branch.head, at.number, at.user, at.time, event.note)
    )


def _workspace_staged(refs: RefsState, event: WorkspaceStaged, at: EventPosition) -> int:
    refs.collection.check_closes(event.closes)
    refs.collection.check_entries(refs.rules, event.puts, event.read_at, event.checked, len(event.closes))
    if event.completes:
        refs.uploads.get(event.completes)
    number = refs.workspaces.stage(event, at)
    _ended(refs, event)
    return number


def _workspace_dropped(refs: RefsState, event: WorkspaceDropped, at: EventPosition) -> None:
    refs.workspaces.close(refs.workspaces.get(event.workspace).id, DROPPED)


# --- multipart uploads ------------------------------------------------------------------------------------------------
def _upload_opened(refs: RefsState, event: UploadOpened, at: EventPosition) -> str:
    refs.branch(event.branch)
    refs.guard.check(event.branch, STAGE)
    if event.workspace:
        refs.workspaces.get(event.workspace)
    return refs.uploads.open(event, at)


def _part_put(refs: RefsState, event: PartPut, at: EventPosition) -> str:
    if event.read_at:
        refs.collection.check_derived(refs.rules, event.read_at, event.checked)
    elif refs.collection.cut:
        refs.collection.check_first(refs.rules, (mint_of(block.address) for block in event.blocks))
    return refs.uploads.put(event, at)


# --- expiry (G6) --------------------------------------------------------------------------------------
def _expired(refs: RefsState, event: Expired, at: EventPosition) -> None:
    rooted = {branch.head for branch in refs.branches()} | {commit for _, commit in refs.tags()}
    rooted |= {each.fork for each in refs.workspaces.all()} | {each.head for each in refs.stashes.all()}
    dropped = set(event.branches)
    rooted |= {branch.head for key, branch in refs.deleted_table.items() if key not in dropped}
    for id in event.commits:
        refs.commit(id)
        if id in rooted:
            raise Refused(f"commit {id[:12]} is the head of a branch, a tag, or kept for something else")
    for key in event.branches:
        if key not in refs.deleted_table:
            raise NotFound(f"no deleted branch {key[0]!r} of that incarnation is kept")
    for key in event.branches:
        refs.deleted_table.drop(key)
    refs.collection.expire(event.commits)
    for id in event.commits:
        refs.input_table.drop(id)


STAGING_HANDLERS: dict[type[Event], Callable[[RefsState, Any, EventPosition], Any]] = {
    Staged: _staged,
    RunsStaged: _runs_staged,
    Compacted: _compacted,
    WorkspaceOpened: _workspace_opened,
    WorkspaceStaged: _workspace_staged,
    WorkspaceAdded: lambda refs, event, at: refs.workspaces.add(event, at),
    WorkspaceReverted: lambda refs, event, at: refs.workspaces.revert(event, at),
    WorkspaceSealed: lambda refs, event, at: refs.workspaces.seal(event, at),
    WorkspaceDropped: _workspace_dropped,
    UploadOpened: _upload_opened,
    PartPut: _part_put,
    UploadAborted: lambda refs, event, at: refs.uploads.close(event.upload),
    Opened: lambda refs, event, at: refs.collection.open(refs.rules, event, at),
    Abandoned: lambda refs, event, at: refs.collection.abandon(event),
    PlanBegun: lambda refs, event, at: refs.collection.begin(event, at),
    Planned: lambda refs, event, at: refs.collection.draw(event, at),
    PlanEnded: lambda refs, event, at: refs.collection.end(event),
    Expired: _expired,
    RetentionSet: lambda refs, event, at: refs.collection.set_retention(event),
    Aliased: lambda refs, event, at: refs.collection.add_alias(refs.rules, event),
    AliasTablesSet: lambda refs, event, at: refs.collection.set_alias_tables(refs.rules, event, at),
}
