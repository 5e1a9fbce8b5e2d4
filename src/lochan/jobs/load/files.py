"""A file that is to be loaded, as a value that any machine can open; and where in it a row stood.

That is one number: in which file, and on which line or at which byte of it. A task that begins in the middle of a file
does not know how many lines are before it. They are counted only for a row that must be named: a load without faults
never counts them.
"""

from __future__ import annotations

import asyncio
import io
import os
import socket
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lochan.clock import SystemClock
from lochan.errors import Conflict, NotFound, Refused
from lochan.ids import Ids
from lochan.ingest.input_format import CSV, JSON, LINES, NDJSON, TSV
from lochan.ingest.streams import Input
from lochan.pools.json_row import SHOWN, SKIP, Fault, Faults
from lochan.store.open import StoreLocation

_BUFFER_BYTES = 1 << 20
_TEXTS = (NDJSON, JSON, CSV, TSV, LINES)
_UNPACKED = 6  # times as large as what is packed, about
Places = npt.NDArray[np.int64]
_FILE_BITS, _BYTES_BIT = 44, 1 << 43
_VALUE = _BYTES_BIT - 1
_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class File:
    """May be pickled."""

    name: str  # as the user knows it
    path: str  # on a disk that all machines see, or in its store
    size: int
    stamp: str  # is another when the file is
    place: StoreLocation | None = None  # the store; None: a disk

    def open(self) -> IO[bytes]:
        """At its beginning; any place in it can be read. Raises Refused where this machine does not see it."""
        if self.place is not None:
            return io.BufferedReader(_InStore(self), _BUFFER_BYTES)
        try:
            return Path(self.path).open("rb")
        except FileNotFoundError as error:
            raise _unseen(self) from error

    def as_input(self) -> Input:
        return Input(self.name, self.open, self.size, "" if self.place else self.path)

    def check_same(self) -> None:
        """Raises Conflict if the file has changed since the load began."""
        if now(self) != (self.size, self.stamp):
            raise Conflict(f"{self.name} was changed while it was read", hint="nothing was loaded; load it again")


class SurveyedFile(NamedTuple):
    """A file that was looked at."""

    file: File
    format: str
    packed: bool = False

    @property
    def rows_bytes(self) -> int:
        """What its rows are as text, about."""
        return self.file.size * (1 if self.format in _TEXTS and not self.packed else _UNPACKED)


def local_file(path: Path, name: str = "") -> File:
    size, stamp = _on_disk(str(path))
    return File(name or str(path), str(path.absolute()), size, stamp)


def now(file: File) -> tuple[int, str]:
    """Its size and stamp. Raises Refused."""
    if file.place is None:
        try:
            return _on_disk(file.path)
        except FileNotFoundError as error:
            raise _unseen(file) from error
    store = file.place.open(clock=SystemClock(), ids=Ids())
    try:
        stat = asyncio.run(store.head(file.path))
    except NotFound as error:
        raise _unseen(file) from error
    return stat.size, stat.etag


def _on_disk(path: str) -> tuple[int, str]:
    stat = os.stat(path)  # noqa: PTH116
    return stat.st_size, str(stat.st_mtime_ns)


def _unseen(file: File) -> Refused:
    return Refused(
        f"{socket.gethostname()} does not see {file.name}",
        hint="Spark needs it in a folder that all its machines share, or in a bucket; --engine duckdb reads it here",
    )


class _InStore(io.RawIOBase):
    """An object by ranges of it."""

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


def on_lines(file: int, lines: Places) -> Places:
    return lines | (file << _FILE_BITS)


def at_bytes(file: int, offsets: Places) -> Places:
    return offsets | (file << _FILE_BITS | _BYTES_BIT)


@dataclass(slots=True)
class PositionedFaults(Faults):
    """Faults of rows whose places are such numbers."""

    files: Sequence[File] = ()
    _lines: dict[int, LineCount] = field(default_factory=dict)

    def meet(self, fault: Fault) -> dict[str, Any] | None:
        # Of those that are left out, only some are told of.
        if not fault.name and not (self.policy == SKIP and len(self.first) == SHOWN):
            fault = fault._replace(name=self._file(fault.line).name, line=self._line(fault.line))
        return Faults.meet(self, fault)

    def _file(self, place: int) -> File:
        return self.files[place >> _FILE_BITS]

    def _line(self, place: int) -> int:
        value = place & _VALUE
        if not place & _BYTES_BIT:
            return value
        count = self._lines.setdefault(place >> _FILE_BITS, LineCount(self._file(place)))
        return count.line_at(value)


class LineCount:
    """On which line of a file a byte is. What was counted once is not counted again."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._known = [(0, 1)]  # places, and their lines, ascending

    def line_at(self, offset: int) -> int:
        begin, line = self._known[bisect_right(self._known, (offset, 1 << 62)) - 1]
        with self._file.open() as stream:
            stream.seek(begin)
            left = offset - begin
            while left and (block := stream.read(min(left, _BLOCK_BYTES))):
                line += block.count(b"\n")
                left -= len(block)
        self._known.insert(bisect_right(self._known, (offset, line)), (offset, line))
        return line
