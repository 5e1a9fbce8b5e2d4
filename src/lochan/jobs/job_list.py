"""The jobs of a lake as they are now: what each told last, and which of them nobody has heard of for too long."""

from __future__ import annotations

import asyncio

import msgspec

from lochan.errors import Ambiguous, LochanError, NotFound
from lochan.formats.job import PREFIX, RUNNING, JobRecord, decode, id_of, path_of
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

LOST = "lost"
LOST_S = 60.0  # many beats; clocks of machines may differ by some seconds
SILENT_S = 86_400.0  # of a job that is told of only when it ends


async def jobs(store: Store, now: int, limit: int) -> list[JobRecord]:
    """The newest first. One that cannot be read is left out."""
    paths = [stat.path async for stat in store.list(PREFIX)]
    found = await asyncio.gather(*(_read(store, path) for path in reversed(paths[-limit:])))
    read = [_as_of(now, record) for record in found if record is not None]
    return sorted(read, key=lambda record: record.started, reverse=True)  # names tell seconds only


async def job(store: Store, id: str, now: int) -> JobRecord:
    """By its id, or the beginning of it that only one has. Raises NotFound, Ambiguous, Corrupt."""
    known = id.isascii() and id.isalnum()
    ids = [id_of(stat.path) async for stat in store.list(f"{PREFIX}{id}")] if known else []
    if not ids:
        raise NotFound(f"there is no job {id}", hint="`lochan jobs` lists them; the oldest are forgotten")
    if len(ids) > 1 and id not in ids:
        raise Ambiguous(f"{len(ids)} jobs begin with {id}", hint="give more of its id")
    path = path_of(ids[0])
    return _as_of(now, await get_decoded(store, path, lambda data: decode(data, path)))


def _as_of(now: int, record: JobRecord) -> JobRecord:
    patience_s = SILENT_S if record.silent else LOST_S
    if record.state == RUNNING and now - record.beat > patience_s * 1_000_000:
        return msgspec.structs.replace(record, state=LOST)
    return record


async def _read(store: Store, path: str) -> JobRecord | None:
    try:
        return await get_decoded(store, path, lambda data: decode(data, path))
    except LochanError:
        return None
