"""JSON that is not one row per line: a list of rows, one object, or several behind each other, over any lines.

The text is cut where a row ends, without reading what is in it: brackets outside of strings tell. Whether each piece is
JSON at all is found out later, like that of any row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lochan.errors import Invalid
from lochan.ingest.lines import CHUNK_BYTES, ROW_BYTES_MAX, Lines, Readable, texts_of, too_long

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_SPACE, _COMMA, _OPEN, _CLOSE = ord(" "), ord(","), ord("["), ord("]")
_BOM = b"\xef\xbb\xbf"


def elements(name: str, stream: Readable, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Lines]:
    """Raises Invalid for what has no end, or is cut off by something that no list has."""
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
        self._line = 1  # on which the rest begins
        self._outer = -1  # how deep a row lies: 0, or 1 in a list; not known yet
        self._closed = False  # the list has ended

    def more(self, piece: bytes) -> Lines | None:
        data = self._rest + piece
        if self._outer < 0:
            data = self._begin(data)
        if not data.strip():
            self._skip(data)
            return None
        if self._closed:
            raise Invalid(f"{self._name}: there is more behind the end of the list", hint="nothing was loaded")
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
            raise too_long(self._name, self._line)
        first, self._line, self._rest = self._line, self._line + len(newlines), rest
        if not len(ends):
            return None
        starts = np.flatnonzero(inside & ~np.concatenate(([False], inside[:-1])))[: len(ends)]
        places = first + np.searchsorted(newlines, starts)
        return texts_of(self._name, bytes(data[: int(ends[-1])]), ends, first, places)

    def _between(self, view: Bytes, inside: Flags) -> None:
        """What stands between rows: blanks, and in a list a comma. It becomes blank."""
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
        return Invalid(f"{self._name}:{line}: a row is an object, and this is none", hint=f"near {near!r}")

    def _list_end(self, view: Bytes, last: int) -> int:
        """Behind the last whole row there may be the end of the list, and then nothing else."""
        tail = bytes(view[last:])
        lead = tail.lstrip(b" \t\r\n,")
        if lead.startswith(b"]"):
            self._closed = True
            if lead[1:].strip():
                raise Invalid(f"{self._name}: there is more behind the end of the list", hint="nothing was loaded")
            return len(view)
        return last

    def _skip(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._rest = b""


def _depths(view: Bytes) -> npt.NDArray[np.int32]:
    """How deep each byte lies, after itself: an opening bracket counts for its own place, a closing one does not."""
    quotes = _quotes(view)
    quoted = np.cumsum(quotes, dtype=np.int32) & 1
    step = np.zeros(len(view), dtype=np.int8)
    step[(view == ord("{")) | (view == _OPEN)] = 1
    step[(view == ord("}")) | (view == _CLOSE)] = -1
    step[quoted == 1] = 0
    return np.maximum(np.cumsum(step, dtype=np.int32), 0)


def _quotes(view: Bytes) -> Flags:
    """Those that begin or end a string: with an even number of backslashes before them."""
    quotes: Flags = view == ord('"')
    slashes = np.flatnonzero(view == ord("\\"))
    if len(slashes):
        fresh = np.concatenate(([True], np.diff(slashes) > 1))  # the first of each run
        run_start = np.maximum.accumulate(np.where(fresh, slashes, 0))
        odd = slashes[(slashes - run_start) % 2 == 0]  # those that turn what is behind them
        behind = odd[odd + 1 < len(view)] + 1
        quotes[behind] = False
    return quotes
