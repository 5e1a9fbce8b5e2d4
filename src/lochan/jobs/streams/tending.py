"""Compaction behind a stream. It is never why a stream ends: what was not merged now will be in another round."""

from __future__ import annotations

import logging
import math

import duckdb
import pyarrow.compute as pc

from lochan.engines.compact import Compacted, CompactRequest, compact
from lochan.engines.duckdb.compact import snapshot_of
from lochan.engines.duckdb.limits import Limits
from lochan.engines.query_context import QueryContext
from lochan.errors import ConcurrentCommit, LochanError, NothingToDo
from lochan.formats.record import Actor
from lochan.versioning.open_repository import OpenRepository

_LIMITS = Limits(memory_bytes=512 << 20, threads=1)  # the stream goes on meanwhile
_ROUNDS = 3
_TOO_MANY = 2  # times as many objects as the rows would fill
_log = logging.getLogger("lochan.ingest")


async def tend(
    at: QueryContext, pool: str, branch: str, wish: CompactRequest, *, actor: Actor, last: bool = False
) -> Compacted | None:
    """`last`: the stream stops, and is to leave no more than twice as many objects as its rows would fill; where there
    are no more, nothing is done. None: nothing was done, or it could not be, which is logged."""
    try:
        repository = await at.catalog.open_repository(pool)
        try:
            if last and not await _too_many(repository, branch, wish.size_bytes):
                return None
            return await _tend(at, repository, branch, wish, actor)
        finally:
            await repository.close()
    except (LochanError, OSError, duckdb.Error) as error:
        _log.warning("%s@%s was not compacted: %s", pool, branch, error)
        return None


async def _tend(
    at: QueryContext, repository: OpenRepository, branch: str, wish: CompactRequest, actor: Actor
) -> Compacted | None:
    """More than once: what overlapped was merged first, and may be small beside its neighbours then."""
    done = None
    for _ in range(_ROUNDS):
        try:
            done = await compact(repository, branch, at.files, wish, actor=actor, limits=_LIMITS)
        except NothingToDo:
            break
        except ConcurrentCommit:
            continue
    return done


async def _too_many(repository: OpenRepository, branch: str, size_bytes: int) -> bool:
    refs, _ = await repository.refs()
    id = refs.branch(branch).head
    snapshot = await snapshot_of(repository, id, await repository.tree(refs.commit(id)))
    total = pc.sum(snapshot.spans["size"]).as_py() or 0
    ideal = max(1, math.ceil(total / (size_bytes or snapshot.settings.size_bytes)))
    return bool(snapshot.spans.num_rows > _TOO_MANY * ideal)
