"""The position of a row, as one number: its split, and its line or byte there.

A task that begins in the middle of a file does not know how many lines are before it. They are counted only for a row
that must be named: a load without faults never counts them. So a row that travels to another task takes its position
along, and the splits of such rows travel with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lochan.engines.duckdb.load.read_input import Chunk, PlainLines
from lochan.errors import Refused
from lochan.ingest.lines import Lines
from lochan.jobs.load.file_splits import FileSplit
from lochan.jobs.load.files import File, Stores
from lochan.pools.json_row import SHOWN, SKIP, Fault, Faults

Positions = npt.NDArray[np.int64]
_VALUE_BITS = 39  # bits for 550 billion lines of one file, or bytes of one split
_VALUE = (1 << _VALUE_BITS) - 1
SPLITS_MAX = 1 << (63 - _VALUE_BITS)
_BLOCK_BYTES = 4 << 20


def check_count(splits: int) -> None:
    """Raises Refused for more splits than the numbers can distinguish."""
    if splits > SPLITS_MAX:
        raise Refused(f"{splits:,} files are too many for one load", hint=f"load at most {SPLITS_MAX:,} at a time")


def positions_of(split: FileSplit, values: Positions) -> Positions:
    """Returns the positions. `values` are lines of a split that is a whole file, otherwise bytes from the split's
    beginning."""
    return values | (split.number << _VALUE_BITS)


def with_positions(split: FileSplit, chunk: Chunk) -> Chunk:
    """Returns the same rows; lines have positions that any task can read."""
    match chunk:
        case Lines():
            values = np.arange(len(chunk.texts)) + chunk.first if chunk.places is None else chunk.places
            return chunk._replace(name="", first=1, places=positions_of(split, values))
        case PlainLines(lines):
            placed = with_positions(split, lines)
            assert isinstance(placed, Lines)
            return PlainLines(placed)
    return chunk


def splits_in(positions: Positions) -> tuple[int, ...]:
    """Returns the numbers of the splits that the rows come from. There is at least one."""
    numbers = positions >> _VALUE_BITS
    least, greatest = int(numbers.min()), int(numbers.max())
    return (least,) if least == greatest else tuple(np.unique(numbers).tolist())


@dataclass(slots=True)
class PositionedFaults(Faults):
    """Collects faults of rows that have such positions."""

    stores: Stores = ()
    splits: Mapping[int, FileSplit] = field(default_factory=dict)  # the splits of the current rows
    _lines: dict[str, LineCount] = field(default_factory=dict)

    def meet(self, fault: Fault) -> dict[str, Any] | None:
        # If faults are skipped, only the first ones are reported.
        if not fault.name and not (self.policy == SKIP and len(self.first) == SHOWN):
            split = self.splits[fault.line >> _VALUE_BITS]
            fault = fault._replace(name=split.file.name, line=self._line(split, fault.line & _VALUE))
        return Faults.meet(self, fault)

    def _line(self, split: FileSplit, value: int) -> int:
        if split.whole:
            return value
        file = split.file.file(self.stores)
        return self._lines.setdefault(file.name, LineCount(file)).line_at(split.begin + value)


class LineCount:
    """Finds the line of a file that a byte is on. Lines that were counted once are not counted again."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._known = [(0, 1)]  # places with their lines, ascending

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
