"""One input into a load, by its format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.csv_table import CsvTable
from lochan.engines.duckdb.load.elements import elements
from lochan.engines.duckdb.load.lines import Lines, lines
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.streams import Input, Unpacked
from lochan.engines.duckdb.load.tabular import BATCH_ROWS
from lochan.errors import Invalid
from lochan.pools.input_format import TSV, detect

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import How

LINE = "line"  # the field of rows that are lines of text


def read_input(loader: Loader, input: Input, how: How) -> None:
    """Raises Invalid."""
    with Unpacked(input, how.advance, how.unpacked_bytes_max) as stream:
        format = how.format or detect(input.name, stream.head)
        match format:
            case "ndjson":
                for chunk in lines(input.name, stream):
                    loader.take(chunk)
            case "json":
                for chunk in elements(input.name, stream):
                    loader.take(chunk)
            case "csv" | "tsv":
                _read_csv(loader, input, stream, "\t" if format == TSV else ",")
            case "lines":
                for chunk in lines(input.name, stream):
                    loader.take_batch(_as_column(loader.readable(chunk)))
            case _:
                for batch in _batches(format, input, stream, loader.folder):
                    loader.take_batch(batch)


def _read_csv(loader: Loader, input: Input, stream: Unpacked, delimiter: str) -> None:
    table = CsvTable(loader.session, input.name, stream, delimiter, loader.faults)
    for batch in table.batches():
        loader.take_batch(batch)
    if table.kept:
        loader.take_rows(table.kept)


def _as_column(chunk: Lines) -> pa.RecordBatch:
    """Each line without its end."""
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(chunk.texts, r"\r?\n$", "")
    return pa.RecordBatch.from_arrays([texts], [LINE])


def _batches(format: str, input: Input, stream: Unpacked, folder: Path) -> Iterator[pa.RecordBatch]:
    """Of Parquet and Arrow. Raises Invalid for what is damaged."""
    try:
        if format == "parquet":
            with _seekable(input, stream, folder) as source:
                yield from pq.ParquetFile(source).iter_batches(batch_size=BATCH_ROWS)
        elif stream.head.startswith(b"ARROW1"):
            with _seekable(input, stream, folder) as source:
                reader = pa.ipc.open_file(source)
                yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            yield from pa.ipc.open_stream(pa.PythonFile(stream, "r"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = str(error).partition("\n")[0]
        raise Invalid(f"{input.name}: this is no whole {format} file: {said}", hint="nothing was loaded") from error


def _seekable(input: Input, stream: Unpacked, folder: Path) -> Any:
    """Where the end can be read first: the file itself, or a copy in the load's own folder."""
    if input.file and stream.packing is None:
        return pa.OSFile(input.file)
    copy = folder / "copy"
    with copy.open("wb") as file:
        while piece := stream.read(4 << 20):
            file.write(piece)
    return pa.OSFile(str(copy))
