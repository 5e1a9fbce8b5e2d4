"""The decoder's side, from its request to its end (`ingest/fork_server.py` calls `run`).

    chunks     sends the batches and rows of one file as it reads them
    objects    sends data objects of all rows of some files, as a load would make them

Every failure ends in a message: a reader's error, a limit, or an unexpected error.
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

from lochan.engines.duckdb.limits import LimitReached, Limits, format_size
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
from lochan.ingest import channel as messages
from lochan.ingest.channel import PIECE_BYTES, Channel, Closed, Failure, batch_pieces, encode, pack_rows
from lochan.ingest.process_limits import ProcessLimits
from lochan.ingest.streams import Input
from lochan.pools.json_row import FAIL, Faults

# A key that no row has, so that rows keep their order.
AS_THEY_COME = PoolSettings((PoolKey(("\x01 no key",)),))
THREADS_MAX = 4  # each thread takes memory for its stack, even without work
_ROWS_MAX = 10_000  # the rows of one message
_READ_BYTES = 1 << 20  # how many bytes are reported at a time
_BATCH_ROWS = 65_536


class FileRequest(msgspec.Struct, array_like=True):
    """The request to read a file. It is sent with the open file."""

    name: str
    size: int
    path_columns: bytes = b""  # the columns of its path: a record batch of one row, as an Arrow stream


class DecodeRequest(msgspec.Struct, array_like=True):
    """The request that a decoder begins with. `folder` is for data that does not fit into memory, and the caller
    deletes it."""

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
    """Imports what libraries import at their first use. It runs before the first fork, so none of it may start a
    thread."""
    import encodings.utf_8_sig
    from xml.etree import ElementTree

    import pyarrow.orc

    pa.array([Decimal(1)])
    ElementTree.fromstring("<a/>")
    del encodings, pyarrow


def run(channel: Channel) -> None:
    """Runs a decoder."""
    request = _requests.decode(channel.receive(messages.REQUEST_BYTES_MAX).data)
    request.process.apply()
    pa.set_cpu_count(2)
    job = _Job(channel, request)
    try:
        if request.task == CHUNKS:
            job.chunks()
        else:
            job.objects()
        channel.send(messages.DONE)
    except Closed:
        return
    except BaseException as error:  # Rust's panics do not derive from Exception
        failure = job.failure(error)
        del error
        channel.send(messages.ERROR, encode(failure))


class _Job:
    def __init__(self, channel: Channel, request: DecodeRequest) -> None:
        self._channel = channel
        self._request = request
        self._name = "the file"
        self._unsaid = 0
        self._columns: pa.RecordBatch | None = None  # the columns of the path of the current file

    def chunks(self) -> None:
        input = self._next_file()
        assert input is not None, "the first message has a file"
        for chunk in local_chunks(LocalReadContext(Path(self._request.folder)), input, self._options()):
            if isinstance(chunk, pa.RecordBatch):
                self._send_batch(chunk)
            else:
                assert isinstance(chunk, list), "the caller reads lines itself"
                for begin in range(0, len(chunk), _ROWS_MAX):
                    self._channel.send(messages.ROWS, pack_rows(chunk[begin : begin + _ROWS_MAX]))
        self._channel.send(messages.READ, encode(self._unsaid))

    def objects(self) -> None:
        request = self._request
        threads = min(THREADS_MAX, os.cpu_count() or 1)
        limits = Limits(request.memory_bytes, threads=threads, spill_bytes=request.spill_bytes)
        with DuckSession(limits, temp=request.folder) as session:
            loader = Loader(session, AS_THEY_COME, Faults(FAIL))
            while (input := self._next_file()) is not None:
                for chunk in local_chunks(loader, input, self._options()):
                    with impossible_as_invalid(input.name):
                        take_chunk(
                            loader, chunk if self._columns is None else with_columns(loader, chunk, self._columns)
                        )
                self._channel.send(messages.TAKEN)
            for written in loader.objects():
                self._channel.send(messages.OBJECT, encode(written.facts))
                self._send_file(written.file)
                written.file.unlink()

    def failure(self, error: BaseException) -> Failure:
        if isinstance(error, LimitReached):
            return Failure(messages.LIMIT, f"{self._name}: {error.message}", error.hint)
        if isinstance(error, LochanError):
            return Failure(messages.WRONG, error.message, error.hint)
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "bad_alloc" in str(error):
            memory = format_size(self._request.memory_bytes)
            return Failure(messages.LIMIT, f"{self._name}: reading it takes more than its {memory} of memory")
        if isinstance(error, RecursionError):
            return Failure(messages.WRONG, f"{self._name}: it is nested too deeply")
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        trace = "".join(traceback.format_exception(error))[-4_000:]
        return Failure(messages.UNEXPECTED, f"{self._name}: it cannot be read: {reason}", trace=trace)

    def _next_file(self) -> Input | None:
        """Returns the next file, or None if there are no more."""
        message, file = self._channel.receive_with_file(messages.REQUEST_BYTES_MAX)
        if message.kind == messages.END or file is None:
            return None
        request = _files.decode(message.data)
        self._name = request.name
        self._columns = pa.ipc.open_stream(request.path_columns).read_next_batch() if request.path_columns else None
        path = f"/dev/fd/{file}"
        return Input(request.name, partial(io.FileIO, path), request.size, path)

    def _options(self) -> LoaderOptions:
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
            self._channel.send(messages.READ, encode(self._unsaid))
            self._unsaid = 0

    def _send_file(self, file: Path) -> None:
        """Sends a data object, some rows at a time."""
        with pq.ParquetFile(file) as source:
            metadata = source.metadata
            size = sum(metadata.row_group(each).total_byte_size for each in range(metadata.num_row_groups))
            rows = max(1, min(_BATCH_ROWS, metadata.num_rows * 4 * PIECE_BYTES // max(1, size)))
            for batch in source.iter_batches(batch_size=rows):
                self._send_batch(batch)

    def _send_batch(self, batch: pa.RecordBatch) -> None:
        for piece in batch_pieces(batch.replace_schema_metadata(None)):
            self._channel.send(messages.BATCH, piece)


_requests = msgspec.msgpack.Decoder(DecodeRequest)
_files = msgspec.msgpack.Decoder(FileRequest)
