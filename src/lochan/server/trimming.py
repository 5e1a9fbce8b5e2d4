"""Memory that nobody uses is given back to the system, every few seconds.

Bodies come and go in pieces of megabytes, and the C library keeps what is free between those that are not: after some
gigabytes in and out a process had twice what it used. To give it back takes some milliseconds, in a thread.
"""

import asyncio
import ctypes
from collections.abc import Callable

from lochan.clock import Clock

_EVERY_S = 5.0


async def keep_trimming(clock: Clock) -> None:
    """Until it is cancelled. Other C libraries than glibc have nothing of the kind, or do it by themselves."""
    trim = _trim()
    while trim is not None:
        await clock.sleep(_EVERY_S)
        await asyncio.to_thread(trim, 0)


def _trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    return found
