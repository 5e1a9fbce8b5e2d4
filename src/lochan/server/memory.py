"""The memory of a server's process: what is free goes back to the system every few seconds, and pandas is not loaded
for nothing.

Bodies come and go in pieces of megabytes, and the C library keeps what is free between those that are not: after some
gigabytes in and out a process had twice what it used. Giving it back takes some milliseconds, in a thread. In between
nothing is given back: what the next piece needs at once would have to be fetched anew, page by page, which was a
twentieth of what 64 MiB took on their way in.
"""

import asyncio
import ctypes
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from lochan.clock import Clock

_EVERY_S = 5.0
# M_TRIM_THRESHOLD: what may lie free at the end of each heap; with half of it a large GET took a sixth more.
# M_MMAP_THRESHOLD: what is asked of the system by itself, and given back when it is free; the most that it takes.
_KEPT = ((-1, 32 << 20), (-3, 32 << 20))


async def keep_memory_trimmed(clock: Clock) -> None:
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


def arrow_without_pandas() -> None:
    """Arrow asks whether a list is one of pandas' kinds, and imports pandas for that where it is installed: 50 MB, and
    a quarter of a second in which nobody is answered. Told once that there is no pandas, it believes that; whoever
    imports pandas themselves still gets it."""
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(absent)


class _Absent:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None
