"""Trimming of the journals inside a server: one of its processes looks at all of them from time to time.

Whoever writes to a journal trims it behind itself. Here the rest is done: in a bucket slots may go only when they are a
day old, and then perhaps nobody writes any more. Several servers may do so on one lake, at once too.
"""

import logging

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.ids import Ids
from lochan.journal.trim import JournalTrim
from lochan.lake import Lake

_EVERY_S = 3_600.0
_log = logging.getLogger("lochan.server")


async def keep_journals_trimmed(lake: Lake, clock: Clock, ids: Ids) -> None:
    """Until it is cancelled: what is under way then is done by the next one."""
    while True:
        await clock.sleep(_EVERY_S * (0.5 + ids.fraction()))  # servers that were started together do not look together
        try:
            await trim_journals(lake)
        except (LochanError, OSError) as error:
            _log.warning("the journals were not trimmed: %s", error)


async def trim_journals(lake: Lake) -> None:
    async for each in lake.trim():
        _log_one(each)


def _log_one(each: JournalTrim) -> None:
    if each.error is not None:
        _log.warning("the journal of %s was not trimmed: %s", each.name, each.error)
    elif any(each.trimmed):
        packed, deleted = each.trimmed
        _log.info("trimmed the journal of %s: %d segments made, %d slots deleted", each.name, packed, deleted)
