"""Splits of files, each for one task, and their rows, by the embedded readers. A file is split at any byte where its
format lets a reader find the next row from there; else it is one split."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.read_input import Chunk, PlainLines, ReadContext, chunks, damage_as_invalid
from lochan.ingest.input_format import LINES, NDJSON, PARQUET
from lochan.ingest.lines import Lines, lines
from lochan.ingest.tabular import BATCH_ROWS, check_batch
from lochan.jobs.load.files import Places, SurveyedFile, at_bytes, on_lines

_SPLIT = frozenset({NDJSON, LINES, PARQUET})
_SKIP_BYTES = 1 << 16


class FileSplit(NamedTuple):
    file: int  # which of the files
    begin: int
    end: int
    whole: bool  # it is all of the file


def splits_of(files: Sequence[SurveyedFile], piece_bytes: int) -> list[FileSplit]:
    """Those of one file are next to each other."""
    return [piece for number, seen in enumerate(files) for piece in _of_file(number, seen, piece_bytes)]


def _of_file(number: int, seen: SurveyedFile, piece_bytes: int) -> Iterator[FileSplit]:
    size = seen.file.size
    count = max(1, round(size / piece_bytes)) if is_split(seen) else 1
    bounds = [size * each // count for each in range(count + 1)]
    for begin, end in pairwise(bounds):
        yield FileSplit(number, begin, end, count == 1)


def is_split(seen: SurveyedFile) -> bool:
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


def rows_of(room: ReadContext, seen: SurveyedFile, piece: FileSplit, options: LoaderOptions) -> Iterator[Chunk]:
    """Lines with places that name the file too. Raises Invalid, and Conflict where the file has changed."""
    seen.file.check_same()
    if piece.whole:
        found = chunks(room, seen.file.as_input(), options._replace(format=seen.format))
        yield from (_on_lines(piece.file, chunk) for chunk in found)
    elif seen.format == PARQUET:
        yield from _row_groups(seen, piece)
    else:
        yield from _own_lines(seen, piece)
    seen.file.check_same()


def _on_lines(file: int, chunk: Chunk) -> Chunk:
    match chunk:
        case Lines():
            numbers = np.arange(len(chunk.texts)) + chunk.first if chunk.places is None else chunk.places
            return _placed(chunk, on_lines(file, numbers))
        case PlainLines(found):
            placed = _on_lines(file, found)
            assert isinstance(placed, Lines)
            return PlainLines(placed)
    return chunk


def _own_lines(seen: SurveyedFile, piece: FileSplit) -> Iterator[Chunk]:
    with seen.file.open() as stream:
        own = OwnLines(stream, piece.begin, piece.end)
        at = own.begin
        for chunk in lines("", own):
            offsets = np.frombuffer(chunk.texts.buffers()[1], dtype=np.int32)[: len(chunk.texts) + 1].astype(np.int64)
            placed = _placed(chunk, at_bytes(piece.file, offsets[:-1] + at))
            at += int(offsets[-1])
            yield PlainLines(placed) if seen.format == LINES else placed


def _placed(chunk: Lines, places: Places) -> Lines:
    return chunk._replace(name="", first=1, places=places)


def _row_groups(seen: SurveyedFile, piece: FileSplit) -> Iterator[pa.RecordBatch]:
    """Those whose middle is in the piece. Read here and by no decoder: a worker of Spark is a process of its own
    already, and only the parts of the file that are needed come from its store."""
    with seen.file.open() as stream, damage_as_invalid(PARQUET, seen.file.name):
        file = pq.ParquetFile(stream)
        groups = [
            number
            for number in range(file.num_row_groups)
            if piece.begin <= middle(file.metadata.row_group(number)) < piece.end
        ]
        if groups:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups):
                yield check_batch(seen.file.name, batch)
