"""A repository at a glance: its contents, its recent events, and how far its branches have diverged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.results import Result, moment
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.formats.commit import Commit
    from lochan.versioning.name_filter import NameFilter
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.refs_state import RefsState

_DAY_US = 86_400_000_000
_DAYS_MAX = 3_650


class RepositoryOverview(Result, frozen=True, kw_only=True):
    branch: str  # the default branch, which the numbers are about
    head: str
    date: datetime  # of the last commit on any branch, as are author and message
    author: str
    message: str
    objects: int
    bytes: int
    rows: int | None  # of a pool
    branches: int
    tags: int
    commits: tuple[int, ...]  # on each day, all branches together; the last one is today, in UTC


class BranchComparison(Result, frozen=True, kw_only=True):
    name: str
    head: str
    ahead: int  # the number of commits that the base does not have
    behind: int  # the number of commits of the base that it does not have
    objects: int
    bytes: int
    rows: int | None  # of a pool


async def overview(repository: OpenRepository, now: int, days: int) -> RepositoryOverview:
    if not 1 <= days <= _DAYS_MAX:
        raise Invalid(f"{days} is not a number of days to look back", hint=f"1 to {_DAYS_MAX}")
    refs, _ = await repository.refs()
    branch = refs.branch(repository.repository.default_branch)
    branches = refs.branches()
    newest = max((refs.commit(each.head) for each in branches), key=lambda commit: commit.date)
    held = await _count_contents(repository, refs.commit(branch.head))
    return RepositoryOverview(
        branch=branch.name,
        head=branch.head,
        date=moment(newest.date),
        author=newest.author,
        message=newest.message,
        objects=held.objects,
        bytes=held.bytes,
        rows=held.rows,
        branches=len(refs.shown_branches()),
        tags=len(refs.tags()),
        commits=_count_by_day(refs, [each.head for each in branches], now, days),
    )


async def compare_branches(
    repository: OpenRepository, base: str, wanted: NameFilter
) -> AsyncIterator[BranchComparison]:
    from lochan.versioning.revisions.graph import divergence

    there = (await repository.resolve(base)).commit_id
    refs, _ = await repository.refs()
    for each in refs.shown_branches(wanted):
        ahead, behind = divergence(refs.recorded, each.head, there)
        held = await _count_contents(repository, refs.commit(each.head))
        yield BranchComparison(name=each.name, head=each.head, ahead=ahead, behind=behind, **held._asdict())


class _Contents(NamedTuple):
    objects: int
    bytes: int
    rows: int | None


async def _count_contents(repository: OpenRepository, commit: Commit) -> _Contents:
    """Counts the contents of a commit. Trees have the sizes of files; rows are counted in the entries of data
    objects."""
    from lochan.pools.objects import entries, summarize_objects
    from lochan.pools.settings import settings_of
    from lochan.versioning.repositories import POOL

    tree = await repository.tree(commit)
    if repository.repository.kind != POOL:
        return _Contents(tree.count, tree.bytes, None)
    found = summarize_objects(await entries(tree), settings_of(repository.repository))
    return _Contents(found["objects"], found["bytes"], found["rows"])


def _count_by_day(refs: RefsState, heads: list[str], now: int, days: int) -> tuple[int, ...]:
    """Counts commits by day. A commit may be older than its parents, if a clock was wrong, so the walk ends only at
    commits whose parents are all too old as well."""
    today = now // _DAY_US
    counts = [0] * days
    seen, waiting = set(heads), list(set(heads))
    while waiting:
        commit = refs.recorded(waiting.pop())
        age = today - commit.date // _DAY_US
        if commit.parents and 0 <= age < days:
            counts[days - 1 - age] += 1
        for parent in commit.parents:
            if parent not in seen and (age < days or today - refs.recorded(parent).date // _DAY_US < days):
                seen.add(parent)
                waiting.append(parent)
    return tuple(counts)
