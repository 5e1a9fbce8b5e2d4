"""Deletes files beside repositories that are no longer needed: old records of jobs, and half-written files of killed
processes on a local disk. No journal names any of them."""

from lochan.clock import Clock
from lochan.formats.job import PREFIX as JOBS
from lochan.store.capabilities import TemporaryFiles, capability
from lochan.store.protocol import Store
from lochan.versioning.collection.store_clock import store_time

JOB_RECORD_S = 90 * 86_400.0
TEMPORARY_S = 86_400.0


async def delete_old_jobs(store: Store, older_than_s: float = JOB_RECORD_S) -> int:
    """Deletes records that were put so long ago, by the store's clock, and returns how many. A job that runs puts its
    own every few seconds."""
    stats = [stat async for stat in store.list(JOBS)]
    if not stats:
        return 0
    now = await store_time(store, "_lake")
    old = [stat.path for stat in stats if now - stat.modified > older_than_s]
    for path in old:
        await store.delete(path)
    return len(old)


def delete_temporary_files(store: Store, clock: Clock, older_than_s: float = TEMPORARY_S) -> int:
    """Deletes old temporary files and returns how many. Only a local disk has any."""
    local = capability(store, TemporaryFiles)
    return 0 if local is None else local.sweep_temp(older_than_s, clock)
