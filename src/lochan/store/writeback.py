"""Asking the disk to begin, while more is being written: the sync at the end then finds little left to wait for."""

import ctypes
from collections.abc import Callable
from functools import cache

# Of Linux' sync_file_range. Only to begin: to wait as well would take an error away from the sync that has to see it.
_WRITE = 2


def begin(fd: int, start: int, size: int) -> None:
    """Promises nothing, and does nothing where a system has no such call. It may wait for a disk that is behind."""
    call = _sync_file_range()
    if call is not None:
        call(fd, start, size, _WRITE)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    try:
        found = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    call: Callable[[int, int, int, int], int] = found
    return call
