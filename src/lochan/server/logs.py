"""What requests leave behind: lines of the access log, rows of the usage log, lines of the audit log.

The access log has a line for every answered request, by the logger `lochan.access`. Whoever started the process says
where its lines go. Query strings are left out: the signature of a link is a secret for as long as the link is good.

    2026-11-15T13:30:14.123456Z 127.0.0.1:41822 ada PutObject PUT "/demo/main/a.csv" 200 4 0.0021 9F3A6C2100000007
    {"time": "2026-11-15T13:30:14.123456Z", "level": "INFO", "logger": "lochan.access", "source": …}

The usage log says who read or wrote what, and when, as Parquet files in the lake. Retention rules ask it when a thing
was last used. It is written behind the requests and is no part of what is acknowledged: a process that is killed takes
its last rows with it, and rows are dropped, and counted, while the store cannot be reached. Who changed what is in the
journal.

    _lake/usage/<yyyy-mm-dd>/<hhmmss.microseconds>-<process>.parquet

The audit log says which user called which verb on what, by the logger `lochan.audit`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from lochan.access.rights import Denied
from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.store.protocol import Store

if TYPE_CHECKING:
    from lochan.api.wrappers.records import AuditLine, Caller

Row = TypeVar("Row")

FOLDER: Final = "_lake/usage"
FILE_ROWS: Final = 20_000
WAITING_ROWS_MAX: Final = 200_000  # some 60 MB at the worst paths
_LINES_EVERY_S, _LINES_FULL, _LINES_WAITING_MAX = 1.0, 1_000, 20_000
_LAST_S = 10.0  # how long the last rows may take, when the process has to stop
_MICROSECONDS = 1_000_000
_encoder = msgspec.json.Encoder()
_log, _requests, _audit = (logging.getLogger(f"lochan.{name}") for name in ("server", "access", "audit"))


class RowBuffer(Generic[Row]):
    """Rows that are handed on in the background: a request appends to a list, and never waits. `write` gets what has
    come together every so many seconds, or as soon as it is `full`. What it could not write waits for the next time; of
    more than `waiting_max` rows the newest are dropped, and `dropped` is called with their number."""

    def __init__(
        self,
        write: Callable[[list[Row]], Awaitable[None]],
        *,
        every_s: float,
        full: int,
        waiting_max: int,
        dropped: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._write = write
        self._every_s = every_s
        self._full = full
        self._waiting_max = waiting_max
        self._dropped = dropped
        self._rows: list[Row] = []
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def add(self, row: Row) -> None:
        count = len(self._rows)
        if count >= self._waiting_max:
            self._dropped(1)
            return
        self._rows.append(row)
        if count + 1 == self._full:
            self._wake.set()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def close(self) -> None:
        """Writes what is left."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        try:
            await asyncio.wait_for(self._flush(), _LAST_S)
        except TimeoutError:
            _log.warning("the last rows could not be written in time")
        self._dropped(len(self._rows))
        self._rows = []

    async def _work(self) -> None:
        while not self._stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._every_s)
            self._wake.clear()
            if not self._stopping:
                await self._flush()

    async def _flush(self) -> None:
        taken, self._rows = self._rows, []
        if not taken:
            return
        try:
            await self._write(taken)
        except (LochanError, OSError) as error:
            _log.warning("%d rows could not be written yet: %s", len(taken), error)
            rows = taken + self._rows
            self._rows = rows[: self._waiting_max]
            self._dropped(len(rows) - len(self._rows))
        except asyncio.CancelledError:
            self._rows = taken + self._rows
            raise
        except Exception:  # rows that can never be written must not stop those that come
            _log.exception("%d rows were dropped: they cannot be written", len(taken))
            self._dropped(len(taken))


class AccessLine(msgspec.Struct, frozen=True, gc=False):
    """Texts and numbers alone, in no cycle."""

    time: int  # when it was answered, in microseconds since 1970
    source: str
    user: str
    operation: str
    method: str
    path: str
    status: int
    sent: int
    seconds: float
    request_id: str


class AccessLog:
    """`format` is text or json."""

    def __init__(self, format: str) -> None:
        self._line = json_text if format == "json" else text
        self._gathered = RowBuffer(
            self._write, every_s=_LINES_EVERY_S, full=_LINES_FULL, waiting_max=_LINES_WAITING_MAX
        )
        self.add = self._gathered.add
        self.start = self._gathered.start
        self.close = self._gathered.close

    async def _write(self, lines: Sequence[AccessLine]) -> None:
        """One record for all of them; in a thread, because the reader of a pipe may be slow. The text is
        made here: two threads that take turns at the interpreter lose more by it than one has to do."""
        if _requests.isEnabledFor(logging.INFO):
            await asyncio.to_thread(_requests.info, "%s", "\n".join([self._line(line) for line in lines]))


def text(line: AccessLine) -> str:
    """In one expression, for there are thousands a second."""
    seconds, micros = divmod(line.time, 1_000_000)
    path = line.path
    quoted = f'"{path}"' if path.isprintable() and '"' not in path and "\\" not in path else _escaped(path)
    return (
        f"{_second(seconds)}.{micros:06}Z {line.source} {line.user or '-'} {line.operation} {line.method} {quoted} "
        f"{line.status} {line.sent} {line.seconds:.4f} {line.request_id}"
    )


def json_text(line: AccessLine) -> str:
    """With the same first fields as every other line of the log."""
    head = {"time": _moment(line.time), "level": "INFO", "logger": _requests.name}
    fields = {name: getattr(line, name) for name in AccessLine.__struct_fields__}  # a RequestRecord has more
    return _encoder.encode({**head, **fields, "time": head["time"]}).decode()


def _moment(time: int) -> str:
    seconds, micros = divmod(time, 1_000_000)
    return f"{_second(seconds)}.{micros:06}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Thousands of requests have it in common."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _escaped(path: str) -> str:
    """In one line, whatever a key holds."""
    escaped = path.encode("unicode_escape").decode()
    return '"' + escaped.replace('"', '\\"') + '"'


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


def log_call(caller: Caller, line: AuditLine) -> None:
    """What is denied is worth a line in every log; the rest, where somebody asks for it."""
    level = logging.INFO if isinstance(line.error, Denied) else logging.DEBUG
    outcome = "done" if line.error is None else "denied" if isinstance(line.error, Denied) else "failed"
    _audit.log(level, "%s from %s: %s %s: %s", caller.user, caller.source, line.verb, line.about, outcome)
