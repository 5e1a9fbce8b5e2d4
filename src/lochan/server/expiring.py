"""Uploads in parts that nobody ends: aborted when they are too old, so that their parts can be collected.

Every server looks from time to time. The journal decides who aborts an upload; the others find it gone.
"""

import logging
from contextlib import suppress

from lochan.clock import Clock
from lochan.errors import LochanError, NotFound
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uploads import abort, uploads

SELF = Actor("lochan", "expiry", "")
DAY = 86_400_000_000  # in microseconds, as clocks count

_EVERY_S = 3_600.0
_log = logging.getLogger("lochan.server")


async def keep_expiring(lake: Lake, clock: Clock, ids: Ids, days: float) -> None:
    """Until it is cancelled."""
    while True:
        await clock.sleep(_EVERY_S * (0.5 + ids.fraction()))  # servers that were started together do not look together
        try:
            await expire(lake, clock.wall() - round(days * DAY))
        except (LochanError, OSError) as error:
            _log.warning("old uploads were not looked for: %s", error)


async def expire(lake: Lake, before: int) -> int:
    """How many uploads were aborted that had been begun before then, in all repositories."""
    count = 0
    for each in await lake.repositories():
        try:
            count += await _expire_in(await lake.open_repository(each.name), before)
        except (LochanError, OSError) as error:  # one that is damaged, or deleted meanwhile, does not stop the rest
            _log.warning("the old uploads of %s were not aborted: %s", each.name, error)
    return count


async def _expire_in(repository: OpenRepository, before: int) -> int:
    count = 0
    try:
        for upload in await uploads(repository):
            if upload.time < before:
                with suppress(NotFound):  # completed or aborted by somebody who was quicker
                    await abort(repository, upload.id, actor=SELF)
                    count += 1
    finally:
        await repository.close()
    return count
