"""The upkeep of pools inside a server, where a policy was given: one process of each server looks from time to time.

Several servers may do so on one lake: where two compact the same objects one of them wins, and the other finds the
work done.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.pools.upkeep import Upkeep

if TYPE_CHECKING:
    from lochan.engines.upkeep import UpkeepResult

SELF = Actor("lochan", "upkeep", "")

_MEMORY_BYTES = 512 << 20  # requests are answered beside it
_log = logging.getLogger("lochan.server")


async def keep_managing(lake: Lake, clock: Clock, ids: Ids, upkeep: Upkeep) -> None:
    """Until it is cancelled: then a compaction that is under way is given up, and nothing is changed by it."""
    while True:
        await clock.sleep(upkeep.every_s * (0.5 + ids.fraction()))  # servers that were started together take turns
        try:
            await _round(lake, upkeep)
        except (LochanError, OSError) as error:
            _log.warning("the pools were not looked at: %s", error)


async def _round(lake: Lake, upkeep: Upkeep) -> None:
    from lochan.engines.duckdb.limits import Limits  # with the engine behind it: few servers have a policy
    from lochan.engines.upkeep import keep

    limits = Limits(_MEMORY_BYTES, threads=1)
    async for kept in keep(lake.queries(), upkeep, actor=SELF, limits=limits):
        _say(kept)


def _say(kept: UpkeepResult) -> None:
    where = f"{kept.pool}@{kept.branch}"
    if kept.compacted is not None:
        done = kept.compacted
        _log.info("compacted %d data objects of %s into %d, %d rows", done.before, where, done.after, done.rows)
    elif kept.error is not None:
        _log.warning("%s was not kept in order: %s", where, kept.error)
    else:
        _log.debug("%s: %s", where, kept.outcome)
