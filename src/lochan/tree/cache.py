"""Ranges on a local disk as Arrow files, to be mapped into memory.

    <folder>/<2 hex>/<name>.arrow        an Arrow IPC file of one batch, "LOCHANA1", CRC-32 of name and file

What is kept has been checked against its range's name; the checksum only finds out what a crash or the disk did to it
since, and is taken once a process. Nothing is synced. Several processes share a folder without a lock: files appear by
rename, and one that another removes stays mapped where it is.
"""

# ruff: noqa: PTH104, PTH108, PTH116
# Files are opened by descriptor here, as in the store's cache.
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from struct import Struct
from zlib import crc32

import pyarrow as pa

from lochan.clock import Clock
from lochan.store.disk import FILE_MODE, make_private_folder

_TRAILER = Struct("<8sI")
_MAGIC = b"LOCHANA1"
_TOUCH_S = 60.0  # how exactly the order of use is kept
_SLACK = 16  # the folder is counted anew when a sixteenth of its limit was added; so much each process may exceed it

_numbers = count()


class ArrowCache:
    def __init__(self, folder: str, bytes_max: int, clock: Clock) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._clock = clock
        self._verified: dict[str, tuple[int, int, int]] = {}  # file -> its identity when its checksum was right
        self._added = bytes_max  # so that the first addition counts what is there

    def open(self, name: str) -> pa.RecordBatch | None:
        """The batch, mapped; None: no copy that could be believed. A bad one is removed."""
        file = self._file(name)
        try:
            self._touch(file)
            identity = _identity(os.stat(file))
            mapped = pa.memory_map(file)
            whole = mapped.read_buffer()
            mapped.close()  # the mapping stays with the buffer, the descriptor is free
            settled = _identity(os.stat(file)) == identity  # no other process has put another file in its place
        except OSError:
            return None
        except pa.ArrowException:  # an empty file cannot be mapped
            self._remove(file)
            return None
        content = whole.slice(0, max(0, whole.size - _TRAILER.size))
        if not settled or self._verified.get(file) != identity:
            if whole.slice(content.size) != pa.py_buffer(_trailer(name, crc32(content))):
                self._remove(file)
                return None
            if settled:
                self._verified[file] = identity
        return pa.ipc.open_file(pa.BufferReader(content)).get_batch(0)

    def keep(self, name: str, batch: pa.RecordBatch) -> None:
        """Where there is no room or no permission there is no copy, and no error."""
        if batch.nbytes > self._bytes_max // 2:
            return
        file = self._file(name)
        temporary = f"{file}.{os.getpid()}-{next(_numbers)}"
        try:
            make_private_folder(file.rpartition("/")[0])
            size = self._write(temporary, name, batch)
            os.rename(temporary, file)
            self._verified[file] = _identity(os.stat(file))
        except OSError:
            self._remove(temporary)
            return
        self._added += size
        if self._added > self._bytes_max // _SLACK:
            self.evict()

    def _write(self, file: str, name: str, batch: pa.RecordBatch) -> int:
        """Straight to the disk, and summed on the way: a second copy in memory of a million entries is 300 MB."""
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            summed = _Summed(fd)
            with pa.PythonFile(summed, "w") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
            _write_all(fd, memoryview(_trailer(name, summed.sum)))
            self._stamp(fd)
            return summed.size + _TRAILER.size
        finally:
            os.close(fd)

    def forget(self, name: str) -> None:
        self._remove(self._file(name))

    def evict(self) -> int:
        """Remove the copies that were longest unused until the folder is within its limit; returns the bytes left."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        limit = self._bytes_max - self._bytes_max // _SLACK
        for _, size, file in files:
            if total <= limit:
                break
            self._remove(file)
            total -= size
        self._added = 0
        there = {file for _, _, file in files}
        self._verified = {file: identity for file, identity in self._verified.items() if file in there}
        return total

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Last use, size and name of every file, half-written ones of dead processes included."""
        with suppress(OSError), os.scandir(self._folder) as folders:
            for folder in folders:
                with suppress(OSError), os.scandir(folder.path) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            stat = entry.stat(follow_symlinks=False)
                            yield stat.st_mtime, stat.st_size, entry.path

    def _touch(self, file: str) -> None:
        if self._clock.wall() / 1e6 - os.stat(file).st_mtime > _TOUCH_S:
            self._stamp(file)

    def _stamp(self, file: str | int) -> None:
        now = self._clock.wall() * 1000
        os.utime(file, ns=(now, now))

    def _remove(self, file: str) -> None:
        self._verified.pop(file, None)
        with suppress(OSError):
            os.unlink(file)

    def _file(self, name: str) -> str:
        # Hashed, because a name has slashes, and to spread the files over folders.
        hashed = sha256(name.encode()).hexdigest()
        return f"{self._folder}/{hashed[:2]}/{hashed[:40]}.arrow"


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    """Changes with every change of the file; its ctime cannot be set back."""
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _trailer(name: str, content: int) -> bytes:
    """`content` is the sum so far; the name is summed too, so that two files exchanged are found out."""
    return _TRAILER.pack(_MAGIC, crc32(name.encode(), content))


class _Summed:
    """A file as Arrow writes it, buffer by buffer."""

    closed = False

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = 0
        self.sum = 0

    def write(self, data: bytes | pa.Buffer) -> None:
        view = memoryview(data).cast("B")
        self.sum = crc32(view, self.sum)
        self.size += len(view)
        _write_all(self._fd, view)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _write_all(fd: int, view: memoryview) -> None:
    while view:
        view = view[os.write(fd, view) :]
