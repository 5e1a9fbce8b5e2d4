"""Which files were read as a whole and had the SHA-256 they were written with, at which stamp.

    <file>        marks of 16 bytes, the newest last, without a header

A mark is a digest of the file's name, its stamp (inode, size and times on a disk, the ETag on a bucket), its SHA-256
and the week. Whoever finds the same mark again need not read the file again. A stamp proves that nobody has written to
the file through the file system since; it does not prove that the disk still holds the bytes. So each mark holds for a
week at most, and what copies rows into new files never asks for marks.

A mark that is damaged or lost costs one more reading of a file, and nothing else.
"""

# ruff: noqa: PTH104, PTH108
# Files are opened by descriptor here, as in the store's cache.
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from threading import Lock

from lochan.clock import Clock

Stamp = tuple[int, ...] | str

YOUNG_NS = 2_000_000_000  # the coarsest times that a file system keeps
_MARK_BYTES = 16
_PERIOD_US = 7 * 86_400 * 1_000_000
_MARKS_MAX = 1 << 18  # 4 MiB of marks; above that the older half is dropped

_numbers = count()


def stamp_of(stat: os.stat_result, wall_us: int) -> tuple[int, ...] | None:
    """What changes when somebody writes to the file or puts another in its place. None: the file is so new that what is
    written to it now could leave the same stamp."""
    if abs(wall_us * 1_000 - stat.st_ctime_ns) < YOUNG_NS:
        return None
    return identity_of(stat)


def identity_of(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class Verified:
    """Of one store. Without a file, marks are kept in memory only. May be used from several threads, and several
    processes may share the file."""

    def __init__(self, url: str, clock: Clock, file: str = "") -> None:
        self.clock = clock
        self._url = url
        self._file = file
        self._marks: dict[bytes, None] | None = None  # in the order in which they were made
        self._unsaved: list[bytes] = []
        self._lock = Lock()

    def has(self, name: str, stamp: Stamp | None, digest: bytes) -> bool:
        return stamp is not None and self._mark(name, stamp, digest) in self._loaded()

    def add(self, name: str, stamp: Stamp | None, digest: bytes) -> None:
        """The file had this digest, and this stamp before and after it was read."""
        if stamp is None:
            return
        mark = self._mark(name, stamp, digest)
        with self._lock:
            marks = self._loaded()
            if mark in marks:
                return
            marks[mark] = None
            self._unsaved.append(mark)
            if len(marks) > _MARKS_MAX:
                for old in [*marks][: _MARKS_MAX // 2]:
                    del marks[old]

    def save(self) -> None:
        """For other processes. Where that fails, they read the files themselves."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, []
        if not unsaved or not self._file:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(fd).st_size
                # A process that was killed may have left part of a mark: what follows must not be read askew.
                os.write(fd, bytes(-size % _MARK_BYTES) + b"".join(unsaved))
            finally:
                os.close(fd)
            if size > _MARKS_MAX * _MARK_BYTES:
                self._halve()

    def _halve(self) -> None:
        """Marks that another process adds at this moment may be lost: they are made again."""
        part = f"{self._file}.{os.getpid()}-{next(_numbers)}"
        kept = b"".join([*_read(self._file)][-_MARKS_MAX // 2 :])
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

    def _loaded(self) -> dict[bytes, None]:
        if self._marks is None:
            self._marks = dict.fromkeys(_read(self._file)) if self._file else {}
        return self._marks

    def _mark(self, name: str, stamp: Stamp, digest: bytes) -> bytes:
        hashed = sha256(f"{self._url}\0{name}\0".encode(errors="surrogatepass"))
        # Not all on one day: the weeks of different files begin at different times.
        offset = int.from_bytes(hashed.digest()[:8]) % _PERIOD_US
        hashed.update(f"{stamp}\0{(self.clock.wall() + offset) // _PERIOD_US}\0".encode() + digest)
        return hashed.digest()[:_MARK_BYTES]


def _read(file: str) -> Iterator[bytes]:
    data = b""
    with suppress(OSError):
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = min(os.fstat(fd).st_size, 2 * _MARKS_MAX * _MARK_BYTES)
            data = os.pread(fd, size, 0)
        finally:
            os.close(fd)
    return (data[at : at + _MARK_BYTES] for at in range(0, len(data) - _MARK_BYTES + 1, _MARK_BYTES))
