"""Differences between two refs, and between a branch's head and its staged changes: path by path, or counted."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.tree import diff as trees_diff
from lochan.tree.diff import ADDED, CHANGED, REMOVED, DiffCounts, Difference, differences_of
from lochan.tree.tree import Tree
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import merge_bases
from lochan.versioning.revisions.resolve import resolve


class RollUp(NamedTuple):
    """Counts for each folder: the paths are grouped up to the delimiter after the prefix, or up to the `depth`-th
    one."""

    delimiter: str = "/"
    depth: int = 1


async def diff(
    repository: OpenRepository, left: str, right: str, *, prefix: str = "", after: str = "", three_dot: bool = False
) -> AsyncGenerator[Difference, None]:
    """Yields the differences of two commits, in path order; those behind the path `after`. With `three_dot`, yields
    what the right has changed since the two histories parted."""
    trees = await _trees(repository, left, right, three_dot)
    async with aclosing(trees_diff.diff(repository.trees, *trees, prefix, after)) as found:
        async for table in found:
            for difference in differences_of(table):
                yield difference


async def diff_tables(
    repository: OpenRepository, left: str, right: str, *, prefix: str = "", three_dot: bool = False
) -> AsyncGenerator[pa.Table, None]:
    """Yields the differences as tables of path, kind, and the sizes on the left and on the right, null if there is
    none."""
    trees = await _trees(repository, left, right, three_dot)
    async with aclosing(trees_diff.diff_sizes(repository.trees, *trees, prefix)) as found:
        async for table in found:
            yield table


async def count(
    repository: OpenRepository, left: str, right: str, *, prefix: str = "", three_dot: bool = False
) -> DiffCounts:
    trees = await _trees(repository, left, right, three_dot)
    return await trees_diff.count(repository.trees, *trees, prefix)


async def roll_up(
    repository: OpenRepository, left: str, right: str, by: RollUp, *, prefix: str = "", three_dot: bool = False
) -> dict[str, DiffCounts]:
    """Counts the differences for each folder, in path order."""
    trees = await _trees(repository, left, right, three_dot)
    return await trees_diff.roll_up(repository.trees, *trees, prefix, *by)


async def _trees(repository: OpenRepository, left: str, right: str, three_dot: bool) -> tuple[Tree, Tree]:
    refs, _ = await repository.refs()
    one, other = await repository.resolve(left), await repository.resolve(right)
    base = one.commit
    if three_dot:
        bases = merge_bases(refs.recorded, one.commit_id, other.commit_id)
        if not bases:
            raise Invalid(f"{left!r} and {right!r} have no history in common", hint="compare them without three dots")
        base = refs.commit(bases[0])
    return await repository.tree(base), await repository.tree(other.commit)


# --- staged ----------------------------------------------------------------------------------------------------------
class Uncommitted(NamedTuple):
    path: str
    kind: str  # added, removed, changed
    size: int


async def staged_changes(repository: OpenRepository, branch: str, *, prefix: str = "") -> list[Uncommitted]:
    """Returns what committing the branch would change now."""
    columns = (await staged_columns(repository, branch, prefix=prefix)).columns
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [Uncommitted(path, kind, size or 0) for path, kind, size in rows]


async def staged_columns(repository: OpenRepository, branch: str, *, prefix: str = "") -> pa.Table:
    """Returns the staged changes as a table. The size of a removed object is null."""
    table = await staged_table(repository, branch, prefix)
    there = pc.not_equal(table["kind"], REMOVED)
    return pa.table(
        {"path": table["path"], "kind": table["kind"], "size": pc.if_else(there, table["right"], pa.scalar(None))}
    )


async def count_staged(repository: OpenRepository, branch: str, *, prefix: str = "") -> DiffCounts:
    return trees_diff.count_rows(await staged_table(repository, branch, prefix))


async def roll_up_staged(
    repository: OpenRepository, branch: str, by: RollUp, *, prefix: str = ""
) -> dict[str, DiffCounts]:
    return trees_diff.roll_up_table(await staged_table(repository, branch, prefix), prefix, *by)


async def staged_table(repository: OpenRepository, branch: str, prefix: str) -> pa.Table:
    """Returns a table of path, kind, and the sizes on the left (the head) and on the right (as staged), 0 if there is
    none. For a workspace, the left is the commit it was opened on. Its files are not read, so each of them counts as a
    change."""
    refs, _ = await repository.refs()
    found = resolve(refs, branch, workspaces=True)
    if found.workspace is None:
        refs.branch(branch)  # nothing else has staged changes
    changes = await (await repository.view(found)).changes(prefix)
    paths = changes["path"].combine_chunks()
    before = await (await repository.tree(found.commit)).sizes(paths)
    deleted = changes["deleted"].to_numpy()
    kinds = pa.array([ADDED, CHANGED, REMOVED]).take(pa.array(np.where(deleted, 2, before >= 0)))
    sizes = np.maximum(before, 0), np.where(deleted, 0, changes["size"].to_numpy())
    table = pa.table({"path": paths, "kind": kinds, "left": sizes[0], "right": sizes[1]})
    return table.filter(pa.array(~deleted | (before >= 0)))
