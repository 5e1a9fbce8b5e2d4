"""Maintenance inside a server, beside its requests: old uploads are aborted, journals trimmed, pools compacted, and
free memory is given back to the system.

One process of each server does this from time to time. Several servers may do it on one lake, even at once: the journal
decides who aborts an upload or replaces objects, and the others find the work done.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from lochan.api.options import EngineOptions
from lochan.api.session import Session
from lochan.api.upkeep import BranchUpkeep, JournalUpkeep, compact_pools, expire_tokens, expire_uploads, trim_journals
from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.ids import Ids

if TYPE_CHECKING:
    from lochan.api.upkeep import UpkeepPolicy


DAY = 86_400_000_000  # in microseconds, as clocks count

_EVERY_S = 3_600.0
_TRIM_MEMORY_S = 5.0
_COMPACTION = EngineOptions(engine="duckdb", memory_bytes=512 << 20, threads=1)  # requests are answered beside it
# M_TRIM_THRESHOLD: what may lie free at the end of each heap; with half of it a large GET took a sixth more.
# M_MMAP_THRESHOLD: what is asked of the system by itself, and given back when it is free; the most that it takes.
_KEPT = ((-1, 32 << 20), (-3, 32 << 20))
_log = logging.getLogger("lochan.server")


async def keep_expiring(session: Session, clock: Clock, ids: Ids, days: float) -> None:
    """Aborts uploads that are older, and gives up address tokens that have expired, so that their files can be
    collected, until it is cancelled."""
    await _repeat("abort old uploads", clock, ids, _EVERY_S, lambda: expire(session, clock.wall() - round(days * DAY)))


async def keep_trimming(session: Session, clock: Clock, ids: Ids) -> None:
    """Trims the journals, until it is cancelled. A writer of a journal trims it too; here the rest is
    done: in a bucket slots may go only when they are a day old, and then perhaps nobody writes any more."""
    await _repeat("trim the journals", clock, ids, _EVERY_S, lambda: _trim(session))


async def keep_compacting(session: Session, clock: Clock, ids: Ids, upkeep: UpkeepPolicy) -> None:
    """Compacts pools by the policy that was given, until it is cancelled: a compaction that is under way is given up
    then, and changes nothing."""
    await _repeat("look after the pools", clock, ids, upkeep.every_s, lambda: _compact(session, upkeep))


async def _repeat(what: str, clock: Clock, ids: Ids, every_s: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await clock.sleep(every_s * (0.5 + ids.fraction()))  # servers that were started together take turns
        try:
            await work()
        except (LochanError, OSError) as error:
            _log.warning("could not %s: %s", what, error)


async def expire(session: Session, before: int) -> int:
    """How many uploads were aborted that had been begun before then, in all repositories."""
    count = 0
    for each in await session.lake.repositories():
        try:
            count += await expire_uploads(session, each.name, before)
            await expire_tokens(session, each.name)
        except (LochanError, OSError) as error:  # one that is damaged, or deleted meanwhile, does not stop the rest
            _log.warning("could not abort the old uploads of %s: %s", each.name, error)
    return count


async def _trim(session: Session) -> None:
    async for each in trim_journals(session):
        _log_trim(each)


def _log_trim(each: JournalUpkeep) -> None:
    if each.error is not None:
        _log.warning("could not trim the journal of %s: %s", each.journal, each.error)
    else:
        done = each.journal, each.packed, each.deleted
        _log.info("trimmed the journal of %s: %d segments made, %d slots deleted", *done)


async def _compact(session: Session, upkeep: UpkeepPolicy) -> None:
    async for kept in compact_pools(session, upkeep, (), _COMPACTION, session.actor):
        _log_upkeep(kept)


def _log_upkeep(kept: BranchUpkeep) -> None:
    where = f"{kept.pool}@{kept.branch}"
    if kept.compacted is not None:
        done = kept.compacted
        _log.info("compacted %d data objects of %s into %d, %d rows", done.before, where, done.after, done.rows)
    elif kept.error is not None:
        _log.warning("could not compact %s: %s", where, kept.error)
    else:
        _log.debug("%s: %s", where, kept.outcome)


async def keep_memory_trimmed(clock: Clock) -> None:
    """Gives free memory back to the system every few seconds, until it is cancelled. Bodies come and go in pieces of
    megabytes, and the C library keeps what is free between those that are not: after some gigabytes in and out a
    process had twice what it used. Giving it back takes some milliseconds, in a thread. In between nothing is given
    back: what the next piece needs at once would have to be fetched again, page by page, which was a twentieth of what
    64 MiB took on their way in. Other C libraries than glibc have nothing of the kind, or do it by themselves."""
    trim = _of_glibc("malloc_trim")
    keep = _of_glibc("mallopt")
    if keep is not None:
        for option, size in _KEPT:
            keep(option, size)
    while trim is not None:
        await clock.sleep(_TRIM_MEMORY_S)
        await asyncio.to_thread(trim, 0)


def _of_glibc(name: str) -> Callable[..., int] | None:
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    return found
