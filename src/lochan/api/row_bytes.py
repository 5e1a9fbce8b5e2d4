"""The rows of a result as pieces of bytes, in the form that is asked for."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.result import Result

PIECE_BYTES = 1 << 20
_SLICE_BYTES = 256 << 10  # of rows in memory; as text they are some times as large
Put = Callable[[bytes], None]
Count = Callable[[int], None]


def write(result: Result, form: str, limit: int | None, put: Put, count: Count) -> None:
    """Until its end, or at most `limit` rows; `count` is called with the number of rows that were written. After an
    error, what was put ends in the middle of the form, never with its last bytes."""
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
