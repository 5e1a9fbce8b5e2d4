"""The files of a local store: one for reading, and one for writing.

A file is written in the store's `.tmp` folder, synced, and then given its final name, or dropped. No file with a final
name is ever half written, and a file that failed to sync never gets one.
"""

# ruff: noqa: PTH104, PTH108
# Paths are bytes here: a key is UTF-8, whatever the locale says.
import os
import stat as modes
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import count
from threading import Lock
from types import TracebackType
from typing import NamedTuple

from lochan.errors import Transient
from lochan.store.disk import FILE_MODE, translate
from lochan.store.protocol import Stat

FOLDER = b".tmp"
# For larger writes the kernel uses pages of 2 MiB, which a virtual machine has often given back to its host: their
# first touch is ten times as slow as the copy (64 MiB: 150 ms instead of 17).
_WRITE_BYTES = 512 << 10
_AHEAD_BYTES = 16 << 20  # so much of a longer file is given to the disk at a time, before the sync asks for all
# A flag of Linux' sync_file_range that only begins to write. Waiting as well would take an error away from the sync,
# which must see it.
_WRITE = 2
_numbers = count()


class LocalFile:
    """An open file for reading. It closes with its last holder: a cancelled reader may leave a thread that still reads,
    and a descriptor closed under that thread could by then belong to another file."""

    __slots__ = ("_fd", "_path", "size")

    def __init__(self, name: bytes, path: str) -> None:
        """Opens the file. Raises OSError, and FileNotFoundError if the name is not a file."""
        self._fd = -1
        self._fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        self._path = path
        stat = os.fstat(self._fd)
        if not modes.S_ISREG(stat.st_mode):
            raise FileNotFoundError(path)
        self.size = stat.st_size

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly these bytes, which are within the size at the time of opening."""
        try:
            data = os.pread(self._fd, stop - start, start)
            while len(data) < stop - start:  # the kernel returns at most 2 GiB at once
                more = os.pread(self._fd, stop - start - len(data), start + len(data))
                if not more:
                    raise Transient(f"{self._path}: the file became shorter while it was read")
                data += more
        except OSError as error:
            raise translate(error, self._path) from error
        return data


class SpareFile(NamedTuple):
    """A file that nobody needs any more, to be written over."""

    name: bytes
    fd: int  # open to write
    size: int  # the size of the old content


class TemporaryFile:
    """A file that is being written."""

    def __init__(self, root: bytes, spare: SpareFile | None = None) -> None:
        """With a `spare` file, writes over what is in it."""
        self._lock = Lock()  # a cancelled stream drops the file while a thread may still be writing to it
        self._name, self._fd = _open(root + b"/" + FOLDER) if spare is None else (spare.name, spare.fd)
        self._size = 0 if spare is None else spare.size
        self._written = self._begun = 0  # bytes written, and bytes that were handed to the disk

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._lock:
            if self._fd < 0:
                raise OSError("the temporary file was dropped")
            while view:
                view = view[os.write(self._fd, view[:_WRITE_BYTES]) :]
            self._written += len(data)
            if self._written - self._begun >= _AHEAD_BYTES:
                self._begin()

    def seal(self) -> None:
        """Syncs and closes the file. A failed sync is never repeated: the kernel may have forgotten what it could not
        write."""
        with self._lock:
            if self._fd < 0:
                raise OSError("the temporary file was dropped")
            if self._written < self._size:
                os.ftruncate(self._fd, self._written)
            os.fsync(self._fd)
            fd, self._fd = self._fd, -1
            os.close(fd)

    def link(self, final: bytes) -> None:
        """Gives the file its final name, by the one atomic step of put-if-absent. Raises FileExistsError if the name is
        taken."""
        os.link(self._name, final)

    def rename(self, final: bytes) -> None:
        os.rename(self._name, final)

    def drop(self) -> None:
        """Removes the temporary name. The final name, if there is one, stays."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                with suppress(OSError):
                    os.close(fd)
        with suppress(OSError):
            os.unlink(self._name)

    def _begin(self) -> None:
        begin_writeback(self._fd, self._begun, self._written - self._begun)
        self._begun = self._written

    def __enter__(self) -> "TemporaryFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.drop()


def sweep(root: bytes, before: float) -> int:
    """Removes temporary files last written before this time (seconds since 1970). Returns how many."""
    removed = 0
    with suppress(FileNotFoundError), os.scandir(root + b"/" + FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
                    removed += 1
    return removed


def leftover_files(root: bytes) -> list[Stat]:
    """Returns all temporary files, whether they are still being written or not."""
    found = []
    with suppress(FileNotFoundError), os.scandir(root + b"/" + FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                stat = entry.stat(follow_symlinks=False)
                found.append(Stat(os.fsdecode(FOLDER + b"/" + entry.name), stat.st_size, stat.st_mtime, ""))
    return sorted(found)


def _open(folder: bytes) -> tuple[bytes, int]:
    while True:
        # The process id keeps processes apart; where it does not (two containers on one disk), O_EXCL does.
        name = folder + b"/%d-%d" % (os.getpid(), next(_numbers))
        with suppress(FileExistsError):
            return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)


def begin_writeback(fd: int, start: int, size: int) -> None:
    """Asks the disk to begin while more is written, so that the sync at the end has little left to do. Guarantees
    nothing, and does nothing on a system without such a call. It may wait for a disk that is behind."""
    call = _sync_file_range()
    if call is not None:
        call(fd, start, size, _WRITE)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    import ctypes  # slow to import, and a short command never gets here

    try:
        found = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    call: Callable[[int, int, int, int], int] = found
    return call
