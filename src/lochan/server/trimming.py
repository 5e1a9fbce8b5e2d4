"""Memory that nobody uses is given back to the system, every few seconds.

Bodies come and go in pieces of megabytes, and the C library keeps what is free between those that are not: after some
gigabytes in and out a process had twice what it used. To give it back takes some milliseconds, in a thread. In between
nothing is given back: what the next piece needs at once would have to be fetched anew, page by page, which was a
twentieth of what 64 MiB took on their way in.
"""

import asyncio
import ctypes
from collections.abc import Callable

from lochan.clock import Clock

_EVERY_S = 5.0
# M_TRIM_THRESHOLD: what may lie free at the end of each heap; with half of it a large GET took a sixth more.
# M_MMAP_THRESHOLD: what is asked of the system by itself, and given back when it is free; the most that it takes.
_KEPT = ((-1, 32 << 20), (-3, 32 << 20))


async def keep_trimming(clock: Clock) -> None:
    """Until it is cancelled. Other C libraries than glibc have nothing of the kind, or do it by themselves."""
    trim = _of_glibc("malloc_trim")
    keep = _of_glibc("mallopt")
    if keep is not None:
        for option, size in _KEPT:
            keep(option, size)
    while trim is not None:
        await clock.sleep(_EVERY_S)
        await asyncio.to_thread(trim, 0)


def _of_glibc(name: str) -> Callable[..., int] | None:
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    return found
