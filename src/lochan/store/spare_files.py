"""Files of a local store that nobody needs any more, kept to be written anew under other names.

    <root>/<path>  ── give ──▶  <root>/.tmp/spare-…  ── take ──▶  written, synced, and given another name

Creating and deleting a file are the expensive parts of a small synced write: the file system finds an inode and blocks,
and gives them back. On ext4 without a journal, each new file also goes past the inodes of all files that were deleted
in the last minutes.
"""

# ruff: noqa: PTH104, PTH108
# Paths are bytes here.
import os
import stat as modes
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Final

from lochan.clock import Clock
from lochan.store.local_files import FOLDER, SpareFile

_FILES_MAX: Final = 1_024
_BYTES_MAX: Final = 1 << 20  # a larger file would hold too much space for small files
# A reader may have opened the file just before it was given. It has this long to read. After this time, even a file
# system whose clock ticks coarsely shows another time.
_REST_S: Final = 1.0
_numbers = count()


class SpareFiles:
    """The spare files of one process. Several threads may use them."""

    def __init__(self, root: bytes, clock: Clock) -> None:
        self._folder = root + b"/" + FOLDER
        self._clock = clock
        self._waiting: deque[tuple[float, bytes]] = deque()  # each with its time, the oldest first

    def give(self, name: bytes) -> bytes:
        """Deletes this file, or keeps it as a spare one. Returns the spare file's name, or an empty name if there is no
        room. Raises OSError."""
        if len(self._waiting) >= _FILES_MAX:
            os.unlink(name)
            return b""
        spare = self._folder + b"/spare-%d-%d" % (os.getpid(), next(_numbers))
        os.rename(name, spare)
        os.utime(spare)  # old temporary files are swept, and this one may be written to when the sweep comes
        return spare

    def add(self, spares: Iterable[bytes]) -> None:
        """Adds files that may be written to from now on. REQUIRES: their old folders are synced. Otherwise a file could
        have its old name again after a power cut, beside the new one, and be given a second time."""
        now = self._clock.boot()
        self._waiting.extend([(now, spare) for spare in spares if spare])

    def take(self) -> SpareFile | None:
        """Returns a file that has rested long enough, or None."""
        while self._waiting and self._clock.boot() - self._waiting[0][0] >= _REST_S:
            try:
                _, name = self._waiting.popleft()
            except IndexError:  # another thread was quicker
                return None
            with suppress(OSError):  # somebody else has removed it
                found = _opened(name)
                if found is not None:
                    return found
        return None

    def drop(self) -> None:
        """Removes all spare files."""
        while self._waiting:
            _, name = self._waiting.popleft()
            with suppress(OSError):
                os.unlink(name)


def _opened(name: bytes) -> SpareFile | None:
    """Opens the file for writing. Removes it and returns None if it may not be written to: a copy of the lake may be
    made of links, and then the file has another name."""
    fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    stat = os.fstat(fd)
    if modes.S_ISREG(stat.st_mode) and stat.st_nlink == 1 and 0 < stat.st_size <= _BYTES_MAX:
        return SpareFile(name, fd, stat.st_size)
    os.close(fd)
    os.unlink(name)
    return None
