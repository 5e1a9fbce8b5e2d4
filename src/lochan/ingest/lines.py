"""Rows as texts in Arrow, many at a time, with the place that each comes from. No byte is copied twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.errors import Invalid

CHUNK_BYTES = 32 << 20
ROW_BYTES_MAX = 512 << 20
_READ_BYTES = 4 << 20


class Readable(Protocol):
    def readinto(self, into: memoryview, /) -> int | None: ...


class Lines(NamedTuple):
    """`texts` may hold bytes that are no UTF-8 where `valid` is false."""

    name: str  # of the input
    texts: pa.StringArray
    valid: bool
    first: int  # the line that the first of them is on, from 1
    places: npt.NDArray[np.int64] | None = None  # the line of each, where they are not one below the other

    def line_of(self, number: int) -> int:
        return int(self.places[number]) if self.places is not None else self.first + number

    def bytes_of(self, number: int) -> bytes:
        offsets = np.frombuffer(self.texts.buffers()[1], dtype=np.int32)
        at = self.texts.offset + number
        data = self.texts.buffers()[2]
        return bytes(memoryview(data)[offsets[at] : offsets[at + 1]]) if data is not None else b""

    def taken(self, numbers: npt.NDArray[np.int64]) -> Lines:
        places = np.asarray(numbers) + self.first if self.places is None else self.places[numbers]
        texts = self.texts.cast(pa.binary()).take(pa.array(numbers)).view(pa.string())
        return Lines(self.name, texts, self.valid, 1, places)


def lines(name: str, stream: Readable, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Lines]:
    """Each line with the newline behind it."""
    number, begin = 1, b""
    while True:
        room = np.empty(len(begin) + chunk_bytes, dtype=np.uint8).data  # which writes no zeros first
        room[: len(begin)] = begin
        end = len(begin) + _filled(stream, room[len(begin) :])
        if end == len(begin):
            break
        cut = _last_end(room[:end])
        begin = bytes(room[cut:end])
        if len(begin) > ROW_BYTES_MAX:
            raise too_long(name, number)
        if cut:
            found = _cut(name, room[:cut], number)
            number += len(found.texts)
            yield found
    if begin:
        yield _cut(name, memoryview(begin), number)


def too_long(name: str, line: int) -> Invalid:
    return Invalid(
        f"{name}:{line}: a row of more than {ROW_BYTES_MAX >> 20} MiB", hint="is it really a file of one row per line?"
    )


def _filled(stream: Readable, into: memoryview) -> int:
    """How much was read: what comes at once may be short; all of it is not, unless it is the last."""
    filled = 0
    while filled < len(into) and (count := stream.readinto(into[filled : filled + _READ_BYTES])):
        filled += count
    return filled


def _last_end(data: memoryview) -> int:
    """Behind the last newline."""
    for size in (_READ_BYTES, len(data)):
        at = bytes(data[-size:]).rfind(b"\n")
        if at >= 0:
            return max(0, len(data) - size) + at + 1
    return 0


def _cut(name: str, data: memoryview, first: int) -> Lines:
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    return texts_of(name, data, ends, first)


def texts_of(
    name: str,
    data: bytes | memoryview,
    ends: npt.NDArray[np.int64],
    first: int,
    places: npt.NDArray[np.int64] | None = None,
) -> Lines:
    offsets = np.empty(len(ends) + 1, dtype=np.int32)
    offsets[0], offsets[1:] = 0, ends
    texts = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    return Lines(name, texts, is_valid(texts), first, places)


def is_valid(texts: pa.StringArray) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
