"""What a decoder does, from its request to its end (`ingest/fork_server.py` calls `run`).

    chunks     one file: its batches and rows as they come
    objects    some files, one after the other: data objects of all their rows, as a load would make them

Whatever a file leads to ends in a message: a reader's error, a limit, or something that nobody thought of.
"""

from __future__ import annotations

import io
import os
import traceback
from decimal import Decimal
from functools import partial
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.limits import LimitReached, Limits, shown
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import (
    LocalReadContext,
    impossible_as_invalid,
    local_chunks,
    take_chunk,
    with_columns,
)
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import LochanError
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.ingest.channel import (
    BATCH,
    DONE,
    END,
    ERROR,
    LIMIT,
    OBJECT,
    PIECE_BYTES,
    READ,
    REQUEST_BYTES_MAX,
    ROWS,
    TAKEN,
    UNEXPECTED,
    WRONG,
    Channel,
    Closed,
    Failure,
    batch_pieces,
    encode,
    pack_rows,
)
from lochan.ingest.process_limits import ProcessLimits
from lochan.ingest.streams import Input
from lochan.pools.json_row import FAIL, Faults

# A key that no row has: rows stay in the order in which they come.
AS_THEY_COME = PoolSettings((PoolKey(("\x01 no key",)),))
THREADS_MAX = 4  # each takes memory for its stack, whether it has work or not
_ROWS_MAX = 10_000  # of a message
_READ_BYTES = 1 << 20  # are told of at a time
_BATCH_ROWS = 65_536


class FileRequest(msgspec.Struct, array_like=True):
    """Comes with the open file."""

    name: str
    size: int
    path_columns: bytes = b""  # that its path has, for objects: a record batch of one row, as an Arrow stream


class DecodeRequest(msgspec.Struct, array_like=True):
    """`folder` is for what does not fit into memory; who asks deletes it."""

    task: str  # one of TASKS
    process: ProcessLimits
    folder: str
    memory_bytes: int
    spill_bytes: int | None = None
    format: str | None = None
    unpacked_bytes_max: int | None = None
    typed: bool = True
    row_tag: str = ""
    row_groups: list[int] | None = None


CHUNKS, OBJECTS = "chunks", "objects"
TASKS = (CHUNKS, OBJECTS)


def prepare() -> None:
    """Before anything is forked: what libraries import at their first use. None of it may start a thread."""
    import encodings.utf_8_sig
    from xml.etree import ElementTree

    import pyarrow.orc

    pa.array([Decimal(1)])
    ElementTree.fromstring("<a/>")
    del encodings, pyarrow


def run(channel: Channel) -> None:
    """The life of a decoder."""
    request = _requests.decode(channel.receive(REQUEST_BYTES_MAX).data)
    request.process.apply()
    pa.set_cpu_count(2)
    job = _Job(channel, request)
    try:
        if request.task == CHUNKS:
            job.chunks()
        else:
            job.objects()
        channel.send(DONE)
    except Closed:
        return
    except BaseException as error:  # Rust's panics are no Exception
        failure = job.failure(error)
        del error
        channel.send(ERROR, encode(failure))


class _Job:
    def __init__(self, channel: Channel, request: DecodeRequest) -> None:
        self._channel = channel
        self._request = request
        self._name = "the file"
        self._unsaid = 0
        self._columns: pa.RecordBatch | None = None  # of the path of the file that is read just now

    def chunks(self) -> None:
        input = self._next_file()
        assert input is not None, "a file comes with the request"
        for chunk in local_chunks(LocalReadContext(Path(self._request.folder)), input, self._how()):
            if isinstance(chunk, pa.RecordBatch):
                self._send_batch(chunk)
            else:
                assert isinstance(chunk, list), "lines are read where they are wanted"
                for begin in range(0, len(chunk), _ROWS_MAX):
                    self._channel.send(ROWS, pack_rows(chunk[begin : begin + _ROWS_MAX]))
        self._channel.send(READ, encode(self._unsaid))

    def objects(self) -> None:
        request = self._request
        threads = min(THREADS_MAX, os.cpu_count() or 1)
        limits = Limits(request.memory_bytes, threads=threads, spill_bytes=request.spill_bytes)
        with DuckSession(limits, temp=request.folder) as session:
            loader = Loader(session, AS_THEY_COME, Faults(FAIL))
            while (input := self._next_file()) is not None:
                for chunk in local_chunks(loader, input, self._how()):
                    with impossible_as_invalid(input.name):
                        take_chunk(
                            loader, chunk if self._columns is None else with_columns(loader, chunk, self._columns)
                        )
                self._channel.send(TAKEN)
            for written in loader.objects():
                self._channel.send(OBJECT, encode(written.facts))
                self._send_file(written.file)
                written.file.unlink()

    def failure(self, error: BaseException) -> Failure:
        if isinstance(error, LimitReached):
            return Failure(LIMIT, f"{self._name}: {error.message}", error.hint)
        if isinstance(error, LochanError):
            return Failure(WRONG, error.message, error.hint)
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "bad_alloc" in str(error):
            memory = shown(self._request.memory_bytes)
            return Failure(LIMIT, f"{self._name}: to read it takes more than its {memory} of memory")
        if isinstance(error, RecursionError):
            return Failure(WRONG, f"{self._name}: it is nested too deeply to be read")
        said = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        trace = "".join(traceback.format_exception(error))[-4_000:]
        return Failure(UNEXPECTED, f"{self._name}: it cannot be read: {said}", trace=trace)

    def _next_file(self) -> Input | None:
        """None: there are no more."""
        message, file = self._channel.receive_with_file(REQUEST_BYTES_MAX)
        if message.kind == END or file is None:
            return None
        asked = _files.decode(message.data)
        self._name = asked.name
        self._columns = pa.ipc.open_stream(asked.path_columns).read_next_batch() if asked.path_columns else None
        path = f"/dev/fd/{file}"
        return Input(asked.name, partial(io.FileIO, path), asked.size, path)

    def _how(self) -> LoaderOptions:
        request = self._request
        return LoaderOptions(
            request.format,
            unpacked_bytes_max=request.unpacked_bytes_max,
            advance=self._advance if request.task == CHUNKS else lambda _: None,
            typed=request.typed,
            row_tag=request.row_tag,
            row_groups=request.row_groups,
        )

    def _advance(self, count: int) -> None:
        self._unsaid += count
        if self._unsaid >= _READ_BYTES:
            self._channel.send(READ, encode(self._unsaid))
            self._unsaid = 0

    def _send_file(self, file: Path) -> None:
        """A data object, some rows at a time."""
        with pq.ParquetFile(file) as source:
            told = source.metadata
            size = sum(told.row_group(each).total_byte_size for each in range(told.num_row_groups))
            rows = max(1, min(_BATCH_ROWS, told.num_rows * 4 * PIECE_BYTES // max(1, size)))
            for batch in source.iter_batches(batch_size=rows):
                self._send_batch(batch)

    def _send_batch(self, batch: pa.RecordBatch) -> None:
        for piece in batch_pieces(batch.replace_schema_metadata(None)):
            self._channel.send(BATCH, piece)


_requests = msgspec.msgpack.Decoder(DecodeRequest)
_files = msgspec.msgpack.Decoder(FileRequest)
