"""Rows on their way from the task that read them to the one that has their part of the key.

Spark sees a number and some bytes: one record for all rows of a chunk that go to one place, in Arrow's form.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.read_input import Chunk, PlainLines
from lochan.ingest.lines import CHUNK_BYTES, Lines, is_valid
from lochan.jobs.load.key_ranges import Parts
from lochan.jobs.messages import TaskMessage, decode_message, encode_message
from lochan.jobs.pool_writer import joined
from lochan.pools.json_row import Faults, Row

SPARK_SCHEMA = "part int, kind int, body binary"
_SCHEMA = pa.schema([("part", pa.int32()), ("kind", pa.int32()), ("body", pa.binary())])
_JSON, _PLAIN, _BATCH, _ROWS, _FAULTS = range(5)
_BODY_BYTES = 4 << 20  # of one record, about
_TEXT, _PLACE = "text", "place"


def sent(chunk: Chunk, parts: Parts) -> Iterator[pa.RecordBatch]:
    """A record for each part that rows go to, or several where they are many. The places of lines are numbers that any
    task can read."""
    if isinstance(chunk, list):
        yield from _sent_rows(chunk, parts)
        return
    kind, table = _table(chunk)
    order = np.argsort(parts, kind="stable")
    ordered = parts[order]
    table = table.take(pa.array(order))
    begins = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist()] if len(ordered) else []
    for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True):
        for piece in _pieces(table.slice(begin, end - begin)):
            yield _record(int(ordered[begin]), kind, _ipc(piece))


def _sent_rows(rows: list[Row], parts: Parts) -> Iterator[pa.RecordBatch]:
    """They may hold values that no JSON has."""
    for part in np.unique(parts):
        yield _record(int(part), _ROWS, pickle.dumps([rows[number] for number in np.flatnonzero(parts == part)]))


def sent_faults(faults: Faults) -> Iterator[pa.RecordBatch]:
    """What the reader of a piece had against it; to any part."""
    if faults.count:
        yield _record(0, _FAULTS, encode_message(TaskMessage(faults=faults.count, first_faults=tuple(faults.first))))


class Received:
    """The records of one part, as chunks again, as large as a loader likes them."""

    def __init__(self, records: Iterable[pa.RecordBatch]) -> None:
        self._records = records
        self.faults: list[TaskMessage] = []  # when all chunks were taken

    def chunks(self) -> Iterator[Chunk]:
        held: dict[int, list[pa.RecordBatch]] = {_JSON: [], _PLAIN: [], _BATCH: []}
        size: Counter[int] = Counter()
        for kind, body in self._bodies():
            if kind == _FAULTS:
                self.faults.append(decode_message(body))
                continue
            if kind == _ROWS:
                yield pickle.loads(body)
                continue
            held[kind] += pa.ipc.open_stream(body)
            size[kind] += len(body)
            if size[kind] > CHUNK_BYTES:
                yield from _chunks(kind, held[kind])
                held[kind], size[kind] = [], 0
        for kind, batches in held.items():
            yield from _chunks(kind, batches)

    def _bodies(self) -> Iterator[tuple[int, bytes]]:
        for records in self._records:
            kinds = records.column("kind").to_pylist()
            for number, kind in enumerate(kinds):
                yield kind, records.column("body")[number].as_buffer()


def _chunks(kind: int, batches: list[pa.RecordBatch]) -> Iterator[Chunk]:
    if kind == _BATCH:
        yield from joined(batches)
    elif batches:
        whole = pa.Table.from_batches(batches).combine_chunks()
        texts = pa.concat_arrays(whole[_TEXT].chunks).view(pa.string())
        lines = Lines("", texts, is_valid(texts), 1, whole[_PLACE].to_numpy())
        yield lines if kind == _JSON else PlainLines(lines)


def _table(chunk: Lines | PlainLines | pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
    match chunk:
        case Lines():
            return _JSON, _placed(chunk)
        case PlainLines(lines):
            return _PLAIN, _placed(lines)
    return _BATCH, chunk


def _placed(lines: Lines) -> pa.RecordBatch:
    assert lines.places is not None, "no other task would know where they stood"
    return pa.RecordBatch.from_arrays([lines.texts.cast(pa.binary()), pa.array(lines.places)], [_TEXT, _PLACE])


def _pieces(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    count = max(1, rows.nbytes // _BODY_BYTES)
    each = -(-rows.num_rows // count)
    for begin in range(0, rows.num_rows, each):
        yield rows.slice(begin, each)


def _record(part: int, kind: int, body: bytes) -> pa.RecordBatch:
    arrays = [pa.array([part], pa.int32()), pa.array([kind], pa.int32()), pa.array([body], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _ipc(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    body: bytes = sink.getvalue().to_pybytes()
    return body
