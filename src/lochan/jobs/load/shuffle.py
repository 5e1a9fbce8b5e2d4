"""Sends rows from the task that read them to the one that has their part of the key.

Spark sees a number and some bytes: one record for all rows of a chunk that go to one place, in Arrow's form."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.read_input import Chunk, PlainLines
from lochan.ingest.lines import CHUNK_BYTES, Lines, is_valid
from lochan.jobs.load.file_splits import FileSplit, splits_in_task
from lochan.jobs.load.key_ranges import Parts
from lochan.jobs.load.positions import splits_in
from lochan.jobs.messages import TaskMessage, decode_message, encode_message
from lochan.jobs.pool_writer import join_batches
from lochan.pools.json_row import Faults, Row

SPARK_SCHEMA = "part int, kind int, splits binary, body binary"
_SCHEMA = pa.schema([("part", pa.int32()), ("kind", pa.int32()), ("splits", pa.binary()), ("body", pa.binary())])
_JSON, _PLAIN, _BATCH, _ROWS, _FAULTS = range(5)
_BODY_BYTES = 4 << 20  # the approximate size of one record
_ROW_BYTES = 200  # the approximate size of a row that is a dict
_TEXT, _PLACE = "text", "place"
_NONE: Mapping[int, FileSplit] = {}
_IPC = pa.ipc.IpcWriteOptions()  # otherwise the environment is read for each record


class _Record(NamedTuple):
    part: int
    kind: int
    splits: bytes  # the splits that the lines come from
    body: bytes


def gather_chunks(chunks: Iterable[Chunk], bytes_max: int) -> Iterator[Chunk]:
    """Yields the same rows in fewer chunks: with many small files, or very many parts, each chunk would be cut into
    records of a few rows."""
    held: list[Chunk] = []
    size = 0
    for chunk in chunks:
        more = bytes_of(chunk)
        if held and (size + more > bytes_max or not _are_alike(held[0], chunk)):
            yield joined_chunk(held)
            held, size = [], 0
        held.append(chunk)
        size += more
    if held:
        yield joined_chunk(held)


def records_to_send(chunk: Chunk, parts: Parts, splits: Mapping[int, FileSplit] = _NONE) -> Iterator[pa.RecordBatch]:
    """Yields a record for each part that rows go to, or several for many rows, with many records in a batch. The splits
    of lines are sent with them."""
    return _join_records(_records_of_rows(chunk, parts) if isinstance(chunk, list) else _records(chunk, parts, splits))


def _records(
    chunk: Lines | PlainLines | pa.RecordBatch, parts: Parts, splits: Mapping[int, FileSplit]
) -> Iterator[_Record]:
    kind, table = _table(chunk)
    order = np.argsort(parts, kind="stable")
    ordered = parts[order]
    table = table.take(pa.array(order))
    begins = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist()] if len(ordered) else []
    encoded: dict[tuple[int, ...], bytes] = {}
    for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True):
        for piece in _pieces(table.slice(begin, end - begin)):
            numbers = () if kind == _BATCH else splits_in(piece.column(_PLACE).to_numpy())
            if numbers not in encoded:
                encoded[numbers] = msgspec.msgpack.encode([splits[number] for number in numbers]) if numbers else b""
            yield _Record(int(ordered[begin]), kind, encoded[numbers], _ipc(piece))


def _records_of_rows(rows: list[Row], parts: Parts) -> Iterator[_Record]:
    """Yields the records of rows that are dicts. They may hold values that JSON cannot express."""
    for part in np.unique(parts):
        mine = [rows[number] for number in np.flatnonzero(parts == part)]
        yield _Record(int(part), _ROWS, b"", pickle.dumps(mine))


def sent_faults(faults: Faults) -> Iterator[pa.RecordBatch]:
    """Yields the faults that the reader of a split has found, for any part."""
    if faults.count:
        message = TaskMessage(faults=faults.count, first_faults=tuple(faults.first))
        yield from _join_records([_Record(0, _FAULTS, b"", encode_message(message))])


def _join_records(records: Iterable[_Record]) -> Iterator[pa.RecordBatch]:
    """Joins many records into a batch: thousands of parts would make thousands of batches, each more expensive than its
    rows."""
    held: list[_Record] = []
    size = 0
    for record in records:
        held.append(record)
        size += len(record.body)
        if size > _BODY_BYTES:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(records: list[_Record]) -> pa.RecordBatch:
    columns = zip(*records, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


class Received:
    """The records of one part, joined into chunks of a size that suits a loader."""

    def __init__(self, records: Iterable[pa.RecordBatch]) -> None:
        self._records = records
        self.faults: list[TaskMessage] = []  # complete when all chunks were taken
        self.splits: dict[int, FileSplit] = {}  # the splits of the lines in the last chunk

    def chunks(self) -> Iterator[Chunk]:
        held = {kind: _Held(kind) for kind in (_JSON, _PLAIN, _BATCH)}
        for kind, body, splits in self._bodies():
            if kind == _FAULTS:
                self.faults.append(decode_message(body))
            elif kind == _ROWS:
                yield pickle.loads(body)
            elif held[kind].add(body, splits) > CHUNK_BYTES:
                yield from self._take_chunks(held.pop(kind))
                held[kind] = _Held(kind)
        for each in held.values():
            yield from self._take_chunks(each)

    def _take_chunks(self, held: _Held) -> Iterator[Chunk]:
        every = (split for task in held.splits if task for split in splits_in_task(task))
        self.splits = {split.number: split for split in every}
        yield from _chunks(held.kind, held.batches)

    def _bodies(self) -> Iterator[tuple[int, bytes, bytes]]:
        for records in self._records:
            columns = records.column("kind").to_pylist(), records.column("splits").to_pylist()
            for number, (kind, splits) in enumerate(zip(*columns, strict=True)):
                yield kind, records.column("body")[number].as_buffer(), splits


class _Held:
    """Rows of one kind."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.batches: list[pa.RecordBatch] = []
        self.splits: set[bytes] = set()
        self._size = 0

    def add(self, body: bytes, splits: bytes) -> int:
        """Adds rows. Returns the size of all of them."""
        self.batches += pa.ipc.open_stream(body)
        self.splits.add(splits)
        self._size += len(body)
        return self._size


def bytes_of(chunk: Chunk) -> int:
    """Returns the approximate size in memory."""
    match chunk:
        case Lines(texts=texts) | PlainLines(Lines(texts=texts)):
            return int(texts.nbytes)
        case pa.RecordBatch():
            return int(chunk.nbytes)
    return _ROW_BYTES * len(chunk)


def _are_alike(one: Chunk, other: Chunk) -> bool:
    if isinstance(one, pa.RecordBatch) and isinstance(other, pa.RecordBatch):
        return bool(one.schema.equals(other.schema))
    return type(one) is type(other)


def joined_chunk(chunks: list[Chunk]) -> Chunk:
    """Joins the chunks. REQUIRES: they are of the same kind."""
    first = chunks[0]
    if len(chunks) == 1:
        return first
    match first:
        case Lines():
            return _join_lines([chunk for chunk in chunks if isinstance(chunk, Lines)])
        case PlainLines():
            return PlainLines(_join_lines([chunk.lines for chunk in chunks if isinstance(chunk, PlainLines)]))
        case pa.RecordBatch():
            return pa.concat_batches(chunks)
    return [row for chunk in chunks if isinstance(chunk, list) for row in chunk]


def _join_lines(every: list[Lines]) -> Lines:
    texts = pa.concat_arrays([each.texts.cast(pa.binary()) for each in every]).view(pa.string())
    places = [each.places for each in every if each.places is not None]
    return Lines("", texts, all(each.valid for each in every), 1, np.concatenate(places) if places else None)


def _chunks(kind: int, batches: list[pa.RecordBatch]) -> Iterator[Chunk]:
    if kind == _BATCH:
        yield from join_batches(batches)
    elif batches:
        whole = pa.Table.from_batches(batches).combine_chunks()
        texts = pa.concat_arrays(whole[_TEXT].chunks).view(pa.string())
        lines = Lines("", texts, is_valid(texts), 1, whole[_PLACE].to_numpy())
        yield lines if kind == _JSON else PlainLines(lines)


def _table(chunk: Lines | PlainLines | pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
    match chunk:
        case Lines():
            return _JSON, _with_places(chunk)
        case PlainLines(lines):
            return _PLAIN, _with_places(lines)
    return _BATCH, chunk


def _with_places(lines: Lines) -> pa.RecordBatch:
    assert lines.places is not None, "no other task would know where they stood"
    return pa.RecordBatch.from_arrays([lines.texts.cast(pa.binary()), pa.array(lines.places)], [_TEXT, _PLACE])


def _pieces(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    count = max(1, rows.nbytes // _BODY_BYTES)
    each = -(-rows.num_rows // count)
    for begin in range(0, rows.num_rows, each):
        yield rows.slice(begin, each)


def _ipc(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_IPC) as writer:
        writer.write_batch(batch)
    body: bytes = sink.getvalue().to_pybytes()
    return body
