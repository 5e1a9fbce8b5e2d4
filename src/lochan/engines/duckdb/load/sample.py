"""The first rows of an input, to see what is in it."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.avro import avro_rows
from lochan.engines.duckdb.load.elements import elements
from lochan.engines.duckdb.load.lines import Lines, lines
from lochan.engines.duckdb.load.reading import stripes
from lochan.engines.duckdb.load.streams import Input, Unpacked
from lochan.engines.duckdb.load.tabular import rows_of
from lochan.errors import Invalid
from lochan.pools.input_format import HEAD_BYTES, detect
from lochan.pools.json_row import BadRow, Row, read_row

ROWS = 1_000


def sample(input: Input, format: str | None) -> list[Row]:
    """None where they cannot be read: who reads all of them will say why."""
    with (
        suppress(Invalid, OSError, StopIteration, pa.ArrowException, csv.Error),
        Unpacked(input, lambda _: None) as stream,
    ):
        match format or detect(input.name, stream.head):
            case "ndjson":
                return _rows(next(lines(input.name, stream, HEAD_BYTES), None))
            case "json":
                return _rows(next(elements(input.name, stream, HEAD_BYTES), None))
            case "csv" | "tsv" as format:
                return _csv_rows(stream.head, "\t" if format == "tsv" else ",")
            case "parquet" if input.file and stream.packing is None:
                return rows_of(next(pq.ParquetFile(input.file).iter_batches(batch_size=ROWS)))
            case "avro":
                found = next(avro_rows(input.name, stream))
                return found[:ROWS] if isinstance(found, list) else rows_of(found.slice(0, ROWS))
            case "orc" if input.file and stream.packing is None:
                return rows_of(next(stripes(input.file)).slice(0, ROWS))
            case "arrow" if not stream.head.startswith(b"ARROW1"):
                return rows_of(next(iter(pa.ipc.open_stream(pa.PythonFile(stream, "r")))).slice(0, ROWS))
    return []


def _csv_rows(head: bytes, delimiter: str) -> list[Row]:
    text = head.decode("utf-8-sig", errors="replace")
    found = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))[:ROWS]
    return [dict(row) for row in (found[:-1] or found)]  # the last may be cut


def _rows(found: Lines | None) -> list[Row]:
    rows = []
    for number in islice(range(len(found.texts) if found else 0), ROWS):
        assert found is not None
        with suppress(BadRow, UnicodeDecodeError):
            rows.append(read_row(found.bytes_of(number).decode()))
    return rows
