"""The effects of events on pull requests, and on the checks of commits. Every rule of the form "valid only while …" is
checked here. Merging is an event of the target: see `merge_gate.py`."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lochan.errors import Conflict, Invalid, NotFound, Refused, SameRef
from lochan.formats.events import Event
from lochan.formats.pull_events import (
    CheckReported,
    PullClosed,
    PullCommented,
    PullCommentEdited,
    PullOpened,
    PullReopened,
    PullReviewDismissed,
    PullReviewed,
    PullThreadResolved,
    PullUpdated,
)
from lochan.journal.state import EventPosition
from lochan.versioning.names import check_key
from lochan.versioning.state.branch import stash_id
from lochan.versioning.state.protection import check_name_mistakes
from lochan.versioning.state.pulls import (
    CHECK_STATUSES,
    CLOSED,
    OPEN,
    VERDICTS,
    WITHDRAW,
    CheckState,
    CommentState,
    PullState,
    ReviewState,
    TextPlace,
)
from lochan.versioning.state.refs_state import RefsState

TITLE_MAX = 256  # characters
TEXT_BYTES_MAX = 1 << 16  # bytes of a description, a review or a comment
REVIEWERS_MAX = 100
USER_NAME_MAX = 256
COMMENTS_MAX = 2_000  # comments on one request
CHECK_TEXT_MAX = 500
LINK_MAX = 1_000
CHECKS_MAX = 50  # checks of one commit for one target
_PULL = "pull"  # a name for `RecordNames`


def _opened(refs: RefsState, event: PullOpened, at: EventPosition) -> str:
    if event.source == event.target:
        raise SameRef(f"branch {event.source!r} cannot be merged into itself", hint="name another source or target")
    _check_title(event.title)
    _check_text(event.text)
    _check_reviewers(event.reviewers)
    refs.branch(event.source)
    refs.branch(event.target)
    refs.pulls.check_alone(event.source, event.target)
    id = stash_id(at.number, refs.record_names.count(_PULL, at.number))
    text = _place(event.text, event.mark, at)
    made = PullState(id, event.source, event.target, event.title, at.user, at.time, at.time, OPEN, text)
    refs.pulls.put(msgspec.structs.replace(made, reviewers=event.reviewers))
    return id


def _updated(refs: RefsState, event: PullUpdated, at: EventPosition) -> str:
    pull = refs.pulls.get(event.pull)
    changed: dict[str, Any] = {}
    if event.title is not None:
        _check_title(event.title)
        changed["title"] = event.title
    if event.text is not None:
        _check_text(event.text)
        changed["text"] = _place(event.text, event.mark, at)
    if event.reviewers is not None:
        _check_reviewers(event.reviewers)
        changed["reviewers"] = event.reviewers
    return _put(refs, pull, at, **changed)


def _closed(refs: RefsState, event: PullClosed, at: EventPosition) -> str:
    pull = refs.pulls.need_open(event.pull)
    return _put(refs, pull, at, status=CLOSED, ended=at.time, ended_by=at.user)


def _reopened(refs: RefsState, event: PullReopened, at: EventPosition) -> str:
    pull = refs.pulls.get(event.pull)
    if pull.status != CLOSED:
        raise Refused(f"pull request {pull.id} is {pull.status}", hint="only a closed one can be reopened")
    refs.branch(pull.source)
    refs.branch(pull.target)
    refs.pulls.check_alone(pull.source, pull.target)
    return _put(refs, pull, at, status=OPEN, ended=0, ended_by="")


# --- reviews ----------------------------------------------------------------------------------------------------------
def _reviewed(refs: RefsState, event: PullReviewed, at: EventPosition) -> str:
    pull = refs.pulls.need_open(event.pull)
    if event.verdict not in VERDICTS:
        raise Invalid(f"{event.verdict!r} is not a verdict", hint=f"choose from {', '.join(VERDICTS)}")
    if not event.served or not at.user:
        raise unserved_error()
    if at.user == pull.author:
        raise Refused(f"{at.user!r} opened pull request {pull.id}, and cannot review it", hint="ask somebody else")
    _check_text(event.text)
    source = refs.branch(pull.source)
    if event.commit != source.head:
        raise Conflict(
            f"branch {source.name!r} has other commits than those that were reviewed", hint="look at it again"
        )
    others = tuple(each for each in pull.reviews if each.user != at.user)
    if event.verdict == WITHDRAW:
        if len(others) == len(pull.reviews):
            raise NotFound(f"{at.user!r} has not reviewed pull request {pull.id}")
        return _put(refs, pull, at, reviews=others)
    text = _place(event.text, event.mark, at)
    review = ReviewState(at.user, event.verdict, event.commit, source.incarnation, at.time, text)
    return _put(refs, pull, at, reviews=(*others, review))


def unserved_error() -> Refused:
    return Refused(
        "reviews are given through a server, which knows who gives them",
        hint="connect to the server's URL with your access key",
    )


def _dismissed(refs: RefsState, event: PullReviewDismissed, at: EventPosition) -> str:
    pull = refs.pulls.need_open(event.pull)
    _check_text(event.text)
    if not any(each.user == event.user and not each.dismissed_by for each in pull.reviews):
        raise NotFound(f"{event.user!r} has no review of pull request {pull.id} that counts")
    reviews = tuple(
        msgspec.structs.replace(each, dismissed_by=at.user or "?") if each.user == event.user else each
        for each in pull.reviews
    )
    return _put(refs, pull, at, reviews=reviews)


# --- comments ---------------------------------------------------------------------------------------------------------
def _commented(refs: RefsState, event: PullCommented, at: EventPosition) -> str:
    pull = refs.pulls.get(event.pull)
    if not event.text.strip():
        raise Invalid("the comment is empty")
    _check_text(event.text)
    if len(pull.comments) >= COMMENTS_MAX:
        raise Refused(f"pull request {pull.id} has {COMMENTS_MAX} comments, which is the most")
    if not event.mark or any(each.id == event.mark for each in pull.comments):
        raise Invalid("the comment has no id of its own")
    if event.path:
        check_key(event.path)
    if event.conflict and not event.path:
        raise Invalid("a comment on a conflict needs its path")
    if event.thread:
        first = _comment(pull, event.thread)
        if first.thread or event.path or event.conflict:
            raise Invalid("an answer belongs to the first comment of a thread, and has no path of its own")
    text = TextPlace(at.number, event.mark)
    made = CommentState(event.mark, at.user, at.time, text, event.path, event.conflict, event.thread)
    _put(refs, pull, at, comments=(*pull.comments, made))
    return event.mark


def _comment_edited(refs: RefsState, event: PullCommentEdited, at: EventPosition) -> str:
    pull = refs.pulls.get(event.pull)
    found = _comment(pull, event.comment)
    if found.user != at.user:
        raise Refused(f"comment {found.id} was written by {found.user!r}", hint="only they can edit it")
    if not event.text.strip():
        raise Invalid("the comment is empty")
    _check_text(event.text)
    edited = msgspec.structs.replace(found, text=TextPlace(at.number, event.mark), edited=at.time)
    _put(refs, pull, at, comments=_replace_comment(pull, edited))
    return found.id


def _thread_resolved(refs: RefsState, event: PullThreadResolved, at: EventPosition) -> str:
    pull = refs.pulls.get(event.pull)
    found = _comment(pull, event.thread)
    if found.thread:
        raise Invalid(f"comment {found.id} is an answer", hint=f"name the first one of its thread, {found.thread}")
    resolved = msgspec.structs.replace(found, resolved_by=(at.user or "?") if event.on else "")
    _put(refs, pull, at, comments=_replace_comment(pull, resolved))
    return found.id


def _comment(pull: PullState, id: str) -> CommentState:
    for each in pull.comments:
        if each.id == id:
            return each
    raise NotFound(f"pull request {pull.id} has no comment {id!r}")


def _replace_comment(pull: PullState, comment: CommentState) -> tuple[CommentState, ...]:
    return tuple(comment if each.id == comment.id else each for each in pull.comments)


# --- checks -----------------------------------------------------------------------------------------------------------
def _check_reported(refs: RefsState, event: CheckReported, at: EventPosition) -> str:
    for mistake in check_name_mistakes(event.name):
        raise Invalid(f"the report {mistake}")
    if event.status not in CHECK_STATUSES:
        raise Invalid(f"{event.status!r} is no status of a check", hint=f"choose from {', '.join(CHECK_STATUSES)}")
    if len(event.text) > CHECK_TEXT_MAX:
        raise Invalid(f"the text of a check has at most {CHECK_TEXT_MAX} characters, not {len(event.text)}")
    _check_link(event.link)
    refs.commit(event.commit)
    earlier = refs.pulls.checks(event.commit, event.target)
    if len(earlier) >= CHECKS_MAX and all((each.name, each.target) != (event.name, event.target) for each in earlier):
        raise Refused(f"commit {event.commit[:12]} has {CHECKS_MAX} checks, which is the most")
    made = CheckState(event.name, event.status, event.text, event.link, at.user, at.time, event.target)
    refs.pulls.put_check(event.commit, made, at.number)
    return event.commit


def _check_link(link: str) -> None:
    """Raises Invalid unless the text is an http or https URL, because users will click on it."""
    if not link:
        return
    try:
        parts = urlsplit(link)
        fits = parts.scheme in ("http", "https") and bool(parts.netloc)
    except ValueError:
        fits = False
    if not fits or len(link) > LINK_MAX or not link.isprintable() or " " in link:
        raise Invalid(
            f"{link[:80]!r} cannot be the link of a check",
            hint=f"give a URL that begins with http:// or https://, of at most {LINK_MAX} characters",
        )


# --- steps that several events share ----------------------------------------------------------------------------------
def _put(refs: RefsState, pull: PullState, at: EventPosition, **changed: Any) -> str:
    refs.pulls.put(msgspec.structs.replace(pull, updated=at.time, **changed))
    return pull.id


def _place(text: str, mark: str, at: EventPosition) -> TextPlace | None:
    if text and not mark:
        raise Invalid("the text has no mark by which it can be found")
    return TextPlace(at.number, mark) if text else None


def _check_title(title: str) -> None:
    if not title.strip() or not title.isprintable() or len(title) > TITLE_MAX:
        raise Invalid(
            f"{title[:80]!r} cannot be the title of a pull request",
            hint=f"it is one line of 1 to {TITLE_MAX} printable characters",
        )


def _check_text(text: str) -> None:
    size = len(text.encode(errors="surrogatepass"))
    if size > TEXT_BYTES_MAX:
        raise Invalid(f"the text has {size:,} bytes; {TEXT_BYTES_MAX:,} is the most", hint="put it into an object")


def _check_reviewers(users: tuple[str, ...]) -> None:
    if len(users) > REVIEWERS_MAX or len(set(users)) != len(users):
        raise Invalid(f"a reviewer is named twice, or there are more than {REVIEWERS_MAX}")
    for each in users:
        if not each or len(each) > USER_NAME_MAX or not each.isprintable():
            raise Invalid(f"{each[:40]!r} cannot be a user's name")


PULL_HANDLERS: dict[type[Event], Callable[[RefsState, Any, EventPosition], Any]] = {
    PullOpened: _opened,
    PullUpdated: _updated,
    PullClosed: _closed,
    PullReopened: _reopened,
    PullReviewed: _reviewed,
    PullReviewDismissed: _dismissed,
    PullCommented: _commented,
    PullCommentEdited: _comment_edited,
    PullThreadResolved: _thread_resolved,
    CheckReported: _check_reported,
}
