"""Takes the lines of a long input in one statement, which proves them, sorts them, and writes them as an object.

    file ──▶ batches of lines ──▶ proof, sort, zstd ──▶ object

Otherwise rows are inserted into a table, and read from it to be sorted, which takes a seventh of the processor time. So
it must be known beforehand that rows are alike: the first ones are taken as usual, until some of them hold no surprise.
A later row that cannot be proven is marked in the file, which then counts as staged rows: its line is read again and
taken as usual. If the engine refuses a line because it is not JSON, the input is read again from the row where the pass
began. So the input must be a file, and one object must have room for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeGuard

import duckdb
import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.loader import Loader
from lochan.errors import Invalid
from lochan.ingest.input_format import HEAD_BYTES, packing
from lochan.ingest.lines import Lines
from lochan.ingest.streams import Input

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.read_input import Chunk

_BYTES_MIN = 8 << 20  # for fewer bytes, it is not worth it
_TRIAL_ROWS = 16_384
_TRIALS = 4  # how often rows are taken as usual, until they hold no surprise
_SLICE_ROWS = 16_384  # the rows of a batch, which one thread takes
_UNPACKED = 16  # the greatest ratio that is likely for a packed file
_LINES_MAX = (1 << 31) - 1  # a row is marked by the number of its line, in the column of shapes
_SCHEMA = pa.schema([("n", pa.int64()), ("line", pa.string())])


def single_pass(
    loader: Loader, input: Input, found: Iterator[Chunk], again: Callable[[], Iterator[Chunk]]
) -> Iterator[Chunk]:
    """Takes what it can of the input's chunks, and yields those that are left to be taken as usual. `again` reads the
    input from its start. REQUIRES: the input is a file."""
    first = next(found, None)
    if first is None:
        return iter(())
    if not _is_worth_it(first):
        return chain([first], found)
    assert isinstance(first, Lines)
    rest, alike = _tried(loader, first)
    bytes_max = loader.passes_bytes_max
    if not alike or _text_bytes(input) > bytes_max:
        return chain([rest], found)
    return _passed(loader, _Pieces(chain([rest], found), bytes_max), rest.first, again)


def _is_worth_it(chunk: Chunk) -> bool:
    return isinstance(chunk, Lines) and chunk.valid and chunk.places is None and chunk.texts.nbytes >= _BYTES_MIN


def _text_bytes(input: Input) -> int:
    """Returns about how many bytes the input's rows have."""
    with input.open() as file:
        packed = packing(file.read(HEAD_BYTES)) is not None
    return (input.size or 0) * (_UNPACKED if packed else 1)


def _tried(loader: Loader, lines: Lines) -> tuple[Lines, bool]:
    """Takes some lines as usual. Returns those that are left, and whether the last ones held no surprise."""
    loader.learn(lines)
    for _ in range(_TRIALS):
        if len(lines.texts) <= _TRIAL_ROWS:
            break
        before = loader.inferred
        loader.take(lines.part(0, _TRIAL_ROWS))
        lines = lines.part(_TRIAL_ROWS, len(lines.texts))
        if loader.inferred == before:
            return lines, True
    return lines, False


def _passed(loader: Loader, pieces: _Pieces, begin: int, again: Callable[[], Iterator[Chunk]]) -> Iterator[Chunk]:
    reader = pa.RecordBatchReader.from_batches(_SCHEMA, pieces.batches())
    missed = None
    try:
        missed = loader.pass_lines(reader, lambda: pieces.size)
    except Exception as error:
        if pieces.error is not None:
            raise pieces.error from None  # because the engine reports it in its own way
        if not isinstance(error, duckdb.InvalidInputException):
            raise
    if missed is None:
        return _since(again(), begin)
    return chain(_missed(again, missed), pieces.left, pieces.rest) if missed else chain(pieces.left, pieces.rest)


class _Pieces:
    """Chunks as batches of numbered lines, up to a number of bytes. Blank lines are left out. The engine requests one
    after the other, from any of its threads."""

    def __init__(self, chunks: Iterator[Chunk], bytes_max: int) -> None:
        self.rest = chunks
        self.left: list[Chunk] = []  # chunks that were read, but are not among the batches
        self.error: BaseException | None = None  # the reason why the batches ended too early
        self.size = 0
        self._bytes_max = bytes_max

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for chunk in self.rest:
                if not self._fits(chunk):
                    self.left.append(chunk)
                    return
                yield from _batches(chunk)
        except BaseException as error:
            self.error = error
            raise

    def _fits(self, chunk: Chunk) -> TypeGuard[Lines]:
        if not isinstance(chunk, Lines) or not chunk.valid or chunk.first + len(chunk.texts) > _LINES_MAX:
            return False
        self.size += chunk.texts.nbytes
        return self.size <= self._bytes_max


def _batches(lines: Lines) -> Iterator[pa.RecordBatch]:
    texts, numbers = lines.texts, np.arange(len(lines.texts), dtype=np.int64) + lines.first
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    blank = [int(at) for at in np.flatnonzero(np.diff(offsets) <= 2) if not lines.bytes_of(int(at)).strip()]
    if blank:
        kept = np.delete(np.arange(len(texts)), blank)
        texts, numbers = lines.taken(kept).texts, numbers[kept]
    for at in range(0, len(texts), _SLICE_ROWS):
        end = at + _SLICE_ROWS
        yield pa.RecordBatch.from_arrays([pa.array(numbers[at:end]), texts[at:end]], schema=_SCHEMA)


def _since(chunks: Iterator[Chunk], first: int) -> Iterator[Chunk]:
    """Yields the lines from that number on."""
    for chunk in chunks:
        assert isinstance(chunk, Lines)
        behind = first - chunk.first
        if behind < len(chunk.texts):
            yield chunk.part(max(0, behind), len(chunk.texts))


def _missed(again: Callable[[], Iterator[Chunk]], numbers: Sequence[int]) -> Iterator[Chunk]:
    """Yields the lines of these numbers, which ascend."""
    wanted, done, name = np.array(numbers, dtype=np.int64), 0, ""
    for chunk in again():
        assert isinstance(chunk, Lines)
        name = chunk.name
        end = int(np.searchsorted(wanted, chunk.first + len(chunk.texts)))
        if end > done:
            yield chunk.taken(wanted[done:end] - chunk.first)
            done = end
        if done == len(wanted):
            return
    raise Invalid(f"{name}: the file has changed while it was being read", hint="nothing was loaded")
