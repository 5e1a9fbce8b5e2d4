"""Remembers which files were read completely and had the right SHA-256, at which stamp.

    <file>        marks of 8 bytes, the newest last, without a header

A mark is a digest of the file's name, its stamp (inode, size and times on a disk, the ETag on a bucket), its SHA-256
and the week. A process that finds the mark need not read the file again. A stamp proves that the file was not written
to through the file system since, but not that the disk still holds the bytes. So each mark is valid for a week at most,
and code that copies rows into new files never uses marks.

A mark that is damaged or lost costs one more reading of a file, and nothing else."""

# ruff: noqa: PTH104, PTH108
# Files are opened by descriptor here, as in the store's cache.
import os
import sys
from array import array
from contextlib import suppress
from hashlib import sha256
from itertools import count
from threading import Lock
from zlib import crc32

from lochan.clock import Clock

Stamp = tuple[int, ...] | str

YOUNG_NS = 2_000_000_000  # the coarsest time resolution of a file system
_MARK_BYTES = 8
_PERIOD_US = 7 * 86_400 * 1_000_000
_MARKS_MAX = 1 << 18  # 2 MiB of marks; above that the older half is dropped

_SEEN_MAX = 1 << 16

_numbers = count()


def stamp_of(stat: os.stat_result, wall_us: int) -> tuple[int, ...] | None:
    """Returns a value that changes when the file is written to or replaced. Returns None if the file is so new that a
    write now could leave the same stamp."""
    if abs(wall_us * 1_000 - stat.st_ctime_ns) < YOUNG_NS:
        return None
    return identity_of(stat)


def identity_of(stat: os.stat_result) -> tuple[int, ...]:
    """Returns a value that changes with every change of the file; its ctime cannot be set back."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class VerifiedFiles:
    """The marks of one store. Without a file, they are only in memory. Several threads may use it, and several
    processes may share the file."""

    def __init__(self, url: str, clock: Clock, file: str = "") -> None:
        self.clock = clock
        self._url = url
        self._file = file
        self._marks: dict[int, None] | None = None  # the marks, in the order in which they were made
        self._seen: dict[str, tuple[Stamp, bytes, int]] = {}  # what this process has found, and until when it is valid
        self._unsaved = array("Q")
        self._lock = Lock()

    def has(self, name: str, stamp: Stamp | None, digest: bytes) -> bool:
        if stamp is None:
            return False
        seen = self._seen.get(name)
        if seen is not None and seen[0] == stamp and seen[1] == digest and self.clock.wall() < seen[2]:
            return True
        mark, until = self._mark(name, stamp, digest)
        if mark not in self._loaded():
            return False
        self._remember(name, stamp, digest, until)
        return True

    def add(self, name: str, stamp: Stamp | None, digest: bytes) -> None:
        """Records that the file had this digest, and this stamp before and after it was read."""
        if stamp is None:
            return
        mark, until = self._mark(name, stamp, digest)
        with self._lock:
            self._remember(name, stamp, digest, until)
            marks = self._loaded()
            if mark in marks:
                return
            marks[mark] = None
            self._unsaved.append(mark)
            if len(marks) > _MARKS_MAX:
                for old in [*marks][: _MARKS_MAX // 2]:
                    del marks[old]

    def save(self) -> None:
        """Saves new marks for other processes. If that fails, they read the files themselves."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, array("Q")
        if not unsaved or not self._file:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(fd).st_size
                # A killed process may have left part of a mark: the next one must be aligned.
                os.write(fd, bytes(-size % _MARK_BYTES) + unsaved.tobytes())
            finally:
                os.close(fd)
            if size > _MARKS_MAX * _MARK_BYTES:
                self._halve()

    def _halve(self) -> None:
        """Drops the older half. Marks that another process adds at the same time may be lost; they are made again."""
        part = f"{self._file}.{os.getpid()}-{next(_numbers)}"
        kept = _read(self._file)[-_MARKS_MAX // 2 :].tobytes()
        try:
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, kept)
            finally:
                os.close(fd)
            os.rename(part, self._file)
        except OSError:
            with suppress(OSError):
                os.unlink(part)

    def _remember(self, name: str, stamp: Stamp, digest: bytes, until: int) -> None:
        if len(self._seen) >= _SEEN_MAX:  # it is emptied, and is no BoundedCache, because threads ask without the lock
            self._seen.clear()
        self._seen[name] = stamp, digest, until

    def _loaded(self) -> dict[int, None]:
        if self._marks is None:
            self._marks = dict.fromkeys(_read(self._file)) if self._file else {}
        return self._marks

    def _mark(self, name: str, stamp: Stamp, digest: bytes) -> tuple[int, int]:
        """Returns the mark, and the time at which it ends."""
        encoded = f"{self._url}\0{name}\0".encode(errors="surrogatepass")
        # The weeks of different files begin at different times, so that not all marks end on one day.
        offset = crc32(encoded) * _PERIOD_US >> 32
        week = (self.clock.wall() + offset) // _PERIOD_US
        hashed = sha256(encoded + f"{stamp}\0{week}\0".encode() + digest)
        return int.from_bytes(hashed.digest()[:_MARK_BYTES], sys.byteorder), (week + 1) * _PERIOD_US - offset


def _read(file: str) -> "array[int]":
    data = b""
    with suppress(OSError):
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.pread(fd, 2 * _MARKS_MAX * _MARK_BYTES, 0)
        finally:
            os.close(fd)
    return array("Q", data[: len(data) - len(data) % _MARK_BYTES])
