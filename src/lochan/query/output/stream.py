"""Sends a result to another process without any loss: the engine's own columns as an Arrow stream, with their
description in its schema, so that the reader can make every form of the rows that the writer could.

Rows that are stored as text are sent as their texts, because a query's edits to these cannot be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import msgspec
import pyarrow as pa

from lochan.errors import Corrupt
from lochan.pools.kinds import OBJECT
from lochan.pools.shape import Type
from lochan.query.output.columns import BodyText, Column, FieldOrder, TimeFormat
from lochan.query.output.texts import texts

_ROW = b"lochan.row"
_TEXT = "row"
_TEXTS = Column({OBJECT: ""}, body=BodyText(_TEXT, frozenset(), ()))


class ColumnRecord(msgspec.Struct, omit_defaults=True):
    """A `Column`, as JSON."""

    kinds: Mapping[str, str]
    nothing: str = ""
    members: tuple[tuple[str, ColumnRecord], ...] = ()
    order: FieldOrder | None = None
    element: Type | None = None
    format: TimeFormat | None = None
    scale: int | None = None
    is_text: bool = False

    @classmethod
    def of(cls, column: Column) -> ColumnRecord:
        return cls(
            column.kinds,
            column.nothing,
            tuple((name, cls.of(each)) for name, each in column.members),
            column.order,
            column.element,
            column.format,
            column.scale,
            column.body is not None,
        )

    def column(self) -> Column:
        if self.is_text:
            return _TEXTS
        members = tuple((name, each.column()) for name, each in self.members)
        return Column(self.kinds, self.nothing, members, self.order, self.element, self.format, None, self.scale)


def write_stream(batches: Iterable[pa.RecordBatch], row: Column, sink: IO[bytes]) -> None:
    """Writes the stream. It writes nothing before the first batch comes; without any batch it writes an empty
    stream."""
    writer = None
    metadata = {_ROW: msgspec.json.encode(ColumnRecord.of(_TEXTS if _has_body(row) else row))}
    for batch in batches:
        sent = _as_texts(batch, row) if _has_body(row) else batch
        if writer is None:
            writer = pa.ipc.new_stream(sink, sent.schema.with_metadata(metadata))
        writer.write_batch(sent)
    if writer is None:
        writer = pa.ipc.new_stream(sink, pa.schema([], metadata))
    writer.close()


def read_stream(source: Any) -> tuple[Column, Iterator[pa.RecordBatch]]:
    """Returns the columns and the batches. Raises Corrupt for a stream without a description of its columns."""
    reader = pa.ipc.open_stream(source)
    encoded = (reader.schema.metadata or {}).get(_ROW)
    if encoded is None:
        raise Corrupt("the rows do not say what their columns are", hint="are both sides of the same version?")
    return msgspec.json.decode(encoded, type=ColumnRecord).column(), iter(reader)


def _has_body(column: Column) -> bool:
    return column.body is not None or any(_has_body(each) for _, each in column.members)


def _as_texts(batch: pa.RecordBatch, row: Column) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([texts(batch, row)], [_TEXT])
