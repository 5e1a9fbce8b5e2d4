"""The history of a ref: its commits, newest first, and the commit that last changed each object.

Blame walks the history from the newest commit back, with the paths that are still to be explained. If one of a commit's
parents has the same version of a path, the path is handed on to the first such parent; else this commit changed it. The
walk ends when every path is explained. It opens only the ranges that differ.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lochan.errors import Invalid, NotFound
from lochan.formats.commit import Commit
from lochan.formats.entry import CONTENT
from lochan.tree import diff as trees_diff
from lochan.tree.diff import diff
from lochan.tree.rows import Indices, Mask, locate
from lochan.tree.tree import Tree
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import log_of_all, topological
from lochan.versioning.revisions.log_positions import LogPosition
from lochan.versioning.state.refs import Refs


class LogRequest(NamedTuple):
    paths: tuple[str, ...] = ()  # only commits that changed one of these
    prefixes: tuple[str, ...] = ()  # or something under one of these
    since: int | None = None  # microseconds since 1970
    until: int | None = None
    first_parent: bool = False
    author: str = ""  # only commits whose author or committer contains this, ignoring case
    grep: str = ""  # only commits whose message contains this, ignoring case
    after: str = ""  # only what comes behind this commit, which is one of the log


EVERYTHING = LogRequest()


async def history(
    repository: OpenRepository, ref: str, request: LogRequest = EVERYTHING
) -> AsyncGenerator[tuple[str, Commit], None]:
    """Yields the commits that match the request. It is lazy: the first one comes at once, however long the history is.
    Where it is closed, a later one goes on at once. Raises Invalid if `after` is no commit of the log."""
    refs, start = await _begin(repository, ref, request)
    positions, key = repository.log_positions, (ref, request._replace(after=""))
    shown = request.after
    kept = positions.find(key, shown, start, refs.recorded) if shown else None
    is_behind = not shown or kept is not None
    position = kept or LogPosition(start, (start,))
    open = set(position.open)  # ancestors of these are to come
    last: tuple[str, Commit] | None = None  # while the caller has it
    try:
        for id, commit in log_of_all(refs.recorded, position.open, first_parent=request.first_parent):
            if is_behind and await _matches(repository, refs, id, commit, request):
                last = id, commit
                yield last
                shown, last = id, None
            is_behind = is_behind or id == request.after
            _pass_by(open, id, commit, request)
    finally:
        if shown and is_behind:
            positions.keep(key, shown, LogPosition(position.start, tuple(open)))
        if last is not None:
            _pass_by(open, *last, request)
            positions.keep(key, last[0], LogPosition(position.start, tuple(open)))
    if not is_behind:
        raise Invalid(f"{request.after[:80]!r} is no commit in the history of {ref}", hint="begin the log again")


def _pass_by(open: set[str], id: str, commit: Commit, request: LogRequest) -> None:
    open.discard(id)
    open.update(commit.parents[:1] if request.first_parent else commit.parents)


async def walk(
    repository: OpenRepository, ref: str, request: LogRequest = EVERYTHING
) -> AsyncGenerator[tuple[str, Commit, bool], None]:
    """Yields every commit, one line of history after the other, and whether it matches the request."""
    refs, start = await _begin(repository, ref, request)
    for id, commit in topological(refs.recorded, start, first_parent=request.first_parent):
        yield id, commit, await _matches(repository, refs, id, commit, request)


async def _begin(repository: OpenRepository, ref: str, request: LogRequest) -> tuple[Refs, str]:
    """Returns the refs, and the commit that the ref names. Raises Invalid, NotFound."""
    for path in request.paths:
        check_key(path)
    refs, _ = await repository.refs()
    return refs, (await repository.resolve(ref)).commit_id


async def _matches(repository: OpenRepository, refs: Refs, id: str, commit: Commit, request: LogRequest) -> bool:
    if not (_in_time(commit, request) and _says(commit, request)):
        return False
    if not (request.paths or request.prefixes):
        return True
    if refs.collection.has_expired(id):  # the next commit that has not expired shows its changes
        return False
    parents = refs.live_parents(commit, first_parent=request.first_parent)
    return await _touches(repository, commit, parents, request)


def _in_time(commit: Commit, request: LogRequest) -> bool:
    """Returns whether the date is in the span. Dates need not decrease along a branch, because users can set them: a
    walk cannot stop at the first old one."""
    late_enough = request.since is None or commit.date >= request.since
    return late_enough and (request.until is None or commit.date <= request.until)


def _says(commit: Commit, request: LogRequest) -> bool:
    who = f"{commit.author}\n{commit.committer}".casefold()
    return request.author.casefold() in who and request.grep.casefold() in commit.message.casefold()


async def _touches(repository: OpenRepository, commit: Commit, parents: list[Commit], request: LogRequest) -> bool:
    """Returns whether the commit itself changed the paths. A merge did if none of its parents has the same version. A
    first commit is empty."""
    for parent in parents:
        if not await _differs(repository, parent, commit, request):
            return False
    return bool(parents)


async def _differs(repository: OpenRepository, left: Commit, right: Commit, request: LogRequest) -> bool:
    if left.tree == right.tree:
        return False
    trees = await repository.tree(left), await repository.tree(right)
    for path in request.paths:
        if await _content(trees[0], path) != await _content(trees[1], path):
            return True
    for prefix in request.prefixes:
        async with aclosing(trees_diff.diff(repository.trees, *trees, prefix)) as found:
            async for _ in found:
                return True
    return False


async def _content(tree: Tree, path: str) -> object:
    entry = await tree.get(path)
    return None if entry is None else tuple(getattr(entry, name) for name in CONTENT)


class BlameRow(NamedTuple):
    path: str
    commit_id: str
    commit: Commit


class BlamePage(NamedTuple):
    entries: list[BlameRow]
    next: str | None  # the path after which the next page begins, or None if that was all


async def blame(repository: OpenRepository, ref: str, path: str) -> BlameRow:
    """Returns the commit that last changed one committed object. Raises NotFound."""
    refs, _ = await repository.refs()
    found = await repository.resolve(ref)
    if await (await repository.tree(found.commit)).get(path) is None:
        raise NotFound(f"no object {path!r} is committed at {ref}").named(path)
    [commit_id] = await _Walk(repository, refs, pa.array([path]), path).explain(found.commit_id)
    return BlameRow(path, commit_id, refs.commit(commit_id))


async def blame_under(
    repository: OpenRepository, ref: str, prefix: str, after: str = "", limit: int = 10_000
) -> BlamePage:
    """Blames each object under the prefix and after `after`, in path order. Every page walks the history, so take large
    pages."""
    refs, _ = await repository.refs()
    found = await repository.resolve(ref)
    paths = await _paths(repository, found.commit, prefix, after, limit + 1)
    more = len(paths) > limit
    paths = paths.slice(0, limit)
    ids = await _Walk(repository, refs, paths, prefix, after).explain(found.commit_id)
    commits = {id: refs.commit(id) for id in set(ids)}
    names = paths.to_pylist()
    entries = [BlameRow(path, id, commits[id]) for path, id in zip(names, ids, strict=True)]
    return BlamePage(entries, names[-1] if more else None)


async def _paths(repository: OpenRepository, commit: Commit, prefix: str, after: str, limit: int) -> pa.StringArray:
    found: list[pa.StringArray] = []
    async with aclosing((await repository.tree(commit)).scan(prefix, after)) as batches:
        async for batch in batches:
            found.append(batch.column("path"))
            if sum(map(len, found)) >= limit:
                break
    return pa.concat_arrays(found).slice(0, limit) if found else pa.array([], pa.string())


class _Walk:
    """The walk for one page of paths, which ascend."""

    def __init__(
        self,
        repository: OpenRepository,
        refs: Refs,
        paths: pa.StringArray,
        prefix: str,
        after: str = "",
    ) -> None:
        self._repository = repository
        self._refs = refs
        self._paths = paths
        self._prefix = prefix
        self._after = after
        self._open: dict[str, Mask] = {}  # by commit: the paths that are still to be explained from there
        self._queue: list[tuple[int, str]] = []  # children come before parents

    async def explain(self, start: str) -> list[str]:
        """Returns the id of the commit for each path."""
        blamed = np.full(len(self._paths), -1, np.int64)
        commits: list[str] = []
        self._hand_on(start, np.ones(len(self._paths), np.bool_))
        while self._queue:
            _, id = heappop(self._queue)
            rows = await self._left(self._refs.recorded(id), self._open.pop(id))
            if len(rows):
                blamed[rows] = len(commits)
                commits.append(id)
        return [commits[number] for number in blamed.tolist()]

    async def _left(self, commit: Commit, wanted: Mask) -> Indices:
        """Returns the paths that this commit changed itself. The rest is handed on to its parents."""
        left = np.flatnonzero(wanted)
        for parent in self._refs.live_parents(commit):
            if not len(left):
                break
            changed = await self._changed_paths(parent, commit)
            same = np.setdiff1d(left, changed, assume_unique=True) if len(changed) else left
            if len(same):
                mask = np.zeros(len(self._paths), np.bool_)
                mask[same] = True
                self._hand_on(parent.id, mask)
            left = np.intersect1d(left, changed, assume_unique=True)
        return left

    async def _changed_paths(self, before: Commit, commit: Commit) -> Indices:
        """Returns the paths that differ between the commit and its parent."""
        if before.tree == commit.tree:
            return np.empty(0, np.int64)
        trees = await self._repository.tree(before), await self._repository.tree(commit)
        rows: list[Indices] = []
        async for table in diff(self._repository.trees, *trees, self._prefix, self._after):
            at, found = locate(self._paths, table["path"].combine_chunks())
            rows.append(at[found])
        return np.concatenate(rows) if rows else np.empty(0, np.int64)

    def _hand_on(self, id: str, wanted: Mask) -> None:
        if not wanted.any():
            return
        if id in self._open:
            self._open[id] |= wanted
            return
        self._open[id] = wanted
        heappush(self._queue, (-self._refs.recorded(id).generation, id))
