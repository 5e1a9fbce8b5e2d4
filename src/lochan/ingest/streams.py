"""Reads the bytes of an input and unpacks them on the fly. Refuses an input that grows suspiciously when unpacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

from lochan.errors import Invalid
from lochan.ingest.input_format import HEAD_BYTES, packing

# Text compresses to a tenth, logs to a thirtieth. An input that exceeds both limits is not ordinary data.
RATIO_MAX = 1_000
UNPACKED_BYTES_MIN = 1 << 30  # so much is allowed whatever the ratio
_ROW_BYTES = 64  # the least that is counted for a row: a file may announce any number of rows without values


class Growth:
    """Counts how much data has come out of a file of `size` bytes."""

    def __init__(self, name: str, size: int, bytes_max: int | None = None) -> None:
        self._name = name
        self._size = size
        self.bytes_max = bytes_max or max(UNPACKED_BYTES_MIN, RATIO_MAX * size)
        self._count = 0

    def take(self, rows: int, size: int) -> None:
        """Counts more data. Raises Invalid if it is too much."""
        self._count += size + rows * _ROW_BYTES
        if self._count > self.bytes_max:
            raise growth_error(self._name, self._size, self.bytes_max)


def growth_error(name: str, size: int, limit: int) -> Invalid:
    return Invalid(
        f"{name}: {size:,} bytes have become more than {limit:,}",
        hint="check the file; --unpacked-max 100GB allows more",
    )


class Input(NamedTuple):
    name: str
    open: Callable[[], IO[bytes]]
    size: int | None = None  # None if it is unknown
    file: str = ""  # its path on this machine's disk, if it has one


def file_input(path: Path, name: str = "") -> Input:
    return Input(name or str(path), lambda: path.open("rb"), path.stat().st_size, str(path))


class UnpackedStream:
    """An input as an unpacked stream. Raises Invalid if it cannot be unpacked. Calls `advance` with the number of bytes
    that were read, before unpacking."""

    def __init__(self, input: Input, advance: Callable[[int], None], bytes_max: int | None = None) -> None:
        self._name = input.name
        self._counted = _Counted(input.open(), advance)
        self._bytes_max = bytes_max
        self._count = 0
        self.closed = False
        first = self._counted.peek(HEAD_BYTES)
        self.packing = packing(first)
        self._stream = self._counted if self.packing is None else _unpacking(self._counted, self.packing)
        self._head = b""
        self.head = self._fill(HEAD_BYTES)

    def __enter__(self) -> UnpackedStream:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._stream.close()
        self._counted.close()  # may be called twice

    @property
    def count(self) -> int:
        """The number of bytes that were reported to `advance`."""
        return self._counted.count

    def read(self, size: int = -1, /) -> bytes:
        if self._head:
            data, self._head = (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
            return data + self.read() if size < 0 else data
        with self._explaining():
            data = bytes(self._stream.read(size if size >= 0 else None))
        self._took(len(data))
        return data

    def readinto(self, into: memoryview) -> int:
        if self._head:
            count = min(len(into), len(self._head))
            into[:count], self._head = self._head[:count], self._head[count:]
            return count
        with self._explaining():
            count = self._stream.readinto(into)
        self._took(count)
        return count

    def head_line(self, size_max: int) -> bytes:
        """Returns the first bytes, including the whole first line unless it is longer than `size_max`."""
        while b"\n" not in self.head and len(self.head) < size_max:
            before = len(self.head)
            self.head = self._fill(2 * before)
            if len(self.head) == before:
                break
        return self.head

    def close(self) -> None:
        """Marks the stream as closed, for Arrow, which closes what it reads. The caller closes it by leaving its
        context."""
        self.closed = True

    def _fill(self, size: int) -> bytes:
        pieces, self._head = [self._head], b""
        while (left := size - sum(map(len, pieces))) > 0 and (piece := self.read(left)):
            pieces.append(piece)
        self._head = b"".join(pieces)
        return self._head

    def _took(self, count: int) -> None:
        self._count += count
        if self.packing is None:
            return
        limit = self._bytes_max or max(UNPACKED_BYTES_MIN, RATIO_MAX * self._counted.count)
        if self._count > limit:
            raise growth_error(self._name, self._counted.count, limit)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self.packing is None or error.errno is not None:
                raise
            raise self._explained(error) from error

    def _explained(self, error: OSError) -> Exception:
        what = "it ends too early" if "runcated" in str(error) else f"it is damaged: {error}"
        return Invalid(f"{self._name}: the {self.packing} data cannot be unpacked: {what}", hint="nothing was loaded")


def _unpacking(source: _Counted, packing: str) -> pa.NativeFile:
    return pa.CompressedInputStream(pa.PythonFile(source, "r"), packing)


class _Counted:
    """A file for Arrow whose first bytes can be inspected beforehand."""

    def __init__(self, file: IO[bytes], advance: Callable[[int], None]) -> None:
        self._file = file
        self._advance = advance
        self._head = b""
        self.count = 0
        self.closed = False

    def peek(self, size: int) -> bytes:
        while len(self._head) < size and (piece := self._file.read(size - len(self._head))):
            self._head += piece
        return self._head

    def read(self, size: int | None = None) -> bytes:
        if self._head and size is not None:
            data, self._head = self._head[:size], self._head[size:]
        else:
            data, self._head = self._head + self._file.read(-1 if size is None else size), b""
        self._took(len(data))
        return data

    def readinto(self, into: memoryview) -> int:
        if not self._head and hasattr(self._file, "readinto"):
            count: int = self._file.readinto(into)
            self._took(count)
            return count
        data = self.read(len(into))
        into[: len(data)] = data
        return len(data)

    def _took(self, count: int) -> None:
        self.count += count
        self._advance(count)

    def tell(self) -> int:
        return self.count

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._file.close()
