"""Maintenance inside a server, beside its requests: old uploads are aborted, journals trimmed, pools compacted.

One process of each server does this from time to time. Several servers may do it on one lake, even at once: the journal
decides who aborts an upload or replaces objects, and the others find the work done.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.errors import LochanError, NotFound
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.trim import JournalTrim
from lochan.lake import Lake
from lochan.pools.upkeep import Upkeep
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uploads import abort, uploads

if TYPE_CHECKING:
    from lochan.jobs.upkeep import UpkeepResult

EXPIRY = Actor("lochan", "expiry", "")
UPKEEP = Actor("lochan", "upkeep", "")
DAY = 86_400_000_000  # in microseconds, as clocks count

_EVERY_S = 3_600.0
_MEMORY_BYTES = 512 << 20  # requests are answered beside it
_log = logging.getLogger("lochan.server")


async def keep_expiring(lake: Lake, clock: Clock, ids: Ids, days: float) -> None:
    """Aborts uploads that are older, so that their parts can be collected, until it is cancelled."""
    await _repeat("abort old uploads", clock, ids, _EVERY_S, lambda: expire(lake, clock.wall() - round(days * DAY)))


async def keep_trimming(lake: Lake, clock: Clock, ids: Ids) -> None:
    """Trims the journals, until it is cancelled. Whoever writes to a journal trims it behind itself; here the rest is
    done: in a bucket slots may go only when they are a day old, and then perhaps nobody writes any more."""
    await _repeat("trim the journals", clock, ids, _EVERY_S, lambda: trim_journals(lake))


async def keep_compacting(lake: Lake, clock: Clock, ids: Ids, upkeep: Upkeep) -> None:
    """Compacts pools by the policy that was given, until it is cancelled: a compaction that is under way is given up
    then, and changes nothing."""
    await _repeat("look after the pools", clock, ids, upkeep.every_s, lambda: _compact_pools(lake, upkeep))


async def _repeat(what: str, clock: Clock, ids: Ids, every_s: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await clock.sleep(every_s * (0.5 + ids.fraction()))  # servers that were started together take turns
        try:
            await work()
        except (LochanError, OSError) as error:
            _log.warning("could not %s: %s", what, error)


async def expire(lake: Lake, before: int) -> int:
    """How many uploads were aborted that had been begun before then, in all repositories."""
    count = 0
    for each in await lake.repositories():
        try:
            count += await _expire_in(await lake.open_repository(each.name), before)
        except (LochanError, OSError) as error:  # one that is damaged, or deleted meanwhile, does not stop the rest
            _log.warning("could not abort the old uploads of %s: %s", each.name, error)
    return count


async def _expire_in(repository: OpenRepository, before: int) -> int:
    count = 0
    try:
        for upload in await uploads(repository):
            if upload.time < before:
                with suppress(NotFound):  # completed or aborted by somebody who was quicker
                    await abort(repository, upload.id, actor=EXPIRY)
                    count += 1
    finally:
        await repository.close()
    return count


async def trim_journals(lake: Lake) -> None:
    async for each in lake.trim():
        _log_trim(each)


def _log_trim(each: JournalTrim) -> None:
    if each.error is not None:
        _log.warning("could not trim the journal of %s: %s", each.name, each.error)
    elif any(each.trimmed):
        packed, deleted = each.trimmed
        _log.info("trimmed the journal of %s: %d segments made, %d slots deleted", each.name, packed, deleted)


async def _compact_pools(lake: Lake, upkeep: Upkeep) -> None:
    from lochan.engines.duckdb.limits import Limits  # with the engine behind it: few servers have a policy
    from lochan.jobs.compaction import CompactJobOptions
    from lochan.jobs.upkeep import keep

    options = CompactJobOptions("duckdb", Limits(_MEMORY_BYTES, threads=1))
    async for kept in keep(lake.queries(), upkeep, actor=UPKEEP, options=options):
        _log_upkeep(kept)


def _log_upkeep(kept: UpkeepResult) -> None:
    where = f"{kept.pool}@{kept.branch}"
    if kept.compacted is not None:
        done = kept.compacted
        _log.info("compacted %d data objects of %s into %d, %d rows", done.before, where, done.after, done.rows)
    elif kept.error is not None:
        _log.warning("could not compact %s: %s", where, kept.error)
    else:
        _log.debug("%s: %s", where, kept.outcome)
