"""A job without a process of its own: Spark calls what begins it and what ends it, wherever and whenever it likes. So
it is told of at these moments, and between them nobody can say more.

What the store has against a record is no reason for a job to fail, nor to wait for long.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec

from lochan.formats.job import DONE, FAILED, FORMAT, JobRecord, decode, encode, path_of
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.jobs.landing import Landed
from lochan.jobs.record import JobPlace, forget_old, why
from lochan.store.checked_reads import get_decoded
from lochan.store.counts import counts_of

_PATIENCE_S = 5.0
_HOUR_US = 3_600_000_000
_ONE_IN_62 = "0"  # of the last letters of ids


async def begun(place: JobPlace, kind: str, about: str, actor: Actor) -> JobRecord:
    now = place.clock.wall()
    record = await _put(place, _record(place.ids.ksuid(now), kind, about, actor, now))
    if record.id.endswith(_ONE_IN_62):
        with suppress(Exception):
            async with asyncio.timeout(_PATIENCE_S):
                await forget_old(place.store)
    return record


async def ended(place: JobPlace, record: JobRecord, how: Landed | Exception) -> None:
    await _put(place, _and(place, record, how))


async def batch(place: JobPlace, stream: bytes, about: str, actor: Actor, how: Landed | Exception) -> None:
    """Of a stream, which is named by sixteen bytes or more. There is one record for each hour in which a batch came,
    and it is done when the last of them is."""
    now = place.clock.wall()
    id = Ids(lambda count: stream[:count]).ksuid(now - now % _HOUR_US)
    known = await _read(place, id) or _record(id, "ingest", about, actor, now)
    await _put(place, _and(place, known, how))


def _record(id: str, kind: str, about: str, actor: Actor, now: int) -> JobRecord:
    return JobRecord(FORMAT, id, kind, about, actor.user, actor.client, actor.source, "", now, now, silent=True)


def _and(place: JobPlace, record: JobRecord, how: Landed | Exception) -> JobRecord:
    now = place.clock.wall()
    record = msgspec.structs.replace(record, beat=now, ended=now)
    if isinstance(how, Exception):
        return msgspec.structs.replace(record, state=FAILED, error=why(how))
    return msgspec.structs.replace(
        record,
        state=DONE,
        rows=(record.rows or 0) + how.rows,
        executor_bytes=(record.executor_bytes or 0) + how.put_bytes,
    )


async def _read(place: JobPlace, id: str) -> JobRecord | None:
    path = path_of(id)
    with suppress(Exception):
        async with asyncio.timeout(_PATIENCE_S):
            return await get_decoded(place.store, path, lambda data: decode(data, path))
    return None


async def _put(place: JobPlace, record: JobRecord) -> JobRecord:
    """Returns it with what was put through the same store meanwhile, itself too."""
    with suppress(Exception):
        async with asyncio.timeout(_PATIENCE_S):
            await place.store.put(path_of(record.id), encode(_counted(place, record)))
    return _counted(place, record)


def _counted(place: JobPlace, record: JobRecord) -> JobRecord:
    counts = counts_of(place.store)
    if counts is None:
        return record
    return msgspec.structs.replace(record, driver_bytes=(record.driver_bytes or 0) + counts.total.bytes_out)
