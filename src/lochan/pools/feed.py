"""The new rows of a branch, commit by commit, for readers that come back again and again and keep their position.

A position is a commit: all rows up to it were read. The next positions are on the branch's own line, by first parents.
The rows between two positions never change, so a reader that reads a span again finds the same rows, wherever the
branch is by then. The position before everything (`WHOLE`) is followed by all rows of one commit.

Rows that were deleted or rewritten cannot be reported as new rows. They end the feed, unless the reader has chosen:

    ignore_deletes        commits that only delete are passed over
    skip_change_commits   commits that rewrite rows are passed over too, with the rows that they add
    ignore_changes        rewritten rows count as new; rows that were read before come again"""

from __future__ import annotations

from shlex import quote
from typing import NamedTuple

from lochan.errors import Gone, Invalid, NotFound, Refused
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.pools.changes import ChangeKind, CommitChange, LeftLine, change_of, line
from lochan.pools.feed_options import EARLIEST, LATEST, WHOLE, FeedOptions
from lochan.pools.objects import entries
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import parse_time

_RESTART = "start a new stream with another checkpoint"


class FeedBranch(NamedTuple):
    """The branch that is followed. REQUIRES: the repository's refs were read."""

    repository: OpenRepository
    name: str

    @property
    def about(self) -> str:
        return f"{self.repository.repository.name}@{self.name}"

    async def head(self) -> str:
        refs, _ = await self.repository.refs()
        return refs.branch(self.name).head

    def commit(self, id: str) -> Commit:
        return self.repository.folded().recorded(id)


class FeedSpan(NamedTuple):
    """Changes to be read. The rows of the whole branch (`whole`) do not belong to single commits."""

    changes: tuple[CommitChange, ...]
    whole: tuple[Entry, ...] = ()
    whole_at: str = ""
    whole_time: int = 0

    @property
    def entries(self) -> list[Entry]:
        return [*self.whole, *(entry for each in self.changes for entry in (*each.removed, *each.added))]


# --- where it begins and ends ----------------------------------------------------------------------------------------
async def start_of(branch: FeedBranch, options: FeedOptions, head: str) -> str:
    """Returns the position at which a feed begins. `head` is the branch's head when the feed was first used. Raises
    NotFound, Invalid, LeftLine."""
    if options.timestamp:
        return _before_time(branch, options.timestamp, head)
    if options.after:
        return await _on_line(branch, options.after, head)
    if options.version == LATEST:
        return head
    if options.version == EARLIEST:
        return _first(branch, head)
    if options.version:
        id = await _on_line(branch, options.version, head)
        return next(iter(branch.commit(id).parents), id)
    return WHOLE


async def end_of(branch: FeedBranch, start: str | None, options: FeedOptions) -> str:
    """Returns the position that the next batch reads up to. If `start` is None, that is the branch's head, so that
    everything is one batch. Raises LeftLine if the branch was moved elsewhere."""
    head = await branch.head()
    if start is None or start == WHOLE:
        return head
    ahead = _line(branch, start, head)[: options.commits_max or None]
    if not options.bytes_max:
        return ahead[-1] if ahead else start
    end, size = start, 0
    for id in ahead:
        size += (await change_of(branch.repository, id)).size_bytes
        if end != start and size > options.bytes_max:
            break
        end = id
    return end


async def span_of(branch: FeedBranch, start: str, end: str, options: FeedOptions) -> FeedSpan:
    """Returns the changes between two positions. Raises Refused for rows that were deleted or rewritten, depending on
    the options; LeftLine, Gone."""
    if start == WHOLE:
        return await _whole(branch, end)
    found = []
    for id in _line(branch, start, end):
        change = await change_of(branch.repository, id)
        if change.kind != ChangeKind.NONE and (options.changes or _is_read(branch, change, options)):
            found.append(change)
    return FeedSpan(tuple(found))


def _is_read(branch: FeedBranch, change: CommitChange, options: FeedOptions) -> bool:
    match change.kind:
        case ChangeKind.DELETE:
            if options.ignore_deletes or options.ignore_changes or options.skip_change_commits:
                return False
            raise Refused(f"{change} deleted rows of {branch.about}, and a stream has new rows alone", hint=_ON_DELETE)
        case ChangeKind.REWRITE:
            if options.skip_change_commits:
                return False
            if options.ignore_changes:
                return True
            text = f"{change} wrote rows of {branch.about} anew, and which of them are new is not known"
            raise Refused(text, hint=_ON_REWRITE)
    return True


_ON_DELETE = "set ignoreDeletes to pass over such commits, or readChangeFeed to have deleted rows too"
_ON_REWRITE = (
    "set skipChangeCommits to pass over such commits, ignoreChanges to read all that they wrote, or readChangeFeed to "
    "have the rows compared"
)


async def _whole(branch: FeedBranch, end: str) -> FeedSpan:
    repository = branch.repository
    try:
        commit = repository.folded().commit(end)
        tree = await repository.tree(commit)
    except Gone as error:
        raise Gone(f"{branch.about}: {error.message}", hint=_RESTART) from error
    return FeedSpan((), tuple(entries_of(await entries(tree))), end, commit.date)


def _line(branch: FeedBranch, start: str, end: str) -> list[str]:
    try:
        return line(branch.commit, start, end)
    except NotFound as error:
        text = f"{branch.about} has no commit {start[:12]}, up to which the stream was read"
        raise LeftLine(text, hint=f"the pool was made anew; {_RESTART}") from error
    except LeftLine as error:
        if _follows(branch, end, start):
            hint = "leave maxCommitsPerTrigger and maxBytesPerTrigger out with Trigger.AvailableNow"
            text = f"{branch.about}: a batch cannot begin at commit {start[:12]} and end before it, at {end[:12]}"
            raise Refused(text, hint=hint) from error
        text = f"{branch.about} was moved: its line no longer has commit {start[:12]}, up to which the stream was read"
        raise LeftLine(text, hint=f"move the branch back, or {_RESTART}") from error


def _follows(branch: FeedBranch, start: str, end: str) -> bool:
    try:
        return bool(line(branch.commit, start, end))
    except LeftLine:
        return False


def _first(branch: FeedBranch, head: str) -> str:
    """Returns the first commit of the branch's line, which is empty in a pool."""
    id = head
    while parents := branch.commit(id).parents:
        id = parents[0]
    return id


async def _on_line(branch: FeedBranch, ref: str, head: str) -> str:
    found = await branch.repository.resolve(ref)
    try:
        line(branch.commit, found.commit_id, head)
    except LeftLine as error:
        raise Invalid(
            f"commit {found.commit_id[:12]} is not on the line of {branch.about}",
            hint=f"`lochan log {quote(branch.about)} --first-parent` shows the commits that are",
        ) from error
    return found.commit_id


def _before_time(branch: FeedBranch, text: str, head: str) -> str:
    """Returns the newest commit that is older than the time."""
    now = branch.repository.clock.wall()
    time = parse_time(text, now)
    if time > now:
        raise Invalid(f"{text!r} is in the future", hint="give startingVersion=latest to read what comes from now on")
    id = head
    while (commit := branch.commit(id)).parents and commit.date >= time:
        id = commit.parents[0]
    return id
