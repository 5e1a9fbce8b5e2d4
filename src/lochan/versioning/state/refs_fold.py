"""The effects of events on heads: the first commit, commits and moves, turns, branches, tags, stashes, protection.

Every rule of the form "valid only while …" is a check here, made by the writer before the append and again by every
process that folds the record. Only the writer makes checks that read the store (does this head move touch a staged
path?)."""

from collections.abc import Callable
from typing import Any

import msgspec

from lochan.errors import AlreadyExists, ConcurrentCommit, Conflict, Invalid, NotFound, NothingToDo, Refused
from lochan.formats.events import Event
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    BranchRestored,
    Committed,
    HistoryRestored,
    Moved,
    Popped,
    ProtectionSet,
    ReadOnlySet,
    RepositoryClosed,
    RepositoryOpened,
    RepositoryReopened,
    Sealed,
    StashDropped,
    Stashed,
    TagCreated,
    TagDeleted,
    Turned,
    TurnOver,
)
from lochan.journal.state import EventPosition
from lochan.staging.layers import Layers, primary_runs
from lochan.versioning.repositories import POOL
from lochan.versioning.state.branch import BranchState, Stash, Turn, dirty, moved_underneath, stash_id
from lochan.versioning.state.merge_gate import check_merge, merged
from lochan.versioning.state.protection import COMMIT, REWRITE, STAGE
from lochan.versioning.state.refs_state import Busy, RefsState

SEALS_MAX = 8  # a ninth commit of one branch waits: if it evicted the oldest, they could evict each other for ever
CLEAN = ("merge", "revert", "cherry-pick", "rebase")  # refused on a branch with staged changes (S5)
_STASH = "stash"  # a name for `RecordNames`


def _opened(refs: RefsState, event: RepositoryOpened, at: EventPosition) -> str:
    if refs.kind_table.get("") is not None:
        raise AlreadyExists("this repository was opened before")
    id = event.commit.id
    refs.kind_table.put("", event.kind)
    if event.bare:
        return ""
    refs.commit_table.put(id, event.commit)
    refs.point(BranchState(event.default_branch, at.number, id), at)
    return id


# --- head moves -------------------------------------------------------------------------------------------------------
def _sealed(refs: RefsState, event: Sealed, at: EventPosition) -> int:
    branch = refs.branch(event.branch)
    refs.guard.check(branch.name, COMMIT)
    if at.number in branch.layers.seals:
        return at.number  # two commits began in one record, so they share the seal, and one of them lands
    if len(branch.layers.seals) >= SEALS_MAX and not branch.is_front(event.turn):
        raise Busy(f"{SEALS_MAX} commits of branch {branch.name!r} are under way", hint="try again in a moment")
    refs.stage(event.branch, lambda layers: layers.seal(at.number))
    return at.number


def _committed(refs: RefsState, event: Committed, at: EventPosition) -> str:
    branch = refs.branch(event.branch)
    refs.guard.check(branch.name, COMMIT)
    sealed = event.seal in branch.layers.seals
    follows = event.commit.parents[:1] == (branch.head,)
    if not sealed and (refs.rules.committed_needs_its_seal() or not follows):
        raise moved_underneath(branch.name)
    if not follows:
        raise Invalid("the commit's first parent is not the head")
    refs.check_turn(branch, event.turn)
    refs.collection.check_derived(refs.rules, event.read_at, event.checked)
    refs.collection.check_runs(refs.rules, event.leftovers)
    if event.then is not None and event.then.parents[:1] != (event.commit.id,):
        raise Invalid("the second commit does not follow the first")
    new = (event.commit, event.then) if event.then else (event.commit,)
    if event.then is not None:
        refs.guard.of(branch.name).check_second(event.why, at.user, lambda: all(len(c.parents) < 2 for c in new))
    last = event.then or event.commit
    refs.add_commits(new)
    layers = _without(refs, branch.layers, event) if sealed else branch.layers
    if sealed:
        refs.keep_inputs(event.commit.id, branch.layers.below(event.seal))
    refs.move(branch.without_turn(event.turn), last.id, layers, at)
    return last.id


def _without(refs: RefsState, layers: Layers, event: Committed) -> Layers:
    """Returns the layers without those below the seal, with the leftovers in their place (S4)."""
    left = primary_runs(event.leftovers)
    if refs.rules.leftovers_lie_below_later_writes():
        return layers.drop_below(event.seal, left)
    return layers.drop_below(event.seal).append(*left)


def _moved(refs: RefsState, event: Moved, at: EventPosition) -> str:
    branch = refs.branch(event.branch)
    again = branch.incarnation != event.incarnation and refs.rules.moves_need_their_incarnation()
    if (again or branch.head != event.source) and refs.rules.moves_need_their_head():
        raise moved_underneath(branch.name)
    needs_clean = event.why in CLEAN and not event.discard and refs.rules.merges_need_a_clean_branch()
    if needs_clean and not branch.layers.empty:
        raise dirty(branch.name)
    if event.commits and event.commits[-1].id != event.target:
        raise Invalid("the last of the new commits is not the target of the move")
    if event.target != event.source:
        refs.check_turn(branch, event.turn)
        if event.pull:
            check_merge(refs, event, at.user, lambda: _is_linear(refs, event))
        else:
            refs.guard.of(branch.name).check_move(event, at.user, lambda: _is_linear(refs, event))
    elif event.pull:
        raise Invalid("a merge of a pull request moves its target")
    if event.commits:
        refs.collection.check_derived(refs.rules, event.read_at, event.checked)
    refs.collection.check_closes(event.closes)
    if event.mint:
        refs.collection.check_data(refs.rules, (event.mint,))
    _check_workspace(refs, event, branch)
    refs.add_commits(event.commits)
    if refs.kind == POOL and event.why in CLEAN:
        for commit in event.commits:
            if len(commit.parents) == 1:
                refs.brought_table.put(commit.id, True)
    refs.commit(event.target)
    if event.workspace and refs.rules.workspace_commits_close_it():
        refs.workspaces.close(event.workspace, event.target)
    refs.collection.close(event.closes)
    layers = branch.layers.cleared() if event.discard else branch.layers
    refs.move(branch.without_turn(event.turn), event.target, layers, at)
    if event.pull:
        merged(refs, event, at)
    return event.target


def _is_linear(refs: RefsState, event: Moved) -> bool:
    """Returns whether every commit between the histories of the head before and of the head after has one parent.
    Behind the head before, only first parents are followed, so commits on a side branch there count as new."""
    new = {commit.id: commit for commit in event.commits}
    before, after = refs.recorded(event.source), new.get(event.target) or refs.recorded(event.target)
    at, behind = event.target, event.source
    while at != behind:
        if after.generation > before.generation or not before.parents:
            if len(after.parents) != 1:
                return not after.parents
            at = after.parents[0]
            after = new.get(at) or refs.recorded(at)
        else:
            behind = before.parents[0]
            before = refs.recorded(behind)
    return True


def _check_workspace(refs: RefsState, event: Moved, branch: BranchState) -> None:
    """Checks that a workspace may be committed by this move (S8)."""
    if not event.workspace:
        return
    workspace = refs.workspaces.get(event.workspace)
    if workspace.branch != branch.name:
        raise Invalid(f"workspace {workspace.id!r} is one of branch {workspace.branch!r}")
    if workspace.last != event.upto and refs.rules.workspace_commits_need_its_last_event():
        raise ConcurrentCommit(
            f"workspace {workspace.id!r} was written to while it was committed", hint="commit it again"
        )
    if refs.collection.removals(workspace.id):
        raise ConcurrentCommit(f"files of workspace {workspace.id!r} are being removed", hint="commit it again")
    if workspace.incarnation != branch.incarnation and refs.rules.workspace_commits_need_the_incarnation():
        raise ConcurrentCommit(
            f"branch {branch.name!r} was deleted and made again since workspace {workspace.id!r} was opened",
            hint="open a new workspace",
        )


def _turned(refs: RefsState, event: Turned, at: EventPosition) -> int:
    """Puts the request into the queue, or renews it. Returns how many requests are in front of it."""
    branch = refs.branch(event.branch)
    entry = Turn(event.request, event.patience, event.writer, at.number, at.user)
    place = next((at for at, turn in enumerate(branch.turns) if turn.request == event.request), len(branch.turns))
    turns = (*branch.turns[:place], entry, *branch.turns[place + 1 :])
    refs.branch_table.put(branch.name, msgspec.structs.replace(branch, turns=turns))
    return place


def _turn_over(refs: RefsState, event: TurnOver, at: EventPosition) -> None:
    branch = refs.branch(event.branch)
    left = branch.without_writer(event.writer) if event.writer else branch.without_turn(event.request)
    if event.upto and any(turn.renewed > event.upto for turn in branch.turns if turn not in left.turns):
        raise Conflict(f"the requests that wait to move branch {branch.name!r} are still alive", hint="wait for them")
    refs.branch_table.put(branch.name, left)


# --- branches and tags ------------------------------------------------------------------------------------------------
def _branch_created(refs: RefsState, event: BranchCreated, at: EventPosition) -> str:
    refs.check_free(event.name)
    refs.commit(event.commit)
    incarnation = refs.next_incarnation(event.name, at)
    refs.point(BranchState(event.name, incarnation, event.commit, hidden=event.hidden), at)
    return event.commit


def _branch_deleted(refs: RefsState, event: BranchDeleted, at: EventPosition) -> None:
    branch = refs.branch_of(event.name, event.incarnation)
    refs.guard.check(branch.name, REWRITE)
    refs.branch_table.drop(branch.name)
    refs.reflog.moved(branch.name, at.time, "")
    refs.deleted_table.put((branch.name, branch.incarnation), branch)


def _branch_restored(refs: RefsState, event: BranchRestored, at: EventPosition) -> str:
    branch = refs.deleted_table.get((event.name, event.incarnation))
    if branch is None:
        raise NotFound(f"no deleted branch {event.name!r} is kept").named(event.name, refs.deleted_names)
    refs.check_free(event.name)
    refs.deleted_table.drop((event.name, event.incarnation))
    again = msgspec.structs.replace(branch, incarnation=refs.next_incarnation(event.name, at), turns=())
    refs.move(again, branch.head, branch.layers, at)
    return branch.head


def _branch_renamed(refs: RefsState, event: BranchRenamed, at: EventPosition) -> str:
    branch = refs.branch_of(event.name, event.incarnation)
    refs.guard.check(branch.name, REWRITE)
    refs.check_free(event.to)
    if not branch.layers.empty:
        refs.guard.of(event.to).check_staged()
    refs.branch_table.drop(branch.name)
    refs.reflog.moved(branch.name, at.time, "")
    incarnation = refs.next_incarnation(event.to, at)
    again = msgspec.structs.replace(branch, name=event.to, incarnation=incarnation, turns=())
    refs.pulls.source_renamed(branch.name, event.to)
    refs.move(again, branch.head, branch.layers, at)
    return branch.head


def _tag_created(refs: RefsState, event: TagCreated, at: EventPosition) -> str:
    refs.check_free(event.name)
    refs.commit(event.commit)
    refs.tag_table.put(event.name, event.commit)
    return event.commit


def _tag_deleted(refs: RefsState, event: TagDeleted, at: EventPosition) -> None:
    refs.tag(event.name)
    refs.tag_table.drop(event.name)


def _history_restored(refs: RefsState, event: HistoryRestored, at: EventPosition) -> None:
    if not refs.is_bare:
        raise Refused(
            "a history is only restored into a repository that has no branch and no tag",
            hint="`lochan repo create NAME --bare` makes one",
        )
    refs.collection.check_derived(refs.rules, event.read_at, 0)
    refs.collection.check_data(refs.rules, (event.mint,))
    refs.add_commits(event.commits)
    for name, id in event.branches.items():
        refs.check_free(name)
        refs.commit(id)
        refs.point(BranchState(name, refs.next_incarnation(name, at), id), at)
    for name, id in event.tags.items():
        refs.check_free(name)
        refs.commit(id)
        refs.tag_table.put(name, id)


# --- stashes (S9) -----------------------------------------------------------------------------------------------------
def _stashed(refs: RefsState, event: Stashed, at: EventPosition) -> str:
    branch = refs.branch(event.branch)
    if branch.layers.empty:
        raise NothingToDo(f"nothing is staged on branch {branch.name!r}", hint="there is nothing to put aside")
    before = refs.record_names.count(_STASH, at.number)
    id = stash_id(at.number, before) if at.version > 1 else refs.stashes.old_id(at.number)
    kept = branch.layers.unsealed()
    refs.stashes.push(Stash(id, branch.name, branch.head, kept, event.message, at.user, at.time))
    layers = branch.layers.cleared() if refs.rules.stashes_take_the_staging_along() else branch.layers
    refs.move(branch, branch.head, layers, at)
    return id


def _popped(refs: RefsState, event: Popped, at: EventPosition) -> str:
    branch, stash = refs.branch(event.branch), refs.stashes.get(event.stash)
    refs.guard.check(branch.name, STAGE)
    if branch.head != event.head and refs.rules.pops_need_their_head():
        raise moved_underneath(branch.name)
    if not branch.layers.empty and refs.rules.pops_need_a_clean_branch():
        raise dirty(branch.name)
    refs.stashes.drop(stash.id)
    refs.move(branch, branch.head, branch.layers.restored(stash.layers), at)
    return stash.id


def _stash_dropped(refs: RefsState, event: StashDropped, at: EventPosition) -> str:
    refs.stashes.drop(refs.stashes.get(event.stash).id)
    return event.stash


HEAD_HANDLERS: dict[type[Event], Callable[[RefsState, Any, EventPosition], Any]] = {
    RepositoryOpened: _opened,
    Sealed: _sealed,
    Committed: _committed,
    Moved: _moved,
    Turned: _turned,
    TurnOver: _turn_over,
    BranchCreated: _branch_created,
    BranchDeleted: _branch_deleted,
    BranchRestored: _branch_restored,
    BranchRenamed: _branch_renamed,
    TagCreated: _tag_created,
    HistoryRestored: _history_restored,
    TagDeleted: _tag_deleted,
    Stashed: _stashed,
    Popped: _popped,
    StashDropped: _stash_dropped,
    ProtectionSet: lambda refs, event, at: refs.guard.set_rules(event),
    ReadOnlySet: lambda refs, event, at: refs.guard.set_read_only(event),
    RepositoryClosed: lambda refs, event, at: refs.guard.close(at.number),
    RepositoryReopened: lambda refs, event, at: refs.guard.reopen(event),
}
