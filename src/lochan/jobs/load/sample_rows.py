"""The rows of a split that a sample is taken from: those at some bytes of it, or all of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.read_input import Chunk, PlainLines, ReadContext, damage_as_invalid
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.input_format import CSV, LINES, NDJSON, PARQUET, TSV
from lochan.ingest.lines import Lines, lines
from lochan.ingest.streams import UnpackedStream
from lochan.ingest.tabular import BATCH_ROWS, check_batch
from lochan.jobs.load.file_splits import FileSplit, OwnLines, middle, rows_of
from lochan.jobs.load.files import SurveyedFile
from lochan.pools.json_row import Row

SPOT_ROWS = 8  # rows at each spot
_SPOT_BYTES = 32 << 10
_SOUGHT = frozenset({NDJSON, LINES, CSV, TSV})
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class SpotRows(NamedTuple):
    chunk: Chunk
    weights: npt.NDArray[np.float64]  # the weight of each row; the rows of a spot have 1 together


def is_sought(split: FileSplit) -> bool:
    """Returns whether the file can be read from any byte."""
    return split.format in _SOUGHT and not split.packed


def some_of(chunk: Chunk, numbers: npt.NDArray[np.int64]) -> Chunk:
    match chunk:
        case Lines():
            return chunk.taken(numbers)
        case PlainLines(found):
            return PlainLines(found.taken(numbers))
        case pa.RecordBatch():
            return chunk.take(pa.array(numbers))
    return [chunk[number] for number in numbers.tolist()]


# --- rows at some bytes ----------------------------------------------------------------------------------------------
def rows_at(seen: SurveyedFile, spots: Sequence[int], *, typed: bool) -> Iterator[SpotRows]:
    """Yields the rows at these bytes. REQUIRES: the file can be read from any byte."""
    with seen.file.open() as stream:
        names = csv_names(stream.read(_SPOT_BYTES), seen.format)
        found = [_spot(stream, at, 1 if names else 0) for at in spots]  # after the line with the names
    found = [texts for texts in found if len(texts)]
    if not found:
        return
    weights = np.concatenate([np.full(len(texts), 1 / len(texts)) for texts in found])
    texts = pa.concat_arrays(found)
    if seen.format in (CSV, TSV):
        for rows in csv_forms(names, texts.to_pylist(), seen.format, typed=typed):
            yield SpotRows(rows, weights)
        return
    every = Lines("", texts.view(pa.string()), _is_text(texts), 1)
    yield SpotRows(PlainLines(every) if seen.format == LINES else every, weights)


def _spot(stream: IO[bytes], at: int, least: int) -> pa.BinaryArray:
    """Returns the next lines, or some before them at the end of the file."""
    for begin in (at, at - _SPOT_BYTES):
        own = OwnLines(stream, max(begin, least), at + _SPOT_BYTES)
        for chunk in islice(lines("", own, 2 * _SPOT_BYTES), 1):
            return chunk.texts.cast(pa.binary()).slice(0, SPOT_ROWS)
    return pa.array([], pa.binary())


def _is_text(texts: pa.BinaryArray) -> bool:
    try:
        texts.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def csv_forms(names: Sequence[str], found: Sequence[bytes], format: str, *, typed: bool) -> list[list[Row]]:
    """Returns rows of some lines, as their columns may become: texts, and numbers if all values of the file are
    numbers. That is not known yet, so there are parts for both. A line may end inside quotes: such a row is wrong, and
    one of few."""
    rows: list[Row] = [
        dict(zip(names, next(csv.reader([_text(line)], delimiter=_delimiter(format)), []), strict=False))
        for line in found
    ]
    values = [{name: _value(text) for name, text in row.items()} for row in rows] if typed else rows
    return [rows] if values == rows else [rows, values]


def csv_names(head: bytes, format: str) -> list[str]:
    return next(csv.reader(io.StringIO(_text(head)), delimiter=_delimiter(format)), []) if format in (CSV, TSV) else []


def _delimiter(format: str) -> str:
    return "\t" if format == TSV else ","


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace").replace("\0", "")


def _value(text: Any) -> Any:
    """Returns the value as the column would have it if all of its values were of that kind."""
    if not text:
        return None
    if text in ("true", "false"):
        return text == "true"
    return float(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else text


# --- all rows --------------------------------------------------------------------------------------------------------
def all_rows(
    room: ReadContext, seen: SurveyedFile, split: FileSplit, settings: PoolSettings, options: LoaderOptions
) -> Iterator[Chunk]:
    """Yields all rows; of a file with columns, only those of the key, and of a packed text its lines. Raises Invalid,
    and Conflict if the file has changed."""
    if seen.format == PARQUET and not seen.packed:
        yield from _key_columns(seen, split, settings)
    elif seen.format in _SOUGHT:
        yield from _packed_lines(seen, options)
    else:
        yield from rows_of(room, seen, split, options)


def _packed_lines(seen: SurveyedFile, options: LoaderOptions) -> Iterator[Chunk]:
    seen.file.check_same()
    with UnpackedStream(seen.file.as_input(), lambda _: None, options.unpacked_bytes_max) as stream:
        for chunk in lines(seen.file.name, stream):
            yield PlainLines(chunk) if seen.format == LINES else chunk


def _key_columns(seen: SurveyedFile, split: FileSplit, settings: PoolSettings) -> Iterator[Chunk]:
    with seen.file.open() as stream, damage_as_invalid(PARQUET, seen.file.name):
        file = pq.ParquetFile(stream)
        groups = [
            number
            for number in range(file.num_row_groups)
            if split.begin <= middle(file.metadata.row_group(number)) < split.end
        ]
        if groups:
            columns = _columns(file.schema_arrow.names, settings)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups, columns=columns):
                yield check_batch(seen.file.name, batch)


def _columns(there: Sequence[str], settings: PoolSettings) -> list[str] | None:
    """Returns the columns that the key needs, or any one column if the file has none of them; None if the key is the
    whole row."""
    if not all(key.path for key in settings.keys):
        return None
    return [key.path[0] for key in settings.keys if key.path[0] in there] or list(there[:1])
