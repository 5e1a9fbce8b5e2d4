"""Pull requests: opens, changes, reviews, checks and lists them, with their comments. `pull_merge.py` merges them."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from lochan.concurrency import map_ahead
from lochan.errors import Conflict, Invalid
from lochan.formats import pull_events
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
from lochan.formats.record import Actor
from lochan.versioning.gate import (
    CLOSE_PULL,
    OPEN_PULL,
    REOPEN_PULL,
    REVIEW_PULL,
    UNJUDGED,
    UPDATE_PULL,
    Judged,
    RefChange,
)
from lochan.versioning.idempotency import nothing, once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.pulls import OPEN, STATUSES, PullState, TextPlace, pull_order
from lochan.versioning.state.pulls_fold import unserved_error
from lochan.versioning.state.refs import Refs

EVERY_STATUS = "all"
ENDED = "ended"  # closed or merged
_RECORDS_AT_ONCE = 8


class PullFilter(NamedTuple):
    status: str = OPEN
    author: str = ""
    source: str = ""
    target: str = ""
    after: str = ""  # only requests that were opened before this one

    def fits(self, pull: PullState) -> bool:
        wanted = {EVERY_STATUS: STATUSES, ENDED: STATUSES[1:]}.get(self.status, (self.status,))
        return (
            pull.status in wanted
            and self.author in ("", pull.author)
            and self.source in ("", pull.source)
            and self.target in ("", pull.target)
            and (not self.after or pull.order < pull_order(self.after))
        )


async def find_pulls(repository: OpenRepository, filter: PullFilter) -> list[PullState]:
    """Returns the pull requests that fit the filter, the newest first. Raises Invalid for a status or an id that does
    not exist."""
    choices = (*STATUSES, EVERY_STATUS, ENDED)
    if filter.status not in choices:
        raise Invalid(f"{filter.status!r} is no status of a pull request", hint=f"choose from {', '.join(choices)}")
    if filter.after and pull_order(filter.after) == (-1, -1):
        raise Invalid(f"{filter.after!r} is not the id of a pull request", hint="give one that a list has shown")
    refs, _ = await repository.refs()
    return [each for each in refs.pulls.all() if filter.fits(each)]


@once(same)
async def open_pull(
    repository: OpenRepository,
    source: str,
    target: str,
    title: str,
    text: str = "",
    reviewers: Sequence[str] = (),
    *,
    actor: Actor,
) -> str:
    """Opens a pull request, and returns its id."""
    event = PullOpened(source, target, title, text, tuple(dict.fromkeys(reviewers)), _mark(repository))
    judged = await _judge(repository, actor, OPEN_PULL, source, target)
    made = str(await repository.submit(actor, event))
    await judged.landed()
    return made


@once(nothing)
async def update_pull(
    repository: OpenRepository,
    id: str,
    title: str | None,
    text: str | None,
    reviewers: Sequence[str] | None,
    *,
    actor: Actor,
) -> None:
    distinct = None if reviewers is None else tuple(dict.fromkeys(reviewers))
    judged = await _judge_known(repository, actor, UPDATE_PULL, id)
    await repository.submit(actor, PullUpdated(id, title, text, distinct, _mark(repository)))
    await judged.landed()


@once(nothing)
async def close_pull(repository: OpenRepository, id: str, *, actor: Actor) -> None:
    judged = await _judge_known(repository, actor, CLOSE_PULL, id)
    await repository.submit(actor, PullClosed(id))
    await judged.landed()


@once(nothing)
async def reopen_pull(repository: OpenRepository, id: str, *, actor: Actor) -> None:
    judged = await _judge_known(repository, actor, REOPEN_PULL, id)
    await repository.submit(actor, PullReopened(id))
    await judged.landed()


@once(nothing)
async def review_pull(
    repository: OpenRepository, id: str, verdict: str, text: str, commit: str, *, served: bool, actor: Actor
) -> None:
    """Reviews a pull request. `commit` is the one that was reviewed; if it is empty, it is the head of the source
    when the review lands."""
    if not served:
        raise unserved_error()
    mark = _mark(repository)

    def decide(refs: Refs) -> Sequence[Event]:
        head = refs.branch(refs.pulls.need_open(id).source).head
        if commit and not head.startswith(commit):
            raise Conflict(f"the source of pull request {id} is at {head[:12]} now", hint="look at it again")
        return [PullReviewed(id, verdict, head, served, text, mark)]

    judged = await _judge_known(repository, actor, REVIEW_PULL, id)
    await repository.submit_decided(actor, decide)
    await judged.landed()


@once(nothing)
async def dismiss_review(repository: OpenRepository, id: str, user: str, text: str, *, actor: Actor) -> None:
    await repository.submit(actor, PullReviewDismissed(id, user, text, _mark(repository)))


@once(same)
async def comment_pull(
    repository: OpenRepository,
    id: str,
    text: str,
    path: str = "",
    conflict: bool = False,
    thread: str = "",
    *,
    actor: Actor,
) -> str:
    """Adds a comment, and returns its id."""
    event = PullCommented(id, _mark(repository), text, path, conflict, thread)
    return str(await repository.submit(actor, event))


@once(nothing)
async def edit_comment(repository: OpenRepository, id: str, comment: str, text: str, *, actor: Actor) -> None:
    await repository.submit(actor, PullCommentEdited(id, comment, text, _mark(repository)))


@once(nothing)
async def resolve_thread(repository: OpenRepository, id: str, thread: str, on: bool, *, actor: Actor) -> None:
    await repository.submit(actor, PullThreadResolved(id, thread, on))


@once(same)
async def report_check(
    repository: OpenRepository,
    commit: str,
    target: str,
    name: str,
    status: str,
    text: str = "",
    link: str = "",
    *,
    actor: Actor,
) -> str:
    """Records the outcome of a check of a commit, whoever has made it. It is the only way to record one. It counts for
    requests into the target. Returns the commit."""
    return str(await repository.submit(actor, CheckReported(commit, name, status, text, link, target)))


async def _judge_known(repository: OpenRepository, actor: Actor, verb: str, id: str) -> Judged:
    if repository.gate is None:
        return UNJUDGED
    refs, _ = await repository.refs()
    found = refs.pulls.get(id)
    return await _judge(repository, actor, verb, found.source, found.target, id)


async def _judge(repository: OpenRepository, actor: Actor, verb: str, source: str, target: str, id: str = "") -> Judged:
    """Asks the hooks of the repository. A request whose branches do not both exist is refused by its event, or needs no
    judgement. Raises HookRefused."""
    if repository.gate is None:
        return UNJUDGED
    refs, _ = await repository.refs()
    ours, theirs = refs.find_branch(target), refs.find_branch(source)
    if ours is None or theirs is None:
        return UNJUDGED
    change = RefChange(verb, target, theirs.head, ours.head, source, id)
    return await repository.gate.judge_ref(change, actor)


def _mark(repository: OpenRepository) -> str:
    return repository.ids.ksuid(repository.clock.wall())


# --- texts, which are in the journal alone ---------------------------------------------------------------------------
_WITH_TEXTS = frozenset(
    each.type
    for each in vars(pull_events).values()
    if isinstance(each, type) and issubclass(each, Event) and "mark" in each.__struct_fields__
)


async def read_texts(repository: OpenRepository, places: Iterable[TextPlace | None]) -> dict[TextPlace, str]:
    wanted: dict[int, set[str]] = {}
    for place in places:
        if place is not None:
            wanted.setdefault(place.record, set()).add(place.mark)

    async def read(record: int) -> dict[TextPlace, str]:
        return {
            TextPlace(record, event.mark): event.text
            async for event in _events_with_texts(repository, record)
            if event.mark in wanted[record]
        }

    found: dict[TextPlace, str] = {}
    async with aclosing(map_ahead(read, sorted(wanted), _RECORDS_AT_ONCE)) as several:
        async for each in several:
            found |= each
    return found


async def _events_with_texts(repository: OpenRepository, record: int) -> AsyncIterator[PullCommented]:
    journal = repository.journal
    async for sealed in journal.records(record - 1):
        for entry in sealed.record.entries:
            for change in entry.changes:
                if change.type in _WITH_TEXTS:
                    yield journal.schema.vocabulary.decode(change, journal.journal, record)
        return
