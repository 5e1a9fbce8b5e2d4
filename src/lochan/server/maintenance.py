"""Does maintenance inside a server, beside its requests: runs the tasks of upkeep by their schedule, and gives free
memory back to the system.

One process of each server does this. Several servers may do the upkeep of one lake, even at once. The journal records
which of them has begun a task, and decides who wins if two of them do the same.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from lochan.api.schedule import run_if_due, schedule_of, seconds_until_due
from lochan.api.session import Session
from lochan.api.upkeep_tasks import TASKS, UpkeepOptions, UpkeepTask
from lochan.clock import Clock
from lochan.config.schedule import Schedule
from lochan.errors import LochanError
from lochan.ids import Ids

if TYPE_CHECKING:
    from lochan.server.metrics import UpkeepMetrics

_LATER = 0.1  # the share of the time between two runs by which servers that were started together differ
_WAIT_S_MAX = 3_600.0  # how soon a setting of another server, or a run by hand, is noticed
_TRIM_MEMORY_S = 5.0
# M_TRIM_THRESHOLD is what may lie free at the end of each heap. With half of it, a large GET took a sixth more.
# M_MMAP_THRESHOLD is the smallest block that is requested from the system by itself, and given back when it is free.
# This is the largest value that it accepts.
_KEPT = ((-1, 32 << 20), (-3, 32 << 20))
_COLLECT = (10_000, 20, 100)  # at most some 2 MB of new objects before the first look
_log = logging.getLogger("lochan.server")


async def keep_schedule(
    session: Session, options: UpkeepOptions, clock: Clock, ids: Ids, metrics: UpkeepMetrics | None = None
) -> None:
    """Runs the tasks of upkeep by their schedule until it is cancelled."""
    on = [(task, schedule_of(task, options)[1]) for task in TASKS.values()]
    async with asyncio.TaskGroup() as group:
        for task, schedule in on:
            if schedule.is_on:
                group.create_task(_keep(session, task, schedule, options, clock, ids, metrics))


async def _keep(
    session: Session,
    task: UpkeepTask,
    schedule: Schedule,
    options: UpkeepOptions,
    clock: Clock,
    ids: Ids,
    metrics: UpkeepMetrics | None,
) -> None:
    started = clock.wall()
    while True:
        try:
            wait_s = await seconds_until_due(session, task, schedule, started)
            if wait_s <= 0:
                await _run_task(session, task, schedule, options, metrics)
        except (LochanError, OSError) as error:
            _log.warning("could not look after %s: %s", task.name, error)
            wait_s = 60.0
        spread_s = (schedule.every_us / 1e6 or 600.0) * _LATER * ids.fraction()
        await clock.sleep(min(max(wait_s, 1.0) + spread_s, _WAIT_S_MAX))


async def _run_task(
    session: Session, task: UpkeepTask, schedule: Schedule, options: UpkeepOptions, metrics: UpkeepMetrics | None
) -> None:
    failures = 0
    started = session.lake.clock.boot()
    async for step in run_if_due(session, task, schedule, options):
        if step.error:
            failures += 1
            _log.warning("upkeep %s: %s: %s", task.name, step.where, step.error)
        else:
            _log.info("upkeep %s: %s: %s", task.name, step.where, step.outcome)
    if metrics is not None:
        metrics.ran(task.name, failures, session.lake.clock.boot() - started)
        if task.name == "scrub":
            from lochan.api.recovery import damaged_files

            for repository, files in (await damaged_files(session)).items():
                metrics.damaged(repository, files)


async def keep_memory_trimmed(clock: Clock) -> None:
    """Gives free memory back to the system every few seconds, until it is cancelled. Bodies come and go in pieces of
    megabytes, and the C library keeps what is free between pieces that are not: after some gigabytes in and out, a
    process had twice what it used. Giving it back takes some milliseconds, on a thread. In between, nothing is given
    back, because the next piece would need it at once and have to fetch it again, page by page; that was a twentieth of
    what 64 MiB took on their way in. Other C libraries than glibc have no such function, or do it by themselves."""
    trim = _find_glibc_function("malloc_trim")
    keep = _find_glibc_function("mallopt")
    if keep is not None:
        for option, size in _KEPT:
            keep(option, size)
    while trim is not None:
        await clock.sleep(_TRIM_MEMORY_S)
        await asyncio.to_thread(trim, 0)


def rarely_collect() -> None:
    """Collects garbage less often. Most objects of a request are in no cycle, and stay in lists for a while (logs,
    staged changes). Searching them at every few requests took a seventh of the time. Loaded modules are kept."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def _find_glibc_function(name: str) -> Callable[..., int] | None:
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    return found
