"""A file to be loaded, as a value that any machine can open."""

from __future__ import annotations

import asyncio
import io
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from lochan.clock import SystemClock
from lochan.errors import Conflict, NotFound, Refused
from lochan.ids import Ids
from lochan.ingest.input_format import CSV, JSON, LINES, NDJSON, TSV
from lochan.ingest.streams import Input
from lochan.store.open import StoreLocation

_BUFFER_BYTES = 1 << 20
_TEXTS = (NDJSON, JSON, CSV, TSV, LINES)
_UNPACKED = 6  # rows are about this many times as large as packed files


@dataclass(frozen=True, slots=True)
class File:
    """A file to be loaded. It can be pickled."""

    name: str  # the name that the user gave
    path: str  # the path on a disk that all machines see, or in its store
    size: int
    stamp: str  # it changes when the file does
    place: StoreLocation | None = None  # the store; None for a disk

    def open(self) -> IO[bytes]:
        """Opens the file at its beginning; any place in it can be read. Raises Refused if this machine cannot see
        it."""
        if self.place is not None:
            return io.BufferedReader(_InStore(self), _BUFFER_BYTES)
        try:
            return Path(self.path).open("rb")
        except FileNotFoundError as error:
            raise _unseen_error(self) from error

    def as_input(self) -> Input:
        return Input(self.name, self.open, self.size, "" if self.place else self.path)

    def check_same(self) -> None:
        """Raises Conflict if the file has changed since the load began."""
        if now(self) != (self.size, self.stamp):
            raise Conflict(f"{self.name} was changed while it was read", hint="nothing was loaded; load it again")


class SurveyedFile(NamedTuple):
    """A file whose format was found out."""

    file: File
    format: str
    packed: bool = False

    @property
    def rows_bytes(self) -> int:
        return rows_bytes(self.file.size, self.format, self.packed)


def rows_bytes(size: int, format: str, packed: bool) -> int:
    """Estimates the size of the rows as text."""
    return size * (1 if format in _TEXTS and not packed else _UNPACKED)


Stores = tuple[StoreLocation, ...]


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """A file on its way to the one task that needs it. Its store is one of a few, which all tasks know."""

    name: str
    path: str
    size: int
    stamp: str
    store: int = -1  # -1 for a disk

    def file(self, stores: Stores) -> File:
        return File(self.name, self.path, self.size, self.stamp, stores[self.store] if self.store >= 0 else None)


def stores_of(files: Iterable[File]) -> Stores:
    found: list[StoreLocation] = []
    for file in files:
        if file.place is not None and file.place not in found:
            found.append(file.place)
    return tuple(found)


def record_of(file: File, stores: Sequence[StoreLocation]) -> FileRecord:
    store = -1 if file.place is None else stores.index(file.place)
    return FileRecord(file.name, file.path, file.size, file.stamp, store)


def local_file(path: Path, name: str = "") -> File:
    size, stamp = _on_disk(str(path))
    return File(name or str(path), str(path.absolute()), size, stamp)


def now(file: File) -> tuple[int, str]:
    """Returns the current size and stamp. Raises Refused."""
    if file.place is None:
        try:
            return _on_disk(file.path)
        except FileNotFoundError as error:
            raise _unseen_error(file) from error
    store = file.place.open(clock=SystemClock(), ids=Ids())
    try:
        stat = asyncio.run(store.head(file.path))
    except NotFound as error:
        raise _unseen_error(file) from error
    return stat.size, stat.etag


def _on_disk(path: str) -> tuple[int, str]:
    stat = os.stat(path)  # noqa: PTH116
    return stat.st_size, str(stat.st_mtime_ns)


def _unseen_error(file: File) -> Refused:
    return Refused(
        f"{socket.gethostname()} does not see {file.name}",
        hint="Spark needs it in a folder that all its machines share, or in a bucket; --engine duckdb reads it here",
    )


class _InStore(io.RawIOBase):
    """Reads an object by ranges."""

    def __init__(self, file: File) -> None:
        assert file.place is not None
        self._file = file
        self._store = file.place.open(clock=SystemClock(), ids=Ids())
        self._runner = asyncio.Runner()
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, into: Any, /) -> int:
        room = memoryview(into).cast("B")
        stop = min(self._at + len(room), self._file.size)
        if stop <= self._at:
            return 0
        data = self._runner.run(self._store.get_range(self._file.path, self._at, stop))
        room[: len(data)] = data
        self._at = stop
        return len(data)

    def close(self) -> None:
        self._runner.close()
        super().close()
