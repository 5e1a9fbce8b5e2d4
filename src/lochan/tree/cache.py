"""Ranges on a local disk as Arrow files, to be mapped into memory.

    <folder>/<2 hex>/<name>.arrow        an Arrow IPC file of one batch, "LOCHANA1", CRC-32 of name and file

What is kept has been checked against its range's name. The checksum only detects what a crash or the disk did to the
file since, and each process checks it once. A file that another process removes stays mapped where it is.
"""

# ruff: noqa: PTH116
# Files are opened by descriptor here, as in the store's cache.
import os
from contextlib import suppress
from struct import Struct
from zlib import crc32

import pyarrow as pa

from lochan.store.cache import BoundedFolder, write_all
from lochan.store.verified_files import identity_of

_TRAILER = Struct("<8sI")
_MAGIC = b"LOCHANA1"
_ENDING = "arrow"


class ArrowCache(BoundedFolder):
    def open(self, name: str) -> pa.RecordBatch | None:
        """The batch, mapped. None: there is no copy that can be trusted. A bad one is removed."""
        file = self._file(name, _ENDING)
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
        """Without room or permission there is no copy, and no error. The batch is summed while it is written: a second
        copy of a million entries in memory would be 300 MB."""
        if batch.nbytes > self._bytes_max // 2:
            return

        def write(fd: int) -> int:
            summed = _Summed(fd)
            with pa.PythonFile(summed, "w") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
            write_all(fd, memoryview(_trailer(name, summed.sum)))
            return summed.size + _TRAILER.size

        file = self._file(name, _ENDING)
        if self._write(file, write):
            with suppress(OSError):  # evicted at once
                self._verified[file] = identity_of(os.stat(file))

    def forget(self, name: str) -> None:
        self._remove(self._file(name, _ENDING))


def _trailer(name: str, content: int) -> bytes:
    """`content` is the sum so far. The name is summed too, so that an exchange of two files is detected."""
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
        write_all(self._fd, view)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None: ...

    def close(self) -> None: ...
