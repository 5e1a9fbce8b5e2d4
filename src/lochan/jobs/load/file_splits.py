"""Splits of files, each for one task, and their rows, read by the embedded readers. A file can be split at any byte if
its format lets a reader find the next row from there; otherwise it is a single split."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.read_input import Chunk, PlainLines, ReadContext, chunks, damage_as_invalid
from lochan.engines.duckdb.session import DuckSession
from lochan.ingest.input_format import LINES, NDJSON, PARQUET
from lochan.ingest.lines import lines
from lochan.ingest.tabular import BATCH_ROWS, check_batch
from lochan.jobs.load.files import FileRecord, Stores, SurveyedFile, record_of, rows_bytes
from lochan.pools.json_row import Faults

_SPLIT = frozenset({NDJSON, LINES, PARQUET})
_SKIP_BYTES = 1 << 16
_TASK_SPLITS_MAX = 4_096


class FileSplit(msgspec.Struct, frozen=True, array_like=True):
    """A part of a file. It has everything that a task needs for its work, except for the stores."""

    number: int  # its number among all splits
    file: FileRecord
    format: str
    packed: bool
    begin: int
    end: int
    whole: bool  # whether it is the whole file

    def surveyed(self, stores: Stores) -> SurveyedFile:
        return SurveyedFile(self.file.file(stores), self.format, self.packed)

    @property
    def rows_bytes(self) -> int:
        return rows_bytes(self.end - self.begin, self.format, self.packed)


def splits_of(files: Iterable[SurveyedFile], split_bytes: int, stores: Stores = ()) -> list[FileSplit]:
    """Returns the splits. Splits of one file are next to each other."""
    found: list[FileSplit] = []
    for seen in files:
        file = record_of(seen.file, stores)
        bounds = _bounds(seen, split_bytes)
        for begin, end in pairwise(bounds):
            found.append(FileSplit(len(found), file, seen.format, seen.packed, begin, end, len(bounds) == 2))
    return found


def _bounds(seen: SurveyedFile, split_bytes: int) -> list[int]:
    size = seen.file.size
    count = max(1, round(size / split_bytes)) if is_split(seen) else 1
    return [size * each // count for each in range(count + 1)]


def tasks_of(splits: Iterable[FileSplit], task_bytes: int) -> list[bytes]:
    """Returns the splits of each task. Small files share a task, because a task takes some tenths of a second in any
    case."""
    found: list[bytes] = []
    held: list[FileSplit] = []
    size = 0
    for split in splits:
        if held and (size + split.end - split.begin > task_bytes or len(held) == _TASK_SPLITS_MAX):
            found.append(msgspec.msgpack.encode(held))
            held, size = [], 0
        held.append(split)
        size += split.end - split.begin
    return [*found, msgspec.msgpack.encode(held)] if held else found


def splits_in_task(task: bytes) -> list[FileSplit]:
    return _decoder.decode(task)


_decoder = msgspec.msgpack.Decoder(list[FileSplit])


def is_split(seen: SurveyedFile) -> bool:
    return seen.format in _SPLIT and not seen.packed


class OwnLines(io.RawIOBase):
    """A stream of the lines that begin in a split, up to the end of the last one, wherever that is."""

    def __init__(self, stream: IO[bytes], begin: int, end: int) -> None:
        self._stream = stream
        self._end = end
        self.begin = self._at = _line_begin(stream, begin)  # the place of the first of them
        self._ended = self._at >= end
        self._last = b"\n"  # the last bytes that were read

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
    """Moves the stream to the first line that begins there or later, and returns its place. If no line does, that is
    the end of the file."""
    if not begin:
        return stream.seek(0)
    at = stream.seek(begin - 1)
    while block := stream.read(_SKIP_BYTES):
        found = block.find(b"\n")
        if found >= 0:
            return stream.seek(at + found + 1)
        at += len(block)
    return at


def middle(group: pq.RowGroupMetaData) -> int:
    """Returns the middle of the row group, as a byte of its file."""
    if not group.num_columns:
        return 0
    columns = [group.column(number) for number in range(group.num_columns)]
    begin = min(each.dictionary_page_offset or each.data_page_offset for each in columns)
    return int(begin + sum(each.total_compressed_size for each in columns) // 2)


@dataclass(frozen=True, slots=True)
class TaskRoom:
    """The resources that readers of a task need."""

    session: DuckSession
    faults: Faults

    @property
    def folder(self) -> Path:
        return Path(self.session.folder)


def rows_of(room: ReadContext, seen: SurveyedFile, split: FileSplit, options: LoaderOptions) -> Iterator[Chunk]:
    """Yields the rows of a split. The `places` of lines are lines of the file if the split is whole, otherwise bytes
    from the beginning of the split. Raises Invalid, and Conflict if the file has changed."""
    seen.file.check_same()
    if split.whole:
        yield from chunks(room, seen.file.as_input(), options._replace(format=seen.format))
    elif seen.format == PARQUET:
        yield from _row_groups(seen, split)
    else:
        yield from _own_lines(seen, split)
    seen.file.check_same()


def _own_lines(seen: SurveyedFile, split: FileSplit) -> Iterator[Chunk]:
    with seen.file.open() as stream:
        own = OwnLines(stream, split.begin, split.end)
        at = own.begin - split.begin
        for chunk in lines("", own):
            offsets = np.frombuffer(chunk.texts.buffers()[1], dtype=np.int32)[: len(chunk.texts) + 1].astype(np.int64)
            placed = chunk._replace(places=offsets[:-1] + at)
            at += int(offsets[-1])
            yield PlainLines(placed) if seen.format == LINES else placed


def _row_groups(seen: SurveyedFile, split: FileSplit) -> Iterator[pa.RecordBatch]:
    """Yields the row groups whose middle is in the split. They are read in this process and not by a decoder: a Spark
    worker is a process of its own already, and only the parts of the file that are needed come from its store."""
    with seen.file.open() as stream, damage_as_invalid(PARQUET, seen.file.name):
        file = pq.ParquetFile(stream)
        groups = [
            number
            for number in range(file.num_row_groups)
            if split.begin <= middle(file.metadata.row_group(number)) < split.end
        ]
        if groups:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups):
                yield check_batch(seen.file.name, batch)
