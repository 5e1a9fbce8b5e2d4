"""Which commit last changed an object, for each object under a prefix.

History is walked from the youngest commit back, with the paths that are still to be explained. Where a commit differs
from none of its parents in a path, the path is handed on to the first parent that agrees; else the commit is what
changed it. The walk ends when every path is explained, and opens only the ranges that differ.
"""

from collections.abc import Callable
from contextlib import aclosing
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lochan.errors import NotFound
from lochan.formats.commit import Commit
from lochan.tree.diff import diff
from lochan.tree.rows import Indices, Mask, locate
from lochan.versioning.open_repository import OpenRepository


class BlameRow(NamedTuple):
    path: str
    commit_id: str
    commit: Commit


class BlamePage(NamedTuple):
    entries: list[BlameRow]
    next: str | None  # to go on behind; None: that was all


async def blame(repository: OpenRepository, ref: str, path: str) -> BlameRow:
    """Of one object, as it is committed. Raises NotFound."""
    refs, _ = await repository.refs()
    found = await repository.resolve(ref)
    if await (await repository.tree(found.commit)).get(path) is None:
        raise NotFound(f"no object {path!r} is committed at {ref}").named(path)
    [commit_id] = await _Walk(repository, refs.commit, pa.array([path]), path).explain(found.commit_id)
    return BlameRow(path, commit_id, refs.commit(commit_id))


async def blame_under(
    repository: OpenRepository, ref: str, prefix: str, after: str = "", limit: int = 10_000
) -> BlamePage:
    """Of each object under the prefix and behind `after`, in path order. Every page is a walk: take large ones."""
    refs, _ = await repository.refs()
    found = await repository.resolve(ref)
    paths = await _paths(repository, found.commit, prefix, after, limit + 1)
    more = len(paths) > limit
    paths = paths.slice(0, limit)
    ids = await _Walk(repository, refs.commit, paths, prefix, after).explain(found.commit_id)
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
    """Of one page of paths, which ascend."""

    def __init__(
        self,
        repository: OpenRepository,
        look_up: Callable[[str], Commit],
        paths: pa.StringArray,
        prefix: str,
        after: str = "",
    ) -> None:
        self._repository = repository
        self._look_up = look_up
        self._paths = paths
        self._prefix = prefix
        self._after = after
        self._open: dict[str, Mask] = {}  # by commit: which of the paths are to be explained from there
        self._queue: list[tuple[int, str]] = []  # children before parents

    async def explain(self, start: str) -> list[str]:
        """For each path the id of the commit."""
        blamed = np.full(len(self._paths), -1, np.int64)
        commits: list[str] = []
        self._hand_on(start, np.ones(len(self._paths), np.bool_))
        while self._queue:
            _, id = heappop(self._queue)
            rows = await self._left(self._look_up(id), self._open.pop(id))
            if len(rows):
                blamed[rows] = len(commits)
                commits.append(id)
        return [commits[number] for number in blamed.tolist()]

    async def _left(self, commit: Commit, wanted: Mask) -> Indices:
        """What this commit changed itself; the rest is handed on."""
        left = np.flatnonzero(wanted)
        for parent in commit.parents:
            if not len(left):
                break
            changed = await self._changed(parent, commit)
            same = np.setdiff1d(left, changed, assume_unique=True) if len(changed) else left
            if len(same):
                mask = np.zeros(len(self._paths), np.bool_)
                mask[same] = True
                self._hand_on(parent, mask)
            left = np.intersect1d(left, changed, assume_unique=True)
        return left

    async def _changed(self, parent: str, commit: Commit) -> Indices:
        """Which of the paths are other in the commit than in its parent."""
        before = self._look_up(parent)
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
        heappush(self._queue, (-self._look_up(id).generation, id))
