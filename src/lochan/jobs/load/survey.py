"""A look at the files before they are read: what they are, and some rows from all over them.

The rows only tell where to cut the keys. If they tell badly, some task has more to do than the others.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.read_input import Chunk, PlainLines
from lochan.engines.duckdb.load.sample import sample
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.input_format import CSV, LINES, TSV, detect
from lochan.ingest.lines import Lines, lines
from lochan.ingest.streams import UnpackedStream
from lochan.jobs.load.file_splits import OwnLines, middle
from lochan.jobs.load.files import File, SurveyedFile
from lochan.pools.json_row import Row

_AT_ONCE = 16
_SPOT_BYTES, _SPOT_ROWS = 32 << 10, 100
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def survey(files: Sequence[File], format: str | None) -> list[SurveyedFile]:
    """Raises Invalid if the format of a file cannot be told."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(partial(_look, format=format), files))


def some_rows(
    files: Sequence[SurveyedFile], spots: int, settings: PoolSettings, *, typed: bool = True
) -> Iterator[Chunk]:
    """From places that are as far from each other, in bytes."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        names = [key.path[0] for key in settings.keys if key.path]
        found = threads.map(lambda spot: _rows(spot[0], spot[1], names, typed), _spots(files, spots))
        yield from _together(list(chain.from_iterable(found)))


def _together(chunks: list[Chunk]) -> Iterator[Chunk]:
    """All lines as one: each chunk costs its reader a statement."""
    found = [chunk for chunk in chunks if isinstance(chunk, Lines)]
    if found:
        texts = pa.concat_arrays([each.texts.cast(pa.binary()) for each in found]).view(pa.string())
        yield Lines("", texts, all(each.valid for each in found), 1)
    yield from (chunk for chunk in chunks if not isinstance(chunk, Lines))


def _look(file: File, format: str | None) -> SurveyedFile:
    with UnpackedStream(file.as_input(), lambda _: None) as stream:
        return SurveyedFile(file, format or detect(file.name, stream.head), stream.packing is not None)


def _spots(files: Sequence[SurveyedFile], count: int) -> Iterator[tuple[SurveyedFile, list[int]]]:
    """Of each file that has any, the places in it."""
    ends = np.cumsum([seen.file.size for seen in files], dtype=np.int64)
    total = int(ends[-1])
    at = (np.arange(count, dtype=np.int64) * 2 + 1) * total // (2 * count)
    which = np.searchsorted(ends, at, side="right")
    for number in np.unique(which):
        seen = files[number]
        yield seen, (at[which == number] - (ends[number] - seen.file.size)).tolist()


def _rows(seen: SurveyedFile, spots: list[int], names: Sequence[str], typed: bool) -> list[Chunk]:
    match seen.format:
        case "ndjson" | "lines" if not seen.packed:
            return _lines_at(seen, spots)
        case "parquet" if not seen.packed:
            return _columns_at(seen, spots, names)
        case "csv" | "tsv" if not seen.packed:
            return [_csv_at(seen, spots, typed)]
    rows = sample(seen.file.as_input(), seen.format)[: _SPOT_ROWS * len(spots)]
    if seen.format in (CSV, TSV) and typed:
        rows = [{name: _value(text) for name, text in row.items()} for row in rows]
    return [rows]


def _lines_at(seen: SurveyedFile, spots: list[int]) -> list[Chunk]:
    found: list[Chunk] = []
    with seen.file.open() as stream:
        for at in spots:
            own = OwnLines(stream, at, at + _SPOT_BYTES)
            for chunk in islice(lines("", own, 2 * _SPOT_BYTES), 1):
                few = chunk.taken(np.arange(min(len(chunk.texts), _SPOT_ROWS)))
                found.append(PlainLines(few) if seen.format == LINES else few)
    return found


def _columns_at(seen: SurveyedFile, spots: list[int], names: Sequence[str]) -> list[Chunk]:
    """Of row groups. A file that cannot be read is reported by whoever reads all of it."""
    found: list[Chunk] = []
    try:
        with seen.file.open() as stream:
            file = pq.ParquetFile(stream)
            if not file.num_row_groups:
                return []
            middles = np.array([middle(file.metadata.row_group(each)) for each in range(file.num_row_groups)])
            chosen = [name for name in names if name in file.schema_arrow.names]
            for group in np.unique(np.abs(middles[:, None] - np.array(spots)).argmin(axis=0)):
                rows = _SPOT_ROWS * len(spots)
                batches = file.iter_batches(batch_size=rows, row_groups=[int(group)], columns=chosen)
                found += islice(batches, 1) if chosen else []
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        pass
    return found


def _csv_at(seen: SurveyedFile, spots: list[int], typed: bool) -> list[Row]:
    """A line may end inside of quotes: such a row is wrong, and hardly matters here."""
    delimiter = "\t" if seen.format == TSV else ","
    with seen.file.open() as stream:
        names = next(csv.reader(io.StringIO(_text(stream.read(_SPOT_BYTES))), delimiter=delimiter), [])
        rows: list[Row] = []
        for at in spots:
            own = OwnLines(stream, at or 1, at + _SPOT_BYTES)
            texts = io.StringIO(_text(own.read(_SPOT_BYTES)), newline="")
            for values in islice(csv.reader(texts, delimiter=delimiter, strict=False), _SPOT_ROWS):
                rows.append({name: _value(text) if typed else text for name, text in zip(names, values, strict=False)})
    return rows


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace").replace("\0", "")


def _value(text: Any) -> Any:
    """As the column would be if all of its values were of that kind."""
    if not text:
        return None
    if text in ("true", "false"):
        return text == "true"
    return float(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else text
