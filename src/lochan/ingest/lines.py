"""Rows as texts in Arrow, many at a time, with the line that each comes from. No byte is copied twice.

`lines` reads one row per line. `json_elements` reads other JSON: a list of rows, one object, or several objects, over
any lines. It cuts the text where a row ends, by counting brackets outside of strings. Whether each piece is valid JSON
is checked later, as for any row.
"""

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
_BLOCK_BYTES = 256 << 10  # bytes that are searched together, within the processor's cache


class Readable(Protocol):
    def readinto(self, into: memoryview, /) -> int | None: ...


class Lines(NamedTuple):
    """Rows as texts. If not `valid`, `texts` may contain bytes that are not UTF-8."""

    name: str  # the name of the input
    texts: pa.StringArray
    valid: bool
    first: int  # the line of the first text, from 1
    places: npt.NDArray[np.int64] | None = None  # the line of each text, if the lines are not consecutive

    def line_of(self, number: int) -> int:
        return int(self.places[number]) if self.places is not None else self.first + number

    def bytes_of(self, number: int) -> bytes:
        offsets = np.frombuffer(self.texts.buffers()[1], dtype=np.int32)
        at = self.texts.offset + number
        data = self.texts.buffers()[2]
        return bytes(memoryview(data)[offsets[at] : offsets[at + 1]]) if data is not None else b""

    def part(self, begin: int, end: int) -> Lines:
        """Returns the lines from `begin` on and before `end`, without a copy."""
        places = None if self.places is None else self.places[begin:end]
        return self._replace(texts=self.texts[begin:end], first=self.first + begin, places=places)

    def taken(self, numbers: npt.NDArray[np.int64]) -> Lines:
        places = np.asarray(numbers) + self.first if self.places is None else self.places[numbers]
        texts = self.texts.cast(pa.binary()).take(pa.array(numbers)).view(pa.string())
        return Lines(self.name, texts, self.valid, 1, places)


def lines(name: str, stream: Readable, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Lines]:
    """Yields the lines of a stream. Each includes its newline."""
    number, begin = 1, b""
    while True:
        room = np.empty(len(begin) + chunk_bytes, dtype=np.uint8).data  # does not fill it with zeros
        room[: len(begin)] = begin
        end = len(begin) + _fill(stream, room[len(begin) :])
        if end == len(begin):
            break
        cut = _last_end(room[:end])
        begin = bytes(room[cut:end])
        if len(begin) > ROW_BYTES_MAX:
            raise too_long_error(name, number)
        if cut:
            found = _cut(name, room[:cut], number)
            number += len(found.texts)
            yield found
    if begin:
        yield _cut(name, memoryview(begin), number)


def too_long_error(name: str, line: int) -> Invalid:
    return Invalid(
        f"{name}:{line}: a row of more than {ROW_BYTES_MAX >> 20} MiB", hint="check that the file has one row per line"
    )


def _fill(stream: Readable, into: memoryview) -> int:
    """Fills the buffer completely, unless the stream ends. Returns the number of bytes."""
    filled = 0
    while filled < len(into) and (count := stream.readinto(into[filled : filled + _READ_BYTES])):
        filled += count
    return filled


def _last_end(data: memoryview) -> int:
    """Returns the position after the last newline, or 0 if there is none."""
    for size in (_BLOCK_BYTES, _READ_BYTES, len(data)):
        at = bytes(data[-size:]).rfind(b"\n")
        if at >= 0:
            return max(0, len(data) - size) + at + 1
    return 0


def _cut(name: str, data: memoryview, first: int) -> Lines:
    ends = _line_ends(np.frombuffer(data, dtype=np.uint8))
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    return texts_of(name, data, ends, first)


def _line_ends(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Returns the positions after newlines. Comparing all bytes at once would need as much memory again."""
    blocks = range(0, len(data), _BLOCK_BYTES)
    return np.concatenate([np.flatnonzero(data[at : at + _BLOCK_BYTES] == 10) + (at + 1) for at in blocks])


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


# --- JSON that is not one row per line -------------------------------------------------------------------------------
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_SPACE, _COMMA, _OPEN, _CLOSE = ord(" "), ord(","), ord("["), ord("]")
_BOM = b"\xef\xbb\xbf"


def json_elements(name: str, stream: Readable, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Lines]:
    """Yields the rows of a JSON text. Raises Invalid if the JSON ends too early, or if anything else is between its
    rows."""
    reading = _Reading(name)
    room = memoryview(bytearray(chunk_bytes))
    while count := stream.readinto(room):
        found = reading.more(bytes(room[:count]))
        if found is not None:
            yield found
    reading.end()


class _Reading:
    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""
        self._line = 1  # the line where the rest begins
        self._outer = -1  # the depth of rows: 0, or 1 in a list; -1 if it is not known yet
        self._closed = False  # whether the list has ended

    def more(self, piece: bytes) -> Lines | None:
        data = self._rest + piece
        if self._outer < 0:
            data = self._begin(data)
        if not data.strip():
            self._skip(data)
            return None
        if self._closed:
            raise Invalid(f"{self._name}: there is more after the end of the list", hint="nothing was loaded")
        return self._cut(bytearray(data))

    def end(self) -> None:
        rest = self._rest.lstrip(b" \t\r\n,")
        if rest and rest[:1] not in b"{[":
            raise self._no_row(self._line, rest)
        if rest or (self._outer == 1 and not self._closed):
            raise Invalid(f"{self._name}:{self._line}: the JSON ends too early", hint="nothing was loaded")

    def _begin(self, data: bytes) -> bytes:
        data = data.removeprefix(_BOM)
        start = data.lstrip(b" \t\r\n")
        if not start:
            return data
        self._outer = 1 if start.startswith(b"[") else 0
        if self._outer:
            at = data.index(b"[")
            return data[:at] + b" " + data[at + 1 :]
        return data

    def _cut(self, data: bytearray) -> Lines | None:
        view: Bytes = np.frombuffer(data, dtype=np.uint8)
        depth = _depths(view)
        inside = depth > 0
        ends = np.flatnonzero((depth == 0) & np.concatenate(([False], inside[:-1]))) + 1
        last = int(ends[-1]) if len(ends) else 0
        self._between(view[:last] if self._outer == 0 or last else view[:0], inside[:last])
        if self._outer == 1:
            last = self._list_end(view, last)
        rest, newlines = bytes(data[last:]), np.flatnonzero(view[:last] == 10)
        if len(rest) > ROW_BYTES_MAX:
            raise too_long_error(self._name, self._line)
        first, self._line, self._rest = self._line, self._line + len(newlines), rest
        if not len(ends):
            return None
        starts = np.flatnonzero(inside & ~np.concatenate(([False], inside[:-1])))[: len(ends)]
        places = first + np.searchsorted(newlines, starts)
        return texts_of(self._name, bytes(data[: int(ends[-1])]), ends, first, places)

    def _between(self, view: Bytes, inside: Flags) -> None:
        """Checks the bytes between rows: blanks, and in a list commas, which become blanks."""
        closing = np.concatenate(([False], inside[:-1])) if len(inside) else inside
        outside = ~(inside | closing)
        if self._outer == 1:
            view[outside & (view == _COMMA)] = _SPACE
        odd = np.flatnonzero(outside & ~np.isin(view, np.frombuffer(b" \t\r\n", dtype=np.uint8)))
        if len(odd):
            at = int(odd[0])
            line = self._line + int(np.count_nonzero(view[:at] == 10))
            raise self._no_row(line, bytes(view[at : at + 40]))

    def _no_row(self, line: int, text: bytes) -> Invalid:
        near = text[:40].decode(errors="replace")
        return Invalid(f"{self._name}:{line}: a row must be an object", hint=f"near {near!r}")

    def _list_end(self, view: Bytes, last: int) -> int:
        """Checks whether the list ends after the last complete row. Raises Invalid if anything else follows. Returns
        the end of what is done."""
        tail = bytes(view[last:])
        lead = tail.lstrip(b" \t\r\n,")
        if lead.startswith(b"]"):
            self._closed = True
            if lead[1:].strip():
                raise Invalid(f"{self._name}: there is more after the end of the list", hint="nothing was loaded")
            return len(view)
        return last

    def _skip(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._rest = b""


def _depths(view: Bytes) -> npt.NDArray[np.int32]:
    """Returns the depth after each byte: an opening bracket is inside, a closing one is not."""
    quotes = _quotes(view)
    quoted = np.cumsum(quotes, dtype=np.int32) & 1
    step = np.zeros(len(view), dtype=np.int8)
    step[(view == ord("{")) | (view == _OPEN)] = 1
    step[(view == ord("}")) | (view == _CLOSE)] = -1
    step[quoted == 1] = 0
    return np.maximum(np.cumsum(step, dtype=np.int32), 0)


def _quotes(view: Bytes) -> Flags:
    """Finds the quotes that begin or end a string: those with an even number of backslashes before them."""
    quotes: Flags = view == ord('"')
    slashes = np.flatnonzero(view == ord("\\"))
    if len(slashes):
        fresh = np.concatenate(([True], np.diff(slashes) > 1))  # the first of each run of backslashes
        run_start = np.maximum.accumulate(np.where(fresh, slashes, 0))
        odd = slashes[(slashes - run_start) % 2 == 0]  # backslashes that escape the next character
        behind = odd[odd + 1 < len(view)] + 1
        quotes[behind] = False
    return quotes
