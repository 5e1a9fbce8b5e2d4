"""Where a row stood, in one number: in which file, and on which line or at which byte of it.

A task that begins in the middle of a file does not know how many lines are before it. They are counted only for a row
that must be named: a load without faults never counts them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lochan.jobs.load.files import File
from lochan.pools.faults import SHOWN, SKIP, Fault, Faults

Places = npt.NDArray[np.int64]

_FILE_BITS, _BYTES_BIT = 44, 1 << 43
_VALUE = _BYTES_BIT - 1
_BLOCK_BYTES = 4 << 20


def on_lines(file: int, lines: Places) -> Places:
    return lines | (file << _FILE_BITS)


def at_bytes(file: int, offsets: Places) -> Places:
    return offsets | (file << _FILE_BITS | _BYTES_BIT)


@dataclass(slots=True)
class PlacedFaults(Faults):
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
