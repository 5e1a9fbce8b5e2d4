"""The conflicts that an error tells of, one by one; the error itself names the first of them only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from lochan.api.results import Conflict, Side
from lochan.errors import LochanError

if TYPE_CHECKING:
    from lochan.tree import merge as trees


def has_conflicts(error: LochanError) -> bool:
    """Of a merge, a revert, a cherry-pick, a rebase, or a workspace's commit."""
    return hasattr(error, "merged")


async def conflicts_of(error: LochanError) -> AsyncIterator[Conflict]:
    """In path order. REQUIRES: `has_conflicts`, and the lake is still open."""
    from lochan.tree.merge import conflicts_of as decoded

    merged: trees.MergeResult = error.merged  # type: ignore[attr-defined]
    if merged.conflicts <= merged.first.num_rows:
        for each in decoded(merged.first):
            yield _conflict(each)
        return
    async for table in error.every():  # type: ignore[attr-defined]  # too many to be held at once
        for each in decoded(table):
            yield _conflict(each)


def _conflict(found: trees.MergeConflict) -> Conflict:
    return Conflict(path=found.path, base=Side.of(found.base), ours=Side.of(found.ours), theirs=Side.of(found.theirs))
