"""Runs one round of upkeep over the pools of a lake, by a policy (`pools/upkeep.py`). Call it repeatedly.

If another process deletes or compacts the same objects meanwhile, its change wins, and the branch is planned again. A
pool that fails does not stop the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import NamedTuple

import duckdb

from lochan.engines.query_context import QueryContext
from lochan.errors import ConcurrentCommit, LochanError, NothingToDo
from lochan.formats.record import Actor
from lochan.jobs.compaction import DEFAULT_COMPACT, CompactJobOptions, PoolCompactionResult, compact
from lochan.jobs.compaction_plan import CompactRequest
from lochan.journal.keys import part_of
from lochan.pools.upkeep import Rule, Upkeep
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL, Repository

COMPACTED, IN_ORDER, LEFT_ALONE, NO_BRANCH, BUSY, FAILED = (
    "compacted",
    "in order",
    "left alone",  # by a rule
    "no such branch",
    "busy",  # other processes were faster several times, so the next round does it
    "failed",
)
_TRIES = 3


class UpkeepResult(NamedTuple):
    """The result for one branch."""

    pool: str
    branch: str  # empty if the pool is left alone
    outcome: str
    compacted: PoolCompactionResult | None = None
    error: Exception | None = None


async def keep(
    at: QueryContext,
    upkeep: Upkeep,
    only: Collection[str] = (),
    *,
    actor: Actor,
    options: CompactJobOptions = DEFAULT_COMPACT,
) -> AsyncIterator[UpkeepResult]:
    """Keeps all pools, or those named by `only`. Raises errors of reading the lake itself."""
    for pool in await at.catalog.repositories():
        if pool.kind != POOL or (only and pool.name not in only):
            continue
        rule = upkeep.rule(pool.name)
        if not rule.compact:
            yield UpkeepResult(pool.name, "", LEFT_ALONE)
            continue
        for branch in rule.branches or (pool.default_branch,):
            own = part_of(actor, f"{pool.id}@{branch}")
            yield await _keep(at, pool, branch, rule, own, options)


async def _keep(
    at: QueryContext, pool: Repository, branch: str, rule: Rule, actor: Actor, options: CompactJobOptions
) -> UpkeepResult:
    try:
        repository = await at.catalog.open_repository(pool.name)
        try:
            return await _keep_branch(at, repository, branch, rule, actor, options)
        finally:
            await repository.close()
    except (LochanError, OSError, duckdb.Error) as error:
        return UpkeepResult(pool.name, branch, FAILED, error=error)


async def _keep_branch(
    at: QueryContext, repository: OpenRepository, branch: str, rule: Rule, actor: Actor, options: CompactJobOptions
) -> UpkeepResult:
    name = repository.repository.name
    refs, _ = await repository.refs()
    if refs.find_branch(branch) is None:
        return UpkeepResult(name, branch, NO_BRANCH)
    request = CompactRequest(policy=rule.policy, size_bytes=rule.size_bytes)
    for _ in range(_TRIES):
        try:
            done = await compact(repository, branch, at, request, actor=actor, options=options)
            return UpkeepResult(name, branch, COMPACTED, done)
        except NothingToDo:
            return UpkeepResult(name, branch, IN_ORDER)
        except ConcurrentCommit:
            continue
    return UpkeepResult(name, branch, BUSY)
