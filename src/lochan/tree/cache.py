"""Ranges on a local disk as Arrow files, to be mapped into memory.

    <folder>/<2 hex>/<40 hex of the name>.arrow     an Arrow IPC file of one batch, "LOCHANA1", CRC-32 of name and file

Every copy has been checked against its range's name. The checksum only detects what a crash or the disk did to the file
since, and each process checks it once. Nothing is synced. Several processes share a folder without a lock: files appear
by rename, and a file that another process removes stays mapped where it is."""

# ruff: noqa: PTH104, PTH108, PTH116
# Files are opened by descriptor here, for one stat, one write and one touch.
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from struct import Struct
from zlib import crc32

import pyarrow as pa

from lochan.clock import Clock
from lochan.store.disk import FILE_MODE, make_private_folder
from lochan.store.verified_files import identity_of

_TRAILER = Struct("<8sI")
_MAGIC = b"LOCHANA1"
_TOUCH_S = 60.0  # the precision of the order of use, in seconds
_SLACK = 16  # the folder is counted again when a sixteenth of its limit was added; each process may exceed it by that

_numbers = count()


class ArrowCache:
    """A cache of ranges. `bytes_max` bounds the folder; the copies that were unused for longest are removed first."""

    def __init__(self, folder: str, bytes_max: int, clock: Clock) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._clock = clock
        self._verified: dict[str, tuple[int, ...]] = {}  # the identity of each file when its checksum was right
        self._added = bytes_max  # so that the first addition counts the existing files

    def open(self, name: str) -> pa.RecordBatch | None:
        """Returns the batch, mapped, or None if there is no copy that can be trusted. A bad one is removed."""
        file = self._file(name)
        try:
            self._touch(file, os.stat(file).st_mtime)
            identity = identity_of(os.stat(file))
            mapped = pa.memory_map(file)
            whole = mapped.read_buffer()
            mapped.close()  # the mapping stays with the buffer, the descriptor is free
            settled = identity_of(os.stat(file)) == identity  # no other process has put another file in its place
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
        """Writes a copy. Without room or permission there is no copy, and no error. The batch is summed while it is
        written: a second copy of a million entries in memory would be 300 MB."""
        if batch.nbytes > self._bytes_max // 2:
            return

        def write(fd: int) -> int:
            summed = _Summed(fd)
            with pa.PythonFile(summed, "w") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
            _write_all(fd, memoryview(_trailer(name, summed.sum)))
            return summed.size + _TRAILER.size

        file = self._file(name)
        if self._write(file, write):
            with suppress(OSError):  # the copy was evicted at once
                self._verified[file] = identity_of(os.stat(file))

    def forget(self, name: str) -> None:
        self._remove(self._file(name))

    def evict(self) -> int:
        """Removes the copies that were unused for longest until the folder is within its limit. Returns the bytes that
        are left."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        limit = self._bytes_max - self._bytes_max // _SLACK
        for _, size, file in files:
            if total <= limit:
                break
            self._remove(file)
            total -= size
        self._added = 0
        listed = {file for _, _, file in files}
        self._verified = {file: identity for file, identity in self._verified.items() if file in listed}
        return total

    def _write(self, file: str, write: Callable[[int], int]) -> bool:
        """Lets `write` fill a new file, by its descriptor, and gives it its name. `write` returns the size. Without
        room or permission there is no copy, and no error: then it returns False."""
        temporary = f"{file}.{os.getpid()}-{next(_numbers)}"
        self._verified.pop(file, None)
        try:
            make_private_folder(file.rpartition("/")[0])
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            try:
                size = write(fd)
                self._touch(fd, 0.0)
            finally:
                os.close(fd)
            os.rename(temporary, file)
        except OSError:
            self._remove(temporary)
            return False
        self._added += size
        if self._added > self._bytes_max // _SLACK:
            self.evict()
        return True

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yields the last use, size and name of every file, including half-written ones of dead processes."""
        with suppress(OSError), os.scandir(self._folder) as folders:
            for folder in folders:
                with suppress(OSError), os.scandir(folder.path) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            stat = entry.stat(follow_symlinks=False)
                            yield stat.st_mtime, stat.st_size, entry.path

    def _touch(self, file: str | int, last: float) -> None:
        now = self._clock.wall()
        if now / 1e6 - last > _TOUCH_S:
            os.utime(file, ns=(now * 1000, now * 1000))

    def _remove(self, file: str) -> None:
        self._verified.pop(file, None)
        with suppress(OSError):
            os.unlink(file)

    def _file(self, name: str) -> str:
        # The name is hashed, because it has slashes, and to spread the files over folders.
        hashed = sha256(name.encode()).hexdigest()
        return f"{self._folder}/{hashed[:2]}/{hashed[:40]}.arrow"


def _trailer(name: str, content: int) -> bytes:
    """Returns the trailer. `content` is the sum so far. The name is summed too, so that an exchange of two files is
    detected."""
    return _TRAILER.pack(_MAGIC, crc32(name.encode(), content))


class _Summed:
    """A file for Arrow to write to, buffer by buffer."""

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
