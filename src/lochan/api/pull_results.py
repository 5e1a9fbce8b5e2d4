"""Results of verbs about pull requests, and choices for a conflict."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.versioning.state.pulls import CheckState, CommentState, PullState, ReviewState, TextPlace


class PullRequestSummary(Result, frozen=True, kw_only=True):
    """A pull request in a list."""

    id: str
    title: str
    status: str  # open, closed, merged
    author: str
    source: str
    target: str
    created: datetime
    updated: datetime
    comments: int
    ended: datetime | None = None  # when it was closed or merged
    commit: str = ""  # the head of the target that merged it
    description: str | None = None  # None if it was not requested

    @classmethod
    def of(cls, found: PullState, description: str | None = None) -> PullRequestSummary:
        return cls(**_summary(found), description=description)  # type: ignore[arg-type]


class PullReview(Result, frozen=True, kw_only=True):
    """The last review of a user."""

    user: str
    verdict: str  # approve or changes
    commit: str  # the head of the source that was reviewed
    date: datetime
    text: str
    current: bool  # whether that is still the head of the source
    dismissed_by: str  # empty if it stands
    active: bool  # whether the user is neither disabled nor deleted

    @classmethod
    def of(cls, found: ReviewState, text: str, head: str, active: bool) -> PullReview:
        return cls(
            user=found.user,
            verdict=found.verdict,
            commit=found.commit,
            date=moment(found.time),
            text=text,
            current=found.commit == head,
            dismissed_by=found.dismissed_by,
            active=active,
        )


class PullCheck(Result, frozen=True, kw_only=True):
    """The result of a check of a commit."""

    name: str
    status: str  # pending, success, failure
    text: str
    link: str
    user: str
    date: datetime
    commit: str
    required: bool  # whether a rule of the target requires it

    @classmethod
    def of(cls, found: CheckState, commit: str, required: bool) -> PullCheck:
        return cls(
            name=found.name,
            status=found.status,
            text=found.text,
            link=found.link,
            user=found.user,
            date=moment(found.time),
            commit=commit,
            required=required,
        )


class PullRequestInfo(PullRequestSummary, frozen=True, kw_only=True):
    head: str  # the head of the source, or what was merged of a merged request; empty if the source is gone
    reviewers: tuple[str, ...]  # users who were requested to review it
    reviews: tuple[PullReview, ...]
    checks: tuple[PullCheck, ...]
    threads: int  # the number of threads that are not resolved
    ended_by: str
    unmet: tuple[str, ...]  # why it cannot be merged yet; conflicts are found by `conflicts`


class PullComment(Result, frozen=True, kw_only=True):
    id: str
    user: str
    date: datetime
    text: str
    path: str  # empty if it is about the whole request
    conflict: bool  # it is about the conflict at that path
    thread: str  # the comment that it answers; empty if it begins a thread
    edited: datetime | None
    resolved_by: str  # the user who resolved the thread that this comment begins; empty if it is not resolved

    @classmethod
    def of(cls, found: CommentState, texts: Mapping[TextPlace, str]) -> PullComment:
        return cls(
            id=found.id,
            user=found.user,
            date=moment(found.time),
            text=texts.get(found.text, ""),
            path=found.path,
            conflict=found.conflict,
            thread=found.thread,
            edited=moment(found.edited) if found.edited else None,
            resolved_by=found.resolved_by,
        )


class Resolution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision about a path that both branches have changed."""

    path: str
    take: str  # ours: the target's version; theirs: the source's; base: as it was before both; bytes: `content`
    content: bytes = b""  # base64 in JSON


def info_of(
    found: PullState,
    texts: Mapping[TextPlace, str],
    head: str,
    checks: tuple[PullCheck, ...],
    unmet: tuple[str, ...],
    inactive: tuple[str, ...],
) -> PullRequestInfo:
    reviews = tuple(
        PullReview.of(each, _text(texts, each.text), head, each.user not in inactive) for each in found.reviews
    )
    return PullRequestInfo(
        **_summary(found),  # type: ignore[arg-type]
        description=_text(texts, found.text),
        head=head,
        reviewers=found.reviewers,
        reviews=reviews,
        checks=checks,
        threads=sum(1 for each in found.comments if not each.thread and not each.resolved_by),
        ended_by=found.ended_by,
        unmet=unmet,
    )


def _text(texts: Mapping[TextPlace, str], place: TextPlace | None) -> str:
    return "" if place is None else texts.get(place, "")


def _summary(found: PullState) -> dict[str, object]:
    return {
        "id": found.id,
        "title": found.title,
        "status": found.status,
        "author": found.author,
        "source": found.source,
        "target": found.target,
        "created": moment(found.created),
        "updated": moment(found.updated),
        "comments": len(found.comments),
        "ended": moment(found.ended) if found.ended else None,
        "commit": found.merged,
    }
