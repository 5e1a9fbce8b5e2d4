"""Parts of files, each for one task. A file is cut at any byte where its format lets a reader find the next row from
there; else it is one piece."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, NamedTuple

import pyarrow.parquet as pq

from lochan.ingest.input_format import LINES, NDJSON, PARQUET
from lochan.jobs.load.files import Seen

_SPLIT = frozenset({NDJSON, LINES, PARQUET})
_SKIP_BYTES = 1 << 16


class Piece(NamedTuple):
    file: int  # which of the files
    begin: int
    end: int
    whole: bool  # it is all of the file


def pieces_of(files: Sequence[Seen], piece_bytes: int) -> list[Piece]:
    """Those of one file are next to each other."""
    return [piece for number, seen in enumerate(files) for piece in _of_file(number, seen, piece_bytes)]


def _of_file(number: int, seen: Seen, piece_bytes: int) -> Iterator[Piece]:
    size = seen.file.size
    count = max(1, round(size / piece_bytes)) if is_split(seen) else 1
    bounds = [size * each // count for each in range(count + 1)]
    for begin, end in pairwise(bounds):
        yield Piece(number, begin, end, count == 1)


def is_split(seen: Seen) -> bool:
    return seen.format in _SPLIT and not seen.packed


class OwnLines(io.RawIOBase):
    """The lines that begin in a piece, to the end of the last one, wherever that is."""

    def __init__(self, stream: IO[bytes], begin: int, end: int) -> None:
        self._stream = stream
        self._end = end
        self.begin = self._at = _line_begin(stream, begin)  # of the first of them
        self._ended = self._at >= end
        self._last = b"\n"  # what was read last

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview, /) -> int:  # type: ignore[override]
        if self._ended:
            return 0
        inside = self._at < self._end
        if not inside and self._last == b"\n":
            self._ended = True
            return 0
        data = self._stream.read(min(len(into), self._end - self._at) if inside else min(len(into), _SKIP_BYTES))
        if not inside and (at := data.find(b"\n")) >= 0:
            data, self._ended = data[: at + 1], True
        into[: len(data)] = data
        self._at += len(data)
        self._last = data[-1:]
        self._ended = self._ended or not data
        return len(data)


def _line_begin(stream: IO[bytes], begin: int) -> int:
    """The first place from there on where a line begins, with the stream there; the end of the file if none does."""
    if not begin:
        return 0
    at = stream.seek(begin - 1)
    while block := stream.read(_SKIP_BYTES):
        found = block.find(b"\n")
        if found >= 0:
            return stream.seek(at + found + 1)
        at += len(block)
    return at


def middle(group: pq.RowGroupMetaData) -> int:
    """Where in its file."""
    if not group.num_columns:
        return 0
    columns = [group.column(number) for number in range(group.num_columns)]
    begin = min(each.dictionary_page_offset or each.data_page_offset for each in columns)
    return int(begin + sum(each.total_compressed_size for each in columns) // 2)
