"""The rows of a piece, by the embedded readers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.load import LoadOptions
from lochan.engines.duckdb.load.read_input import Chunk, Plain, ReadContext, chunks, no_whole_file
from lochan.ingest.input_format import LINES, PARQUET
from lochan.ingest.lines import Lines, lines
from lochan.ingest.tabular import BATCH_ROWS, checked
from lochan.jobs.load.files import Seen
from lochan.jobs.load.pieces import OwnLines, Piece, middle
from lochan.jobs.load.places import Places, at_bytes, on_lines


def rows_of(room: ReadContext, seen: Seen, piece: Piece, how: LoadOptions) -> Iterator[Chunk]:
    """Lines with places that name the file too. Raises Invalid, and Conflict where the file has changed."""
    seen.file.check_same()
    if piece.whole:
        found = chunks(room, seen.file.as_input(), how._replace(format=seen.format))
        yield from (_on_lines(piece.file, chunk) for chunk in found)
    elif seen.format == PARQUET:
        yield from _row_groups(seen, piece)
    else:
        yield from _own_lines(seen, piece)
    seen.file.check_same()


def _on_lines(file: int, chunk: Chunk) -> Chunk:
    match chunk:
        case Lines():
            numbers = np.arange(len(chunk.texts)) + chunk.first if chunk.places is None else chunk.places
            return _placed(chunk, on_lines(file, numbers))
        case Plain(found):
            placed = _on_lines(file, found)
            assert isinstance(placed, Lines)
            return Plain(placed)
    return chunk


def _own_lines(seen: Seen, piece: Piece) -> Iterator[Chunk]:
    with seen.file.open() as stream:
        own = OwnLines(stream, piece.begin, piece.end)
        at = own.begin
        for chunk in lines("", own):
            offsets = np.frombuffer(chunk.texts.buffers()[1], dtype=np.int32)[: len(chunk.texts) + 1].astype(np.int64)
            placed = _placed(chunk, at_bytes(piece.file, offsets[:-1] + at))
            at += int(offsets[-1])
            yield Plain(placed) if seen.format == LINES else placed


def _placed(chunk: Lines, places: Places) -> Lines:
    return chunk._replace(name="", first=1, places=places)


def _row_groups(seen: Seen, piece: Piece) -> Iterator[pa.RecordBatch]:
    """Those whose middle is in the piece. Read here and by no decoder: a worker of Spark is a process of its own
    already, and only the parts of the file that are needed come from its store."""
    with seen.file.open() as stream, no_whole_file(PARQUET, seen.file.name):
        file = pq.ParquetFile(stream)
        wanted = [
            number
            for number in range(file.num_row_groups)
            if piece.begin <= middle(file.metadata.row_group(number)) < piece.end
        ]
        if wanted:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=wanted):
                yield checked(seen.file.name, batch)
