"""Reads users' files through a decoder (`ingest`), and checks what it sends.

`decoded_chunks` streams the rows of one file, for a load. `DecodedFiles` returns data objects of all rows of some
files, for a query: then only finished columns ever enter this process.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.limits import LimitReached, Limits, cancelled_error, format_size, out_of_time
from lochan.engines.duckdb.load.decode_child import CHUNKS, OBJECTS, DecodeRequest, FileRequest
from lochan.engines.duckdb.load.objects import WrittenObject
from lochan.errors import Invalid, LochanError
from lochan.ingest import channel as messages
from lochan.ingest.channel import (
    Failure,
    InvalidBatch,
    InvalidRows,
    Message,
    TooLong,
    encode,
    unpack_rows,
    validated_batch,
)
from lochan.ingest.decoder import Decoder, DecoderDied, DecoderKilled, fork_server
from lochan.ingest.process_limits import ProcessLimits
from lochan.ingest.streams import Growth, Input
from lochan.pools.facts import Facts
from lochan.pools.json_row import Row
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, columns
from lochan.store.scratch import make_folder

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import LoaderOptions
    from lochan.engines.duckdb.session import DuckSession

MODULE = "lochan.engines.duckdb.load.decode_child"
MESSAGE_BYTES_MAX = 64 << 20  # also the greatest size of a row that is sent by itself
_REQUEST = b"Q"
_FAILURE_TEXT_MAX = 1_000
_FILE_BYTES_MIN = 4 << 30
_HINT = "nothing was loaded"
_log = logging.getLogger("lochan.engines")


def warm() -> None:
    """Starts the fork server, so that the first decoder need not wait for it."""
    fork_server(MODULE).warm()


def decoded_chunks(
    input: Input, format: str, options: LoaderOptions, folder: Path | None = None, session: DuckSession | None = None
) -> Generator[pa.RecordBatch | list[Row], None, None]:
    """Reads a file on this machine's disk, in a binary format. Cancelling the session ends it. Raises Invalid,
    LimitReached."""
    with _scratch(folder) as room, _open(input.file) as (file, size):
        request = DecodeRequest(
            CHUNKS,
            _process_limits(options.limits, size, options.unpacked_bytes_max),
            str(room),
            options.limits.memory_bytes,
            format=format,
            unpacked_bytes_max=options.unpacked_bytes_max,
            row_tag=options.row_tag,
            row_groups=options.row_groups,
        )
        with _Conversation(request, session) as conversation:
            conversation.name = input.name
            conversation.send_file(file, size)
            yield from _chunks(conversation, options.advance)


def _chunks(conversation: _Conversation, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch | list[Row]]:
    while (message := conversation.receive()).kind != messages.DONE:
        if message.kind == messages.BATCH:
            yield conversation.batch(message)
        elif message.kind == messages.ROWS:
            yield conversation.rows(message)
        elif message.kind == messages.READ:
            advance(msgspec.msgpack.decode(message.data, type=int))
        else:
            raise conversation.protocol_error()


@contextmanager
def _scratch(folder: Path | None) -> Iterator[Path]:
    made = Path(make_folder(None if folder is None else str(folder)))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _open(path: str) -> Iterator[tuple[int, int]]:
    """Yields the descriptor of the file, opened for reading only, and its size."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield file, os.fstat(file).st_size
    finally:
        os.close(file)


class DecodedFiles:
    """Data objects of the rows of some files, in `folder`. The time limit runs from the start. Only one thread may use
    it, except for `cancel`."""

    def __init__(self, folder: Path, limits: Limits, size: int, *, typed: bool = True) -> None:
        """`size` is the size of all files, in bytes."""
        self._folder = folder
        self._scratch = Path(tempfile.mkdtemp(prefix="decode-", dir=folder))
        self._size = size
        self._made = 0
        process = _process_limits(limits, size, None)
        request = DecodeRequest(
            OBJECTS, process, str(self._scratch), limits.memory_bytes, limits.spill_bytes, typed=typed
        )
        try:
            self._conversation = _Conversation(request)
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        self._timer: threading.Timer | None = None
        if limits.seconds is not None:
            self._timer = threading.Timer(limits.seconds, self._conversation.kill, (out_of_time(limits),))
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> DecodedFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the decoder. Calling it again does nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self._conversation.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def cancel(self) -> None:
        """Cancels the work. May be called from any thread. Running methods then raise Cancelled."""
        self._conversation.kill()

    def take(self, name: str, path: Path, columns: pa.RecordBatch | None = None) -> None:
        """Takes all rows of that file, and adds the values of `columns`, a batch of one row, to each. Raises Invalid,
        LimitReached."""
        with _open(str(path)) as (file, size):
            self._conversation.name = name
            self._conversation.send_file(file, size, columns)
        if self._conversation.receive().kind != messages.TAKEN:
            raise self._conversation.protocol_error()

    def objects(self) -> Iterator[WrittenObject]:
        """Yields the data objects, once all files are taken. Raises Invalid, LimitReached."""
        self._conversation.send_end()
        growth = Growth(self._conversation.name, self._size)
        message = self._conversation.receive()
        while message.kind == messages.OBJECT:
            facts = self._facts(message)
            file = self._folder / f"rows{self._made}.parquet"
            self._made += 1
            message = self._written(file, facts, growth)
            yield WrittenObject(file, facts)
        if message.kind != messages.DONE:
            raise self._conversation.protocol_error()

    def _facts(self, message: Message) -> Facts:
        try:
            return _facts.decode(message.data)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._conversation.protocol_error() from error

    def _written(self, file: Path, facts: Facts, growth: Growth) -> Message:
        """Writes the rows, and returns the message after them."""
        layout = facts.layout()
        names = [SHAPE_COLUMN, *([BODY_COLUMN] if layout.body else []), *(name for name, _ in columns(layout))]
        names += [each.column for each in facts.decimals if each.column]
        writer: pq.ParquetWriter | None = None
        rows = 0
        try:
            while (message := self._conversation.receive()).kind == messages.BATCH:
                batch = self._conversation.batch(message)
                growth.take(0, batch.nbytes)
                if batch.schema.names != names or (writer is not None and not batch.schema.equals(writer.schema)):
                    raise self._conversation.protocol_error()
                writer = writer or pq.ParquetWriter(file, batch.schema, compression="snappy")
                writer.write_batch(batch)
                rows += batch.num_rows
        finally:
            if writer is not None:
                writer.close()
        if rows != facts.rows or writer is None:
            raise self._conversation.protocol_error()
        return message


class _Conversation:
    """The conversation with one decoder. `name` is the current file."""

    def __init__(self, request: DecodeRequest, session: DuckSession | None = None) -> None:
        self.name = "the file"
        self._memory = request.memory_bytes
        self._session = session
        self._why: LochanError | None = None  # why it was killed
        self._decoder: Decoder = fork_server(MODULE).start()
        if session is not None:
            session.stops.append(self._decoder.kill)
        self._decoder.send(_REQUEST, encode(request))

    def __enter__(self) -> _Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._session is not None and self._decoder.kill in self._session.stops:
            self._session.stops.remove(self._decoder.kill)
        self._decoder.close()

    def kill(self, why: LochanError | None = None) -> None:
        """Kills the decoder. May be called from any thread. Running methods then raise that error, or Cancelled."""
        self._why = self._why or why
        self._decoder.kill()

    def send_file(self, file: int, size: int, columns: pa.RecordBatch | None = None) -> None:
        self._decoder.send(messages.FILE, encode(FileRequest(self.name, size, _stream(columns))), file)

    def send_end(self) -> None:
        self._decoder.send(messages.END)

    def receive(self) -> Message:
        """Returns the next message. Raises Invalid, LimitReached or Cancelled, also for a message that reports an
        error."""
        try:
            message = self._decoder.receive(MESSAGE_BYTES_MAX)
        except DecoderKilled:
            raise self._why or (self._session and self._session.why) or cancelled_error() from None
        except DecoderDied as died:
            raise self._explained(died) from None
        except TooLong:
            raise LimitReached(
                f"{self.name}: a row of more than {format_size(MESSAGE_BYTES_MAX)}", hint="check the file"
            ) from None
        if message.kind == messages.ERROR:
            raise self._failed(message)
        return message

    def batch(self, message: Message) -> pa.RecordBatch:
        try:
            return validated_batch(message.data)
        except InvalidBatch as error:
            raise Invalid(f"{self.name}: it has invalid values: {error}", hint=_HINT) from error

    def rows(self, message: Message) -> list[Row]:
        try:
            return unpack_rows(message.data)
        except InvalidRows as error:
            raise self.protocol_error() from error

    def protocol_error(self) -> Invalid:
        """Returns the error for a message that the readers never send: the file must have taken over the decoder."""
        self._decoder.kill()
        _log.warning("the decoder of %r has sent an invalid message", self.name)
        return Invalid(f"{self.name}: it cannot be read: its decoder has failed", hint=_HINT)

    def _failed(self, message: Message) -> LochanError:
        try:
            failure = msgspec.msgpack.decode(message.data, type=Failure)
        except msgspec.MsgspecError:
            return self.protocol_error()
        if failure.kind == messages.UNEXPECTED:
            _log.warning("a file could not be read: %s", _plain(failure.message))
            _log.debug("%s", failure.trace)
        kind = LimitReached if failure.kind == messages.LIMIT else Invalid
        return kind(_plain(failure.message), hint=_plain(failure.hint) or _HINT)

    def _explained(self, died: DecoderDied) -> LochanError:
        if died.crashed:
            return Invalid(
                f"{self.name}: it cannot be read: its decoder has crashed ({died.name}), so the file is damaged, "
                f"or needs far more than {format_size(self._memory)} of memory",
                hint=_HINT,
            )
        what = "processor time" if died.signal == signal.SIGXCPU else "memory"
        return LimitReached(
            f"{self.name}: reading it takes more {what} than the limit allows",
            hint="allow more with --memory or --timeout",
        )


def _process_limits(limits: Limits, size: int, unpacked_bytes_max: int | None) -> ProcessLimits:
    file_bytes = max(_FILE_BYTES_MIN, 2 * Growth("", size, unpacked_bytes_max).bytes_max)
    seconds = None if limits.seconds is None else int(limits.seconds * (os.cpu_count() or 1)) + 2
    return ProcessLimits(limits.memory_bytes, file_bytes, seconds)


def _stream(batch: pa.RecordBatch | None) -> bytes:
    if batch is None or not batch.num_columns:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _plain(text: str) -> str:
    """Returns a decoder's text without control characters, cut to a reasonable length."""
    return "".join(each if each.isprintable() else " " for each in text[:_FAILURE_TEXT_MAX])


_facts = msgspec.msgpack.Decoder(Facts)
