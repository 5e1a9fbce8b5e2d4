"""Whatever was done to a repository, its derived files are made again byte for byte (V5)."""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import nullcontext, suppress

import pytest

from lochan.clock import SystemClock
from lochan.errors import LochanError
from lochan.lake import Lake
from lochan.recovery.rebuild import LOST, MADE
from lochan.recovery.rebuild_lake import JournalRebuild, LakeRebuild, RebuildRequest
from lochan.staging.compaction import CompactionLimits
from lochan.store.memory import MemoryStore
from lochan.tree.merge import Strategy
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.moves import cherry_pick, merge, revert
from lochan.versioning.heads.rebase import rebase
from lochan.versioning.objects import delete
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.upkeep import compact, cover
from tests.unit.recovery.history import ANN, committed, staged_in_bulk, written

SEEDS = 1_000 if os.environ.get("FULL") else 12
LIMITS = CompactionLimits(inline_count=2, runs=1, tombstones=1)
STRATEGIES = ("default", "source-wins", "dest-wins", "base-wins")


async def step(files: OpenRepository, dice: random.Random) -> None:
    """One thing that somebody may do. Some are refused, and then nothing has happened."""
    refs, _ = await files.refs()
    names = sorted(branch.name for branch in refs.branches())
    branch, other = dice.choice(names), dice.choice(names)
    commits = sorted(refs.commit_table)
    strategy = Strategy(dice.choice(STRATEGIES), {"p/1": dice.choice(STRATEGIES)} if dice.random() < 0.3 else {})
    path = f"p/{dice.randrange(12)}"
    match dice.randrange(12):
        case 0 | 1 | 2:
            await written(files, branch, path, str(dice.random()))
        case 3:
            await delete(files, branch, [path], actor=ANN)
        case 4 | 5:
            await committed(files, branch, "all")
        case 6:
            await committed(files, branch, "some", "p/1*")
        case 7:
            await create_branch(files, f"b{len(names)}", dice.choice(commits), actor=ANN)
        case 8:
            await merge(files, other, branch, actor=ANN, strategy=strategy, squash=dice.random() < 0.2)
        case 9:
            await dice.choice((revert, cherry_pick))(files, branch, dice.choice(commits), actor=ANN)
        case 10:
            await rebase(files, branch, other, actor=ANN)
        case 11:
            await staged_in_bulk(files, branch, f"bulk{dice.randrange(3)}", 3)
            await compact(files, branch, LIMITS)
            await cover(files, branch, LIMITS)


async def rebuilt(store: MemoryStore, request: RebuildRequest) -> JournalRebuild:
    work = LakeRebuild(store, request, lambda: nullcontext(MemoryStore()), SystemClock())
    return [each async for each in work.run()][-1]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_is_made_again(seed: int) -> None:
    async def go() -> None:
        dice, store = random.Random(seed), MemoryStore()
        lake = await Lake.create(store)
        await lake.create_repository("files", actor=ANN)
        files = await lake.open_repository("files")
        for _ in range(60):
            with suppress(LochanError):
                await step(files, dice)
        id = files.repository.id
        await files.close()
        await lake.close()
        assert (await rebuilt(store, RebuildRequest(check=True))).files == ()
        kept = {stat.path: await store.get(stat.path) async for stat in store.list(f"{id}/") if "ranges/" in stat.path}
        for path in kept:
            await store.delete(path)
        found = await rebuilt(store, RebuildRequest())
        assert [each for each in found.files if each.outcome == LOST] == []
        for each in found.files:
            assert each.outcome == MADE
            assert await store.get(each.path) == kept[each.path]

    asyncio.run(go())
