"""A result in the format that is asked for, as pieces of bytes while its rows come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import orjson
import pyarrow as pa

from lochan.pools.json_row import read_value
from lochan.pools.shape import DECIMAL, JSON
from lochan.query.output.columns import Column
from lochan.query.output.texts import texts

Batches = Iterable[pa.RecordBatch]


def ndjson(batches: Batches, row: Column) -> Iterator[bytes]:
    for batch in batches:
        if len(batch):
            yield "\n".join(texts(batch, row).to_pylist()).encode() + b"\n"


def json(batches: Batches, row: Column) -> Iterator[bytes]:
    """A list, a row on a line."""
    begun = False
    for batch in batches:
        if len(batch):
            yield (b",\n  " if begun else b"[\n  ") + ",\n  ".join(texts(batch, row).to_pylist()).encode()
            begun = True
    yield b"\n]\n" if begun else b"[]\n"


def csv(batches: Batches, row: Column) -> Iterator[bytes]:
    from lochan.query.output import cells as csv

    return csv.csv(batches, row)


def text(batches: Batches, row: Column) -> Iterator[bytes]:
    from lochan.query.output.cells import tab_separated

    for batch in batches:
        yield from tab_separated(batch, row)


TEXTS: dict[str, Callable[[Batches, Column], Iterator[bytes]]] = {
    "ndjson": ndjson,
    "json": json,
    "csv": csv,
    "text": text,
}


def write_parquet(batches: Batches, row: Column, sink: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    from lochan.query.output.typed import typed_batches, typed_schema

    with pq.ParquetWriter(sink, typed_schema(row), compression="zstd") as writer:
        for batch in typed_batches(batches, row):
            writer.write_batch(batch)


def write_arrow(batches: Batches, row: Column, sink: IO[bytes]) -> None:
    """The stream format of Arrow IPC."""
    from lochan.query.output.typed import typed_batches, typed_schema

    with pa.ipc.new_stream(sink, typed_schema(row)) as writer:
        for batch in typed_batches(batches, row):
            writer.write_batch(batch)


def write(form: str, batches: Batches, row: Column, sink: IO[bytes]) -> None:
    """`form` is ndjson, json, csv, text, parquet or arrow."""
    if form == "parquet":
        write_parquet(batches, row, sink)
    elif form == "arrow":
        write_arrow(batches, row, sink)
    else:
        for piece in TEXTS[form](batches, row):
            sink.write(piece)


# ── Python values ────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(batch: pa.RecordBatch, row: Column) -> Iterator[Any]:
    """As a JSON reader gives them; ints of any size, and times as they were written."""
    read = read_value if _has_texts(row) else orjson.loads
    for text in texts(batch, row).to_pylist():
        yield read(text)


def _has_texts(row: Column) -> bool:
    """Only in texts that were kept as they came numbers can be that a double does not hold."""
    return (
        row.body is not None
        or bool({JSON, DECIMAL} & set(row.kinds))
        or any(_has_texts(member) for _, member in row.members)
    )
