"""Events of a repository's journal about pull requests, and about checks of commits. Stored on disk.

A request is called by the number of the record that opened it. Its long texts are in these events alone: the state
keeps only where each text is, as the number of its record and its `mark`. So a checkpoint stays small, however much
people write. A request is merged by the event that moves its target (`moved`, with `pull`)."""

from typing import ClassVar

from lochan.formats.events import Event


class PullOpened(Event, frozen=True):
    """Opens a pull request. Valid while both branches exist, and no open request has the same two."""

    type: ClassVar[str] = "pull-opened"

    source: str  # the names of branches
    target: str
    title: str
    text: str = ""
    reviewers: tuple[str, ...] = ()  # users who were asked to review
    mark: str = ""


class PullUpdated(Event, frozen=True):
    """Changes a pull request. A field that is None stays as it is."""

    type: ClassVar[str] = "pull-updated"

    pull: str
    title: str | None = None
    text: str | None = None
    reviewers: tuple[str, ...] | None = None
    mark: str = ""


class PullClosed(Event, frozen=True):
    """Closes a pull request. Valid while it is open."""

    type: ClassVar[str] = "pull-closed"

    pull: str


class PullReopened(Event, frozen=True):
    """Reopens a pull request. Valid while it is closed, and was not merged."""

    type: ClassVar[str] = "pull-reopened"

    pull: str


class PullReviewed(Event, frozen=True):
    """Reviews a pull request. Valid while `commit` is the head of the source. The user who opened the request cannot
    review it."""

    type: ClassVar[str] = "pull-reviewed"

    pull: str
    verdict: str  # approve, changes or withdraw
    commit: str
    served: bool  # whether a server has written it, for a user that it has authenticated
    text: str = ""
    mark: str = ""


class PullReviewDismissed(Event, frozen=True):
    type: ClassVar[str] = "pull-review-dismissed"

    pull: str
    user: str  # the author of the review
    text: str = ""
    mark: str = ""


class PullCommented(Event, frozen=True):
    type: ClassVar[str] = "pull-commented"

    pull: str
    mark: str  # the id of the comment
    text: str
    path: str = ""  # empty if it is about the whole request
    conflict: bool = False  # whether it is about the conflict at that path
    thread: str = ""  # the comment that it answers; empty if it begins a thread


class PullCommentEdited(Event, frozen=True):
    """Replaces the text of a comment. Valid for the comment's author."""

    type: ClassVar[str] = "pull-comment-edited"

    pull: str
    comment: str
    text: str
    mark: str = ""


class PullThreadResolved(Event, frozen=True):
    type: ClassVar[str] = "pull-thread-resolved"

    pull: str
    thread: str  # the thread's first comment
    on: bool = True


class CheckReported(Event, frozen=True):
    """Reports a check of a commit. It holds for every request from that commit into that branch, and replaces an
    earlier check of the same name and branch."""

    type: ClassVar[str] = "check-reported"

    commit: str
    name: str
    status: str  # pending, success or failure
    text: str = ""
    link: str = ""
    target: str = ""  # the branch of the requests; empty for any branch, as in older records
