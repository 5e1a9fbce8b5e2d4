"""Sends marks to their shards. A row holds those that one task has for one shard, as Arrow: the JVM moves bytes, and
makes no row for each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.jobs.collection.shards import shards_of

# Files that something names. `folder` is that of the logical path, if only expired commits name the file.
MARK_SCHEMA = pa.schema([pa.field("path", pa.string()), pa.field("live", pa.bool_()), pa.field("folder", pa.string())])
ROW_SCHEMA = pa.schema([pa.field("shard", pa.int32()), pa.field("marks", pa.binary())])
SPARK_ROWS = "shard int, marks binary"
_IPC = pa.ipc.IpcWriteOptions(compression="lz4")


def marks_of(paths: pa.Array, *, live: bool = True, folders: pa.Array | None = None) -> pa.Table:
    """Returns marks as a table of MARK_SCHEMA."""
    named = pa.nulls(len(paths), pa.string()) if folders is None else folders
    return pa.table([paths, pa.array(np.full(len(paths), live)), named], MARK_SCHEMA)


def mark_rows(marks: Iterable[pa.Table], bounds: Sequence[str]) -> pa.RecordBatch:
    """Returns a row for each shard that some of the marks belong to."""
    whole = pa.concat_tables([MARK_SCHEMA.empty_table(), *marks]).combine_chunks()
    return sharded_rows(whole, shards_of(whole["path"], bounds).to_numpy())


def sharded_rows(whole: pa.Table, shards: npt.NDArray[np.integer[Any]]) -> pa.RecordBatch:
    """Returns a row for each shard that some rows of the table belong to. `shards` has the number of each."""
    if len(shards) and shards.min() != shards.max():
        order = np.argsort(shards, kind="stable")
        shards, whole = shards[order], whole.take(pa.array(order))
    numbers, starts = np.unique(shards, return_index=True)
    ends = np.append(starts[1:], len(shards))[: len(starts)]
    data = [encode(whole.slice(start, end - start)) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int32()), pa.array(data, pa.binary())], schema=ROW_SCHEMA)


def empty_rows(count: int) -> pa.RecordBatch:
    """Returns a row without marks for each shard, so that none is left out."""
    return pa.RecordBatch.from_arrays(
        [pa.array(range(count), pa.int32()), pa.nulls(count, pa.binary())], schema=ROW_SCHEMA
    )


def read_marks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the marks that tasks have sent to one shard, table by table."""
    for batch in batches:
        for data in batch.column("marks"):
            if data.is_valid:
                yield pa.ipc.open_stream(data.as_buffer()).read_all()


def encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_IPC) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data
