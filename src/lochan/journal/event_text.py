"""One line of words for each event: what happened, to what."""

from collections.abc import Sequence

from lochan.formats import collection_events as collection
from lochan.formats import lake_events as lake
from lochan.formats import repository_events as repository
from lochan.formats import workspace_events as workspace
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.events import Event

_NAMED_MAX = 3  # of many paths the first few are named
_DIGITS = 12  # of a commit's id


def describe(event: Event | None, type: str) -> str:
    """`type` is the event's name, which is all that is known of one that a newer program wrote."""
    if event is None:
        return f"{type} (written by a newer Lochan)"
    return _repository(event) or _ref(event) or _object(event) or _access(event) or type


def _repository(event: Event) -> str:
    match event:
        case repository.RepositoryOpened():
            return f"began with branch {event.default_branch}"
        case lake.RepositoryCreated():
            return f"created {'pool' if event.kind == 'pool' else 'repository'} {event.name}"
        case lake.RepositoryRenamed():
            return f"renamed repository {event.id} to {event.to}"
        case lake.RepositoryDeleted():
            return f"deleted repository {event.id}"
        case repository.ProtectionSet():
            patterns = ", ".join(rule.pattern for rule in event.rules)
            return f"protected branches: {patterns}" if patterns else "lifted the protection of all branches"
        case repository.ReadOnlySet():
            return "made the repository read-only" if event.on else "made the repository writable"
        case collection.Opened():
            return f"opened {event.kind} {event.id}"
        case collection.Abandoned():
            return f"abandoned {', '.join(event.ids)}"
        case collection.Planned():
            return f"planned a garbage collection of files from before record {event.cut}"
        case collection.PlanEnded():
            return f"ended the garbage collection planned in record {event.plan}: {event.how}"
        case collection.Expired():
            return f"expired {_count(event.commits, 'commit')}, {_count(event.branches, 'deleted branch')}"
        case collection.Aliased():
            return f"aliased {event.address} to {event.target}"
    return ""


def _ref(event: Event) -> str:
    match event:
        case repository.Sealed():
            return f"began a commit of {event.branch}"
        case repository.Committed():
            then = f", then {_commit(event.then)}" if event.then is not None else ""
            return f"committed {event.branch}: {_commit(event.commit)}{then}"
        case repository.Moved():
            what = _commit(event.commits[-1]) if event.commits else event.target[:_DIGITS]
            if event.workspace:
                return f"committed workspace {event.workspace} to {event.branch}: {what}"
            return f"{event.why or 'move'} on {event.branch}: {what}"
        case repository.Turned():
            return f"queued for {event.branch}"
        case repository.TurnOver():
            return f"left the queue for {event.branch}"
        case repository.BranchCreated():
            return f"created branch {event.name} at {event.commit[:_DIGITS]}"
        case repository.BranchDeleted():
            return f"deleted branch {event.name}"
        case repository.BranchRestored():
            return f"restored branch {event.name}"
        case repository.BranchRenamed():
            return f"renamed branch {event.name} to {event.to}"
        case repository.TagCreated():
            return f"created tag {event.name} at {event.commit[:_DIGITS]}"
        case repository.TagDeleted():
            return f"deleted tag {event.name}"
        case repository.Stashed():
            return f"stashed the changes of {event.branch}{_message(event.message)}"
        case repository.Popped():
            return f"popped stash {event.stash} onto {event.branch}"
        case repository.StashDropped():
            return f"dropped stash {event.stash}"
    return ""


def _object(event: Event) -> str:
    match event:
        case repository.Staged():
            return f"on {event.branch}: {_changes(event.puts, event.deletes)}"
        case repository.RunsStaged():
            return f"on {event.branch}: changed {sum(run.count for run in event.runs):,} objects at once"
        case repository.Compacted():
            return f"compacted what is staged on {event.branch}"
        case repository.UploadOpened():
            return f"began an upload of {event.branch}/{event.path}"
        case repository.PartPut():
            return f"put part {event.number} of upload {event.upload}"
        case repository.UploadAborted():
            return f"aborted upload {event.upload}"
        case workspace.WorkspaceOpened():
            return f"opened a workspace on {event.branch}{_message(event.note)}"
        case workspace.WorkspaceStaged():
            return f"in workspace {event.workspace}: {_changes(event.puts, event.deletes)}"
        case workspace.WorkspaceAdded():
            return f"in workspace {event.workspace}: chose {', '.join(event.patterns)}"
        case workspace.WorkspaceReverted():
            return f"in workspace {event.workspace}: reverted {', '.join(event.patterns)}"
        case workspace.WorkspaceSealed():
            return f"began the commit of workspace {event.workspace}"
        case workspace.WorkspaceDropped():
            return f"dropped workspace {event.workspace}"
    return ""


def _access(event: Event) -> str:
    match event:
        case lake.AdminCreated():
            return f"created the first administrator {event.user}, with key {event.key}"
        case lake.UserCreated():
            return f"created user {event.name}"
        case lake.UserDeleted():
            return f"deleted user {event.name}"
        case lake.KeyCreated():
            return f"created key {event.id} for {event.user}"
        case lake.KeyRevoked():
            return f"revoked key {event.id}"
        case lake.PolicyPut():
            return f"put policy {event.name}"
        case lake.PolicyDeleted():
            return f"deleted policy {event.name}"
        case lake.PolicyAttached():
            return f"attached policy {event.policy} to {event.principal}"
        case lake.PolicyDetached():
            return f"detached policy {event.policy} from {event.principal}"
    return ""


def _changes(puts: Sequence[Entry], deletes: Sequence[str]) -> str:
    by_verb = {"put": [entry.path for entry in puts], "deleted": deletes}
    return ", ".join(f"{verb} {_paths(paths)}" for verb, paths in by_verb.items() if paths) or "nothing"


def _paths(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED_MAX
    return ", ".join(paths[:_NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


def _commit(commit: Commit) -> str:
    first, _, _ = commit.message.partition("\n")
    return f"{commit.id[:_DIGITS]}{_message(first)}"


def _message(text: str) -> str:
    return f" “{text}”" if text else ""


def _count(things: Sequence[object], noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{len(things):,} {noun if len(things) == 1 else plural}"
