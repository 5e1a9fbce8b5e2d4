"""Rows as pieces of bytes, made on the query's thread and taken by the event loop."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.result import Result

_AHEAD = 2  # one is sent while another is made
PIECE_BYTES = 1 << 20
_SLICE_BYTES = 256 << 10  # of rows in memory; as text they are some times as large
Put = Callable[[bytes], None]
Count = Callable[[int], None]


class QueryUnwanted(Exception):
    """Nobody takes them any more."""


class ByteQueue:
    """Made on the loop that takes from it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._made: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._unwanted = False

    def put(self, piece: bytes) -> None:
        """On the thread. Raises Unwanted."""
        self._room.acquire()
        if self._unwanted:
            self._room.release()
            raise QueryUnwanted
        self._tell(piece)

    def end(self) -> None:
        """On the thread, once; also where it was broken off."""
        self._tell(None)

    async def take(self) -> bytes | None:
        """None at the end, and from then on."""
        piece = await self._made.get()
        if piece is None:
            self._made.put_nowait(None)
        else:
            self._room.release()
        return piece

    def refuse(self) -> None:
        """From any thread: whoever makes them is told when they have made the next."""
        self._unwanted = True
        self._room.release()

    def drop(self) -> None:
        """Those that nobody has taken, once it has ended. On the loop."""
        while not self._made.empty():
            self._made.get_nowait()
        self._made.put_nowait(None)

    def _tell(self, piece: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._made.put_nowait, piece)
        except RuntimeError:  # the loop has ended, and the process with it
            raise QueryUnwanted from None


def write(result: Result, form: str, limit: int | None, put: Put, count: Count) -> None:
    """To its end, or until so many rows; `count` is told how many were written. What is put before an error ends in the
    midst of the form, never with its last bytes."""
    from lochan.query.output import formats

    if form not in formats.TEXTS:
        sink = _Sink(put)
        formats.write(form, sink.until_broken(_limited(result.batches(), limit, count)), result.row, sink)
        sink.end()
        return
    rows = _sliced(_limited(result.batches(), limit, count))
    for piece in formats.TEXTS[form](rows, result.row):
        put(piece)


def _limited(batches: Iterator[pa.RecordBatch], limit: int | None, count: Count) -> Iterator[pa.RecordBatch]:
    left = limit
    if left == 0:
        return
    for batch in batches:
        taken = batch if left is None else batch.slice(0, left)
        yield taken
        count(taken.num_rows)
        if left is not None:
            left -= taken.num_rows
            if not left:
                return


def _sliced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = max(1, _SLICE_BYTES * batch.num_rows // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class _Sink(io.BytesIO):
    """A file for writers that want one. Nothing is kept in it."""

    def __init__(self, put: Put) -> None:
        super().__init__()
        self._put = put
        self._held = bytearray()
        self._broken = False

    def until_broken(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A writer that is closed by an error writes an end that must not get out. Rows that were written do not wait
        for the next ones."""
        try:
            for batch in batches:
                yield batch
                self.end()
        except BaseException:
            self._broken = True
            raise

    def write(self, data: Any, /) -> int:
        if not self._broken:
            self._held += data
            while len(self._held) >= PIECE_BYTES:
                self._put(bytes(self._held[:PIECE_BYTES]))
                del self._held[:PIECE_BYTES]
        return len(data)

    def end(self) -> None:
        if self._held:
            self._put(bytes(self._held))
            self._held.clear()
