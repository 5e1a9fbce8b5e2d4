"""Differences: between two refs, between a branch's head and what is staged on it; and the log, by what was touched."""

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.formats.entry import CONTENT
from lochan.tree import diff as trees_diff
from lochan.tree.diff import Counts, Difference, differences_of
from lochan.versioning.graph import log, merge_bases
from lochan.versioning.open_repository import OpenRepository


async def diff(
    repository: OpenRepository, left: str, right: str, *, prefix: str = "", three_dot: bool = False
) -> AsyncIterator[Difference]:
    """Committed on both sides. `three_dot`: what the right has changed since it left the left's history."""
    refs, _ = await repository.refs()
    one, other = await repository.resolve(left), await repository.resolve(right)
    base = one.commit
    if three_dot:
        bases = merge_bases(refs.commit, one.commit_id, other.commit_id)
        if not bases:
            raise Invalid(f"{left!r} and {right!r} have no history in common", hint="compare them without three dots")
        base = refs.commit(bases[0])
    trees = await repository.tree(base), await repository.tree(other.commit)
    async for table in trees_diff.diff(repository.trees, *trees, prefix):
        for difference in differences_of(table):
            yield difference


async def count(repository: OpenRepository, left: str, right: str, *, prefix: str = "") -> Counts:
    one, other = await repository.resolve(left), await repository.resolve(right)
    trees = await repository.tree(one.commit), await repository.tree(other.commit)
    return await trees_diff.count(repository.trees, *trees, prefix)


class Uncommitted(NamedTuple):
    path: str
    kind: str  # added, removed, changed
    size: int


async def staged(repository: OpenRepository, branch: str, *, prefix: str = "") -> list[Uncommitted]:
    """What a commit of the branch would change now."""
    refs, _ = await repository.refs()
    found = refs.branch(branch)
    commit = refs.commit(found.head)
    view = await repository.view_of(commit, found.layers)
    changes = await view.changes(prefix)
    known = await (await repository.tree(commit)).has_many(changes["path"].combine_chunks())
    rows = zip(*(changes[name].to_pylist() for name in ("path", "deleted", "size")), known.tolist(), strict=True)
    return [_uncommitted(path, deleted, size, there) for path, deleted, size, there in rows if there or not deleted]


def _uncommitted(path: str, deleted: bool, size: int, known: bool) -> Uncommitted:
    if deleted:
        return Uncommitted(path, trees_diff.REMOVED, 0)
    return Uncommitted(path, trees_diff.CHANGED if known else trees_diff.ADDED, size)


class LogWish(NamedTuple):
    paths: tuple[str, ...] = ()  # only commits that changed one of these
    prefixes: tuple[str, ...] = ()  # or something under one of these
    since: int | None = None  # microseconds since 1970
    until: int | None = None
    first_parent: bool = False


EVERYTHING = LogWish()


async def history(
    repository: OpenRepository, ref: str, wish: LogWish = EVERYTHING
) -> AsyncIterator[tuple[str, Commit]]:
    """Youngest first, as it is asked for."""
    refs, _ = await repository.refs()
    start = (await repository.resolve(ref)).commit_id
    for id, commit in _in_time(log(refs.commit, start, first_parent=wish.first_parent), wish):
        parent = refs.commit(commit.parents[0]) if commit.parents else None
        if await _touches(repository, commit, parent, wish):
            yield id, commit


def _in_time(commits: Iterator[tuple[str, Commit]], wish: LogWish) -> Iterator[tuple[str, Commit]]:
    for id, commit in commits:
        if wish.since is not None and commit.date < wish.since:
            continue  # dates need not fall along a branch: anybody may give one
        if wish.until is None or commit.date <= wish.until:
            yield id, commit


async def _touches(repository: OpenRepository, commit: Commit, parent: Commit | None, wish: LogWish) -> bool:
    if not wish.paths and not wish.prefixes:
        return True
    if parent is None:
        return False  # the first commit holds nothing
    trees = await repository.tree(parent), await repository.tree(commit)
    for path in wish.paths:
        if _content(await trees[0].get(path)) != _content(await trees[1].get(path)):
            return True
    for prefix in wish.prefixes:
        async for _ in trees_diff.diff(repository.trees, *trees, prefix):
            return True
    return False


def _content(entry: object) -> object:
    return None if entry is None else tuple(getattr(entry, name) for name in CONTENT)
