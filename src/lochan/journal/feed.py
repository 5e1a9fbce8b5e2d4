"""The events of one journal or of several, in the order in which they happened, each with a line of text for people.

Within a journal, record numbers order the events. Between journals only the writers' wall clocks do, and those may
differ a little."""

import heapq
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.formats import collection_events as collection
from lochan.formats import events
from lochan.formats import lake_events as lake
from lochan.formats import repository_events as repository
from lochan.formats import workspace_events as workspace
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.events import Event
from lochan.formats.record import SealedRecord
from lochan.journal.journal import Journal
from lochan.journal.pull_texts import pull_text

_FOLLOW_PAUSE_S = 0.5
_NAMED_MAX = 3  # if there are many paths, the first few are named
_DIGITS = 12  # digits of a commit's id
_END_CHARACTERS = 8  # characters of a journal's id in cursors
_PART = re.compile(r"([0-9A-Za-z_]{1,8}):([0-9]{1,18})(?:\.([0-9]{1,9}))?")
OpenJournals = Callable[[], Awaitable[Sequence[Journal]]]


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event, with everything that is known about it."""

    number: int  # the logical time: within a journal, later events have higher numbers
    index: int  # the event's place in the record
    time: int  # wall-clock time in microseconds since 1970
    user: str
    client: str
    source: str
    repository: str  # the id of a repository, or _lake
    type: str
    payload: dict[str, Any]  # the event's fields by name, without secrets
    text: str  # one line that describes the event
    author: str = ""  # the person on whose behalf the user acts, if there is one
    cursor: str = ""  # in a feed: the cursor after this event, for `read_events`
    ends_record: bool = False  # whether it is the last event of its record


async def read_events(
    open: OpenJournals, clock: Clock, *, last: int | None = None, after: int | str | None = None, follow: bool = False
) -> AsyncIterator[EventLine]:
    """Yields events, the newest last: either the `last` events of all journals together, or those `after` the cursor of
    an event, or after the record of that number, which works only with a single journal. With `follow`, it yields
    future events too. Raises Invalid for a text that is no cursor."""
    positions = FeedPositions()
    if after is None:
        found = await last_events(await open(), last, positions)
        for line in found:
            yield positions.passed(line)
    else:
        journals = await open()
        if isinstance(after, str):
            positions.parse(after, journals)
        else:
            (journal,) = journals
            positions.begin(journal.journal, after)
        async for line in _events_after(journals, positions):
            yield line
    while follow:
        async for line in _events_after(await open(), positions):
            yield line
        await clock.sleep(_FOLLOW_PAUSE_S)


class FeedPositions:
    """The position of a feed in each of its journals. Its text is the cursor: `journal:number` for each journal whose
    records up to that number were shown, or `journal:number.index` in the middle of a record. Ids are cut to their
    ends, which are random, because a cursor has to fit into the header of a request."""

    def __init__(self) -> None:
        self._at: dict[str, tuple[int, int | None]] = {}

    def begin(self, journal: str, number: int) -> None:
        """Sets the position after that record."""
        self._at[journal] = number, None

    def parse(self, cursor: str, journals: Sequence[Journal]) -> None:
        """Sets the positions of a cursor. Journals that it does not name begin at their first record. Raises
        Invalid."""
        by_end = {_end(each.journal): each.journal for each in journals}
        for part in cursor.split(","):
            found = _PART.fullmatch(part)
            if found is None:
                raise Invalid(f"{part[:40]!r} is not the position of an event", hint="give one that a feed has shown")
            end, number, index = found.groups()
            if end in by_end:  # otherwise its repository is gone
                self._at[by_end[end]] = int(number), None if index is None else int(index)

    def after(self, journal: str) -> int:
        """Returns the number up to which records need not be read again."""
        number, index = self._at.get(journal, (0, None))
        return number if index is None else number - 1

    def knows(self, line: EventLine) -> bool:
        number, index = self._at.get(line.repository, (0, None))
        return line.number == number and index is not None and line.index <= index

    def passed(self, line: EventLine) -> EventLine:
        """Returns the event with the cursor after it, and moves the position there."""
        self._at[line.repository] = line.number, None if line.ends_record else line.index
        return replace(line, cursor=str(self))

    def __str__(self) -> str:
        return ",".join(
            f"{_end(journal)}:{number}{'' if index is None else f'.{index}'}"
            for journal, (number, index) in self._at.items()
        )


def _end(journal: str) -> str:
    return journal[-_END_CHARACTERS:]


async def last_events(
    journals: Sequence[Journal], count: int | None, positions: FeedPositions | None = None
) -> list[EventLine]:
    """Returns the last `count` events of all journals together, or all of them, the newest last. Sets the positions
    before the first of them."""
    several = []
    for journal in journals:
        # Hardly any record holds no event, so the last records are enough. One more shows where they begin.
        after = 0 if count is None else max(0, (await journal.fresh()).number - count - 1)
        several.append([line async for line in events_after(journal, after)])
        if positions is not None:
            positions.begin(journal.journal, after)
    merged = list(heapq.merge(*several, key=lambda line: line.time))
    shown = merged if count is None else merged[max(0, len(merged) - count) :]
    if positions is not None:
        for line in merged[: len(merged) - len(shown)]:
            positions.passed(line)
    return shown


async def _events_after(journals: Sequence[Journal], positions: FeedPositions) -> AsyncIterator[EventLine]:
    """Yields the events journal by journal. A journal without a position is read from its beginning."""
    for journal in journals:
        async for line in events_after(journal, positions.after(journal.journal)):
            if not positions.knows(line):
                yield positions.passed(line)


async def events_after(journal: Journal, number: int) -> AsyncIterator[EventLine]:
    """Yields the events of records with a higher number."""
    async for sealed in journal.records(number):
        for line in lines(sealed):
            yield line


def lines(sealed: SealedRecord) -> list[EventLine]:
    """Returns the events of a record."""
    record = sealed.record
    changes = [(entry, change) for entry in record.entries for change in entry.changes]
    return [
        EventLine(
            record.number,
            index,
            record.time,
            entry.actor.user,
            entry.actor.client,
            entry.actor.source,
            record.journal,
            change.type,
            events.event_fields(change),
            describe(events.read(change), change.type),
            entry.actor.author,
            ends_record=index == len(changes) - 1,
        )
        for index, (entry, change) in enumerate(changes)
    ]


def describe(event: Event | None, type: str) -> str:
    """Returns a line of text about the event. `type` is the event's name, which is all that is known about an event of
    a newer version."""
    if event is None:
        return f"{type} (written by a newer Lochan)"
    return _repository(event) or _ref(event) or _object(event) or pull_text(event) or _access(event) or type


def _repository(event: Event) -> str:
    match event:
        case repository.RepositoryOpened():
            return f"began with branch {event.default_branch}"
        case lake.RepositoryCreated():
            where = f" in {event.storage}" if event.storage else ""
            return f"created {'pool' if event.kind == 'pool' else 'repository'} {event.name}{where}"
        case lake.RepositoryMoved():
            return f"moved repository {event.id} to {event.storage or 'the lake'}"
        case lake.RepositoryRenamed():
            return f"renamed repository {event.id} to {event.to}"
        case lake.RepositoryDescribed():
            return f"set metadata of repository {event.id}: {', '.join(sorted((*event.set, *event.removed)))}"
        case lake.RepositoryDeleted():
            return f"deleted repository {event.id}"
        case lake.UpkeepStarted():
            return f"began upkeep: {event.task}"
        case lake.QuerySaved():
            return f"saved the query {event.name} of {event.user}"
        case lake.QueryDeleted():
            return f"deleted the query {event.name} of {event.user}"
        case lake.SubscriptionCreated():
            return f"subscribed {event.url} to events, as {event.id}"
        case lake.SubscriptionDeleted():
            return f"deleted subscription {event.id}"
        case lake.RedeliveryRequested():
            return f"asked for {_count(range(event.letters), 'dead letter')} of subscription {event.id} once more"
        case lake.DamageFound():
            if not event.damaged:
                return f"found no damage any more in repository {event.repository}"
            first = f": {event.files[0].kind} {event.files[0].address}" if event.files else ""
            return f"found {_count(range(event.found), 'damaged file')} in repository {event.repository}{first}"
        case lake.RepositoryRestored():
            return f"restored repository {event.id} as {event.name}"
        case lake.RepositoryFound():
            return f"found repository {event.id}, which has no name, and counts as deleted"
        case lake.RepositoryExpired():
            return f"repository {event.id} can no longer be restored"
        case lake.RepositoryErased():
            return f"erased the {event.files:,} files of repository {event.id}"
        case repository.RepositoryClosed():
            return "closed the repository, which is being deleted"
        case repository.RepositoryReopened():
            return "reopened the repository, which was restored"
        case repository.ProtectionSet():
            patterns = ", ".join(rule.pattern for rule in event.rules)
            return f"protected branches: {patterns}" if patterns else "lifted the protection of all branches"
        case repository.ReadOnlySet():
            return "made the repository read-only" if event.on else "made the repository writable"
        case collection.Opened():
            return f"opened {event.kind} {event.id}"
        case collection.Abandoned():
            return f"abandoned {', '.join(event.ids)}"
        case collection.PlanBegun():
            return f"began a garbage collection of files from before record {event.cut}"
        case collection.Planned():
            return f"planned a garbage collection of files from before record {event.cut}"
        case collection.PlanEnded():
            return f"ended the garbage collection planned in record {event.plan}: {event.how}"
        case collection.Expired():
            return f"expired {_count(event.commits, 'commit')}, {_count(event.branches, 'deleted branch')}"
        case collection.RetentionSet():
            patterns = ", ".join([*(rule.pattern for rule in event.rules), *(rule.name for rule in event.drops)])
            verb = "took the lake's" if event.default else "set"
            return f"{verb} retention rules for {patterns}" if patterns else f"{verb} no retention rules"
        case collection.DefaultRetentionSet():
            changed = event.rules
            patterns = ", ".join([*(rule.pattern for rule in changed.rules), *(rule.name for rule in changed.drops)])
            return f"set default retention rules for {patterns}" if patterns else "set no default retention rules"
        case collection.Aliased():
            return f"aliased {event.address} to {event.target}"
        case collection.AliasTablesSet():
            return f"set {event.aliases} aliases of spans"
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
            if event.pull:
                return f"merged pull request {event.pull} into {event.branch}: {what}"
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
        case repository.HistoryRestored():
            refs = ", ".join([*event.branches, *event.tags])
            return f"restored {len(event.commits):,} commits{refs and f' and {refs}'}"
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
        case lake.UserDisabled():
            return f"{'disabled' if event.on else 'enabled'} user {event.name}"
        case lake.IdentityLinked():
            return f"linked {event.subject} of {event.source} to user {event.user}"
        case lake.IdentityUnlinked():
            return f"unlinked {event.subject} of {event.source}"
        case lake.SessionOpened():
            return f"{event.user} signed in by {event.how}, session {event.id}"
        case lake.SessionEnded():
            return f"ended session {event.id}"
        case lake.GroupCreated():
            return f"created group {event.name}"
        case lake.GroupDeleted():
            return f"deleted group {event.name}"
        case lake.MemberAdded():
            return f"added {event.user} to group {event.group}"
        case lake.MemberRemoved():
            return f"removed {event.user} from group {event.group}"
        case lake.KeyExpirySet():
            return f"access key {event.id} will expire"
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
