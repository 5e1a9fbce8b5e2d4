"""Reads the first rows of an input, and suggests a key for them: a time that most of them have, because rows are
usually queried by time."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from lochan.engines.duckdb.load.decode import decoded_chunks
from lochan.errors import LochanError
from lochan.formats.pool_settings import Path as FieldPath
from lochan.formats.pool_settings import path_text
from lochan.ingest.input_format import HEAD_BYTES, detect
from lochan.ingest.lines import Lines, json_elements, lines
from lochan.ingest.streams import Input, UnpackedStream
from lochan.ingest.tabular import rows_of
from lochan.pools import times
from lochan.pools.json_row import BadRow, Row, read_row
from lochan.store.scratch import place

ROWS = 1_000
_STREAM_BYTES = 1 << 20  # how much of a stream is used, because it can be read only once
MOST = 0.9  # the share of the rows that must have the suggested key
_NAMES = ("ts", "_ts", "time", "_time", "timestamp", "@timestamp", "datetime", "date", "event_time", "created_at")
_TEXT, _NUMBER = "text", "number"


def sample(input: Input, format: str | None) -> list[Row]:
    """Returns the first rows. There are none if they cannot be read: the load itself will report why."""
    with (
        suppress(LochanError, OSError, ValueError, ArithmeticError, pa.ArrowException, csv.Error),
        UnpackedStream(input, lambda _: None) as stream,
    ):
        match format or detect(input.name, stream.head):
            case "ndjson":
                return _rows(next(lines(input.name, stream, HEAD_BYTES), None))
            case "json":
                return _rows(next(json_elements(input.name, stream, HEAD_BYTES), None))
            case "csv":
                return _csv_rows(stream.head, ",")
            case "tsv":
                return _csv_rows(stream.head, "\t")
            case "lines":
                return []
            case format:
                return _decode_first(input, stream, format)
    return []


def _decode_first(input: Input, stream: UnpackedStream, format: str) -> list[Row]:
    """Returns the first rows that a decoder sends. Only the beginning of a stream is available."""
    from lochan.engines.duckdb.load.load import STANDARD

    with tempfile.TemporaryDirectory(prefix="lochan-", dir=place()) as folder:
        if not input.file:
            head = Path(folder) / "head"
            head.write_bytes(stream.read(_STREAM_BYTES))
            input = input._replace(file=str(head))
        with closing(decoded_chunks(input, format, STANDARD, Path(folder))) as chunks:
            found = next(chunks, [])
    return found[:ROWS] if isinstance(found, list) else rows_of(found.slice(0, ROWS))


def _csv_rows(head: bytes, delimiter: str) -> list[Row]:
    text = head.decode("utf-8-sig", errors="replace")
    found = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))[:ROWS]
    return [dict(row) for row in (found[:-1] or found)]  # because the last row may be cut


def _rows(found: Lines | None) -> list[Row]:
    rows = []
    for number in islice(range(len(found.texts) if found else 0), ROWS):
        assert found is not None
        with suppress(BadRow, UnicodeDecodeError):
            rows.append(read_row(found.bytes_of(number).decode()))
    return rows


def suggest(rows: Sequence[Row]) -> str:
    """Returns the key as on the command line, such as `ts:time`. It is empty if no key can be suggested."""
    seen = Counter(found for row in rows for found in _candidates(row))
    often = [found for found, count in seen.items() if count >= MOST * len(rows)]
    if not often:
        return ""
    path, kind = min(often, key=lambda found: (_rank(found[0]), found[1] == _NUMBER))
    return path_text(path) + (":time" if kind == _TEXT else "")


def _candidates(row: Row, above: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    for name, value in row.items():
        path = (*above, name)
        if isinstance(value, dict):
            yield from _candidates(value, path)
        elif _is_time(value):
            yield path, _TEXT
        elif isinstance(value, int | float) and not isinstance(value, bool) and name.lower() in _NAMES:
            yield path, _NUMBER


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime) or (isinstance(value, str) and times.format_of(value) is not None)


def _rank(path: FieldPath) -> tuple[int, int]:
    """Returns the rank of a path. Outer fields come before inner ones, and usual names before others."""
    name = path[-1].lower()
    return len(path), _NAMES.index(name) if name in _NAMES else len(_NAMES)
