"""Planted bugs of pools: each removes one rule from the shipped code. The explorer must catch every one."""

from __future__ import annotations

from typing import Any

from lochan.pools import commit_objects
from lochan.pools import merge as pool_merge
from lochan.pools.merge import PoolJoins
from lochan.tree.merge import SOURCE, Strategy, merge
from lochan.tree.tree import Tree
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.joins import JoinResult, MoveBase, base_tree
from tests.sim.plants import Plant
from tests.sim.versioning.plants import _changed, _land_again, _without


async def _there_or_not(*_: Any) -> None:
    """Does not check whether what a compaction read is still there."""


async def _by_name(joins: Any, on: MoveBase, base: Tree, theirs: Tree) -> JoinResult:
    """Merges as if objects were paths."""
    repository = joins._repository
    ours = await repository.tree(on.head)
    merged = await merge(repository.trees, base, ours, theirs, mint=on.mint, strategy=Strategy(SOURCE))
    assert merged.tree is not None
    return JoinResult(merged.tree)


async def _merge(self: Any, on: MoveBase, theirs: str, strategy: Any) -> JoinResult:
    base = await base_tree(self._repository.trees, self._repository.tree, on.look_up, on.id, theirs, on.mint)
    return await _by_name(self, on, base, await self._repository.tree(on.look_up(theirs)))


async def _pick(self: Any, on: MoveBase, before: str, after: str) -> JoinResult:
    trees = [await self._repository.tree(on.look_up(id)) for id in (before, after)]
    return await _by_name(self, on, trees[0], trees[1])


async def _revert(self: Any, on: MoveBase, before: str, after: str) -> JoinResult:
    return await _pick(self, on, after, before)


def _nothing_is_shared(self: Any, *lines: Any) -> bool:
    return False


PLANTS: dict[str, Plant] = {
    "S5: a pool takes files": _without("pools_have_no_staging"),
    "S6: a move lands on any head": _without("moves_need_their_head"),
    "S6: a difference is applied again": _changed((head_moves, "land", _land_again)),
    "S6: a compaction lands without its inputs": _changed((commit_objects, "check_present", _there_or_not)),
    "S7: a merge adds both replacements": _changed((PoolJoins, "merge", _merge)),
    "S7: a merge brings back what was there": _changed((pool_merge._Joining, "_is_mixed", _nothing_is_shared)),
    "S7: a pick brings back what was there": _changed((PoolJoins, "pick", _pick)),
    "S7: a revert brings back what came back since": _changed((PoolJoins, "revert", _revert)),
}
