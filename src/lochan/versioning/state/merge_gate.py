"""Decides whether a pull request may be merged, by every rule of its target and by its reviews.

The fold checks this at every merge of a request, so that there is no way around it. `unmet` yields all reasons at once;
otherwise a user who has dealt with one of three would only then learn of the next."""

from collections.abc import Callable, Collection, Iterator

import msgspec

from lochan.errors import Conflict, Invalid, NotFound, RulesUnmet
from lochan.formats.repository_events import Moved, Protection
from lochan.journal.state import EventPosition
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.pulls import APPROVE, CHANGES, FAILURE, MERGED, PENDING, SUCCESS, PullState
from lochan.versioning.state.refs_state import RefsState

_ASK = "default"  # the strategy of a merge that stops at conflicts
_WHY = "merge"


def check_merge(refs: RefsState, event: Moved, user: str, is_linear: Callable[[], bool]) -> None:
    """Raises RulesUnmet with all reasons, and Conflict if the source was moved meanwhile."""
    pull = refs.pulls.need_open(event.pull)
    if pull.target != event.branch or event.why != _WHY or event.workspace or event.discard:
        raise Invalid(f"this is no merge of pull request {pull.id}")
    source = refs.branch(pull.source)
    _check_source(refs, event, source)
    found = [*unmet(refs, pull, event.inactive), *refs.guard.of(pull.target).unmet(user, is_linear)]
    if found:
        raise rules_unmet(pull.id, found)


def rules_unmet(id: str, reasons: list[str]) -> RulesUnmet:
    from shlex import quote

    return RulesUnmet(
        f"pull request {id} cannot be merged: {'; '.join(reasons)}",
        hint=f"`lochan pr show REPO {quote(id)}` shows what is missing",
        reasons=reasons,
    )


def _check_source(refs: RefsState, event: Moved, source: BranchState) -> None:
    """Checks that the head of the source is merged, as its reviewers saw it. No strategy may have decided conflicts."""
    if not event.commits:  # the target moves to the source's own commits
        joined = event.target
        if not _follows(refs, event.source, event.target):
            raise Invalid(f"the head of {source.name!r} does not follow from that of {event.branch!r}")
    elif len(event.commits) == len(event.origins) == 1 and _is_plain(event):
        joined = event.origins[0].source
    else:
        raise Invalid("a pull request is merged by one commit")
    if joined != source.head:
        raise Conflict(f"branch {source.name!r} was moved meanwhile", hint="look at it, then merge again")


def _follows(refs: RefsState, before: str, after: str) -> bool:
    """Returns whether `before` is in the history of `after`."""
    lowest = refs.recorded(before).generation
    left, seen = [after], {after}
    while left:
        id = left.pop()
        if id == before:
            return True
        commit = refs.recorded(id)
        new = [each for each in commit.parents if commit.generation > lowest and each not in seen]
        seen.update(new)
        left += new
    return False


def _is_plain(event: Moved) -> bool:
    commit, origin = event.commits[0], event.origins[0]
    parents = ((event.source,), (event.source, origin.source))
    return commit.parents in parents and origin.strategy == _ASK and not origin.prefixes and not origin.against


def unmet(refs: RefsState, pull: PullState, inactive: Collection[str]) -> Iterator[str]:
    """Yields the reasons that prevent the request from being merged by any user. The rules about who merges it, and
    how, are checked separately."""
    source = refs.find_branch(pull.source)
    if source is None:
        yield f"its source {pull.source!r} is gone"
        return
    if refs.find_branch(pull.target) is None:
        yield f"its target {pull.target!r} is gone"
        return
    for each in pull.standing(inactive):
        if each.verdict == CHANGES:
            yield f"{each.user!r} asked for changes"
    for rule in refs.guard.of(pull.target).rules:
        yield from _missing_approvals(pull, rule, source, inactive)
        yield from _missing_checks(refs, rule, source.head, pull.target)


def _missing_approvals(
    pull: PullState, rule: Protection, source: BranchState, inactive: Collection[str]
) -> Iterator[str]:
    given = [each for each in pull.standing(inactive) if each.verdict == APPROVE]
    counted = [each for each in given if is_current(each.commit, each.incarnation, rule, source)]
    if len(counted) < rule.approvals:
        stale = len(given) - len(counted)
        more = f" ({stale} more of earlier commits)" if stale else ""
        yield f"it has {len(counted)} of {rule.approvals} approvals{more} (rule {rule.pattern!r})"


def is_current(commit: str, incarnation: int, rule: Protection | None, source: BranchState) -> bool:
    """Returns whether an approval of that commit counts. A branch that was deleted and made again is another branch."""
    return commit == source.head or (rule is not None and rule.keep_stale and incarnation == source.incarnation)


def _missing_checks(refs: RefsState, rule: Protection, head: str, target: str) -> Iterator[str]:
    checks = {each.name: each for each in refs.pulls.checks(head, target)}
    for name in rule.checks:
        found = checks.get(name)
        if found is None:
            yield f"check {name!r} was not reported for {head[:12]} (rule {rule.pattern!r})"
        elif found.status != SUCCESS:
            what = {PENDING: "is pending", FAILURE: "has failed"}[found.status]
            detail = f": {found.text}" if found.text else ""
            yield f"check {name!r} {what}{detail} (rule {rule.pattern!r})"


def merged(refs: RefsState, event: Moved, at: EventPosition) -> None:
    """Ends the request by the event that moved its target."""
    pull = refs.pulls.find(event.pull)
    if pull is None:
        raise NotFound(f"no pull request {event.pull!r}")
    joined = event.origins[0].source if event.commits else event.target
    refs.pulls.put(
        msgspec.structs.replace(
            pull,
            status=MERGED,
            updated=at.time,
            ended=at.time,
            ended_by=at.user,
            merged=event.target,
            merged_source=joined,
            merged_base=event.source,
        )
    )
