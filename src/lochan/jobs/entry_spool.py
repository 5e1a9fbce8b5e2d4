"""Reads sorted tables of entries side by side, a few rows of each at a time. Tables that do not fit into memory are in
one scratch file: a job of many tasks has as many tables, and all of them may cover the same paths.

    table 1   ··a··d··|·····g··      in the order of all paths, a piece at a time: of each table, the rows of the piece
    table 2   ···c····|e··f····      lie side by side, so each row is read once and no table is held
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.entry_table import as_batch, concat
from lochan.store.disk import translate
from lochan.store.scratch import make_folder

MEMORY_BYTES = 32 << 20  # bytes of the tables that are held in memory
PIECE_BYTES = 4 << 20  # bytes of rows that are read together
_CHUNK_BYTES = 64 << 10  # bytes of rows that lie together in the file
_CODEC = "zstd"

Numbers = npt.NDArray[np.int64]


class _Part(Protocol):
    def rows(self, start: int, stop: int) -> pa.RecordBatch:
        """Returns these rows. REQUIRES: the calls ascend."""


class EntrySpool:
    """A spool of tables. Every table has RUN_SCHEMA and ascends by path. The caller that makes it must close it."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._paths: list[pa.StringArray] = []
        self._bytes = 0  # bytes of all rows
        self._folder = ""
        self._file = -1

    @property
    def paths(self) -> pa.StringArray:
        """The paths of all tables, in the order in which the tables were added."""
        return pa.concat_arrays(self._paths) if self._paths else pa.array([], pa.string())

    def add(self, table: pa.Table) -> None:
        batch = as_batch(table)
        self._bytes += batch.nbytes
        self._parts.append(_Held(batch) if self._bytes <= MEMORY_BYTES else self._write_part(batch))
        self._paths.append(batch.column("path"))

    def pieces(self) -> Iterator[pa.Table]:
        """Yields all rows in path order. It may be called again."""
        paths = self.paths
        order: Numbers = pc.sort_indices(paths).to_numpy()
        counts = [len(each) for each in self._paths]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        step = max(1, PIECE_BYTES * len(paths) // max(1, self._bytes))
        for start in range(0, len(order), step):
            yield self._piece(order[start : start + step], firsts)

    def close(self) -> None:
        """Deletes the scratch file. Calling it again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._file = -1

    def _piece(self, numbers: Numbers, firsts: Numbers) -> pa.Table:
        """Returns the rows of these numbers, in this order. Numbers count the rows of all tables."""
        owners = np.searchsorted(firsts, numbers, side="right") - 1
        places = np.empty(len(numbers), np.int64)
        batches, before = [], 0
        for owner in np.unique(owners):
            own = owners == owner
            rows = numbers[own] - firsts[owner]  # they ascend without a gap
            batches.append(self._parts[owner].rows(int(rows[0]), int(rows[-1]) + 1))
            places[own] = rows - rows[0] + before
            before += len(rows)
        return pa.Table.from_batches([concat(batches).take(pa.array(places))], RUN_SCHEMA)

    def _write_part(self, batch: pa.RecordBatch) -> _Part:
        if self._file < 0:
            self._folder = make_folder()
            self._file = os.open(f"{self._folder}/entries", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        step = max(1, _CHUNK_BYTES * batch.num_rows // max(1, batch.nbytes))
        chunks = [self._append(batch.slice(start, step), start) for start in range(0, batch.num_rows, step)]
        return _Stored(self._file, chunks)

    def _append(self, rows: pa.RecordBatch, first: int) -> _Chunk:
        plain = rows.serialize()
        packed = pa.compress(plain, _CODEC, asbytes=True)
        at = os.lseek(self._file, 0, os.SEEK_END)
        try:
            os.write(self._file, packed)
        except OSError as error:  # the disk is full
            raise translate(error, self._folder) from error
        return _Chunk(first, first + rows.num_rows, at, len(packed), plain.size)


class _Held:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def rows(self, start: int, stop: int) -> pa.RecordBatch:
        return self._batch.slice(start, stop - start)


class _Chunk(NamedTuple):
    first: int  # the number of the first row
    stop: int
    at: int  # the position in the file, in bytes
    packed: int  # its packed size in bytes
    plain: int


class _Stored:
    def __init__(self, file: int, chunks: list[_Chunk]) -> None:
        self._file = file
        self._chunks = chunks
        self._read: tuple[_Chunk, pa.RecordBatch] | None = None  # the chunk that the last rows came from

    def rows(self, start: int, stop: int) -> pa.RecordBatch:
        found = [chunk for chunk in self._chunks if chunk.first < stop and start < chunk.stop]
        batches = []
        for chunk in found:
            rows = self._open(chunk)
            low, high = max(start, chunk.first), min(stop, chunk.stop)
            batches.append(rows.slice(low - chunk.first, high - low))
        if stop == self._chunks[-1].stop:
            self._read = None  # the chunk is not needed any more
        return concat(batches)

    def _open(self, chunk: _Chunk) -> pa.RecordBatch:
        if self._read is None or self._read[0] != chunk:
            packed = os.pread(self._file, chunk.packed, chunk.at)
            plain = pa.decompress(packed, chunk.plain, _CODEC)
            self._read = chunk, pa.ipc.read_record_batch(plain, RUN_SCHEMA)
        return self._read[1]
