"""The usage log: who read or wrote what, and when, as Parquet files in the lake.

    _lake/usage/<yyyy-mm-dd>/<hhmmss.microseconds>-<process>.parquet

Retention rules ask it when a thing was last used. It is written behind the requests and is no part of what is
acknowledged: a process that is killed takes its last rows with it, and rows are dropped, and counted, where the store
stays away. What only the journal may say (who changed what) is in the journal.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from lochan.clock import Clock
from lochan.server.row_buffer import RowBuffer
from lochan.store.protocol import Store

FOLDER: Final = "_lake/usage"
FILE_ROWS: Final = 20_000
WAITING_ROWS_MAX: Final = 200_000  # some 60 MB at the worst paths

_MICROSECONDS = 1_000_000


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """One row. The columns of the files are these fields, in their order; texts and numbers alone, in no cycle."""

    time: int  # microseconds since 1970
    user: str
    operation: str  # S3's name of it; CopySource is the other end of a copy
    repository: str
    ref: str
    path: str
    bytes: int  # of the body that came or went
    status: int


class UsageLog:
    def __init__(
        self, store: Store, clock: Clock, process: str, *, flush_s: float, dropped: Callable[[int], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._process = process
        self._gathered = RowBuffer(
            self._write, every_s=flush_s, full=FILE_ROWS, waiting_max=WAITING_ROWS_MAX, dropped=dropped
        )
        self.add = self._gathered.add
        self.start = self._gathered.start
        self.close = self._gathered.close

    async def _write(self, rows: Sequence[UsageRow]) -> None:
        data = await asyncio.to_thread(encoded, rows)
        moment = datetime.fromtimestamp(self._clock.wall() / _MICROSECONDS, UTC)
        await self._store.put(f"{FOLDER}/{moment:%Y-%m-%d}/{moment:%H%M%S.%f}-{self._process}.parquet", data)


def encoded(rows: Sequence[UsageRow]) -> bytes:
    """In a thread: a full file takes some 20 ms. Columns are given as they lie in memory: to look at a list, Arrow
    imports pandas where it is installed, which a server has no other need of."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    def texts(values: Sequence[str]) -> pa.Array:
        joined = "".join(values)
        lengths = map(len, values if joined.isascii() else map(str.encode, values))
        ends = np.zeros(len(values) + 1, np.int32)
        np.cumsum(np.fromiter(lengths, np.int32, len(values)), out=ends[1:])
        data = pa.py_buffer(joined.encode())
        return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), data])

    def column(values: Sequence[Any], type: pa.DataType) -> pa.Array:
        if pa.types.is_string(type):
            return texts(values)
        numbers = np.array(values, np.dtype(f"i{type.byte_width}"))
        return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(numbers)])

    schema = pa.schema(
        [
            pa.field("time", pa.timestamp("us", "UTC"), nullable=False),
            *(pa.field(name, pa.string(), nullable=False) for name in ("user", "operation")),
            *(pa.field(name, pa.string(), nullable=False) for name in ("repository", "ref", "path")),
            pa.field("bytes", pa.int64(), nullable=False),
            pa.field("status", pa.int16(), nullable=False),
        ]
    )
    columns = [column(list(map(attrgetter(field.name), rows)), field.type) for field in schema]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())
