"""One input into a load, by its format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.avro import avro_rows
from lochan.engines.duckdb.load.csv_table import CsvTable
from lochan.engines.duckdb.load.elements import elements
from lochan.engines.duckdb.load.lines import Lines, lines
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.streams import Input, Unpacked
from lochan.engines.duckdb.load.tabular import BATCH_ROWS, batches_of
from lochan.engines.duckdb.load.xml_rows import xml_rows
from lochan.engines.duckdb.session import Session
from lochan.errors import Invalid
from lochan.pools.faults import Faults
from lochan.pools.input_format import TSV, detect
from lochan.pools.json_row import Row

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import How

LINE = "line"  # the field of rows that are lines of text


class Plain(NamedTuple):
    """Lines that are no JSON but text."""

    lines: Lines


Chunk: TypeAlias = Lines | Plain | pa.RecordBatch | list[Row]


class Room(Protocol):
    """What reading needs beside the bytes."""

    session: Session
    faults: Faults

    @property
    def folder(self) -> Path:
        """For files that last as long as the load."""


def read_input(loader: Loader, input: Input, how: How) -> None:
    """Raises Invalid."""
    for chunk in chunks(loader, input, how):
        take(loader, chunk)


def take(loader: Loader, chunk: Chunk) -> None:
    match chunk:
        case Lines():
            loader.take(chunk)
        case Plain(lines):
            loader.take_batch(_as_column(loader.readable(lines)))
        case pa.RecordBatch():
            loader.take_batch(chunk)
        case rows:
            loader.take_rows(rows)


def chunks(room: Room, input: Input, how: How) -> Iterator[Chunk]:
    """Raises Invalid."""
    with Unpacked(input, how.advance, how.unpacked_bytes_max) as stream:
        format = how.format or detect(input.name, stream.head)
        match format:
            case "ndjson":
                yield from lines(input.name, stream)
            case "json":
                yield from elements(input.name, stream)
            case "csv" | "tsv":
                yield from _csv_chunks(room, input, stream, "\t" if format == TSV else ",", typed=how.typed)
            case "lines":
                yield from map(Plain, lines(input.name, stream))
            case "avro":
                yield from avro_rows(input.name, stream)
            case "xml":
                yield from xml_rows(input.name, _on_disk(input, stream, room.folder), how.row_tag)
            case _:
                yield from _batches(format, input, stream, room.folder)


def _csv_chunks(room: Room, input: Input, stream: Unpacked, delimiter: str, *, typed: bool) -> Iterator[Chunk]:
    table = CsvTable(room.session, input.name, stream, delimiter, room.faults, typed=typed)
    yield from table.batches()
    if table.kept:
        yield table.kept


def _as_column(chunk: Lines) -> pa.RecordBatch:
    """Each line without its end."""
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(chunk.texts, r"\r?\n$", "")
    return pa.RecordBatch.from_arrays([texts], [LINE])


def _batches(format: str, input: Input, stream: Unpacked, folder: Path) -> Iterator[pa.RecordBatch]:
    """Of formats that have columns."""
    with no_whole_file(format, input.name):
        if format == "parquet":
            with _seekable(input, stream, folder) as source:
                yield from pq.ParquetFile(source).iter_batches(batch_size=BATCH_ROWS)
        elif format == "orc":
            with _seekable(input, stream, folder) as source:
                yield from stripes(source)
        elif stream.head.startswith(b"ARROW1"):
            with _seekable(input, stream, folder) as source:
                reader = pa.ipc.open_file(source)
                yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            yield from pa.ipc.open_stream(pa.PythonFile(stream, "r"))


def stripes(source: Any) -> Iterator[pa.RecordBatch]:
    """Of an ORC file."""
    from pyarrow import orc

    file = orc.ORCFile(source)
    for number in range(file.nstripes):
        yield from batches_of(file.read_stripe(number))


@contextmanager
def no_whole_file(format: str, name: str) -> Iterator[None]:
    """Raises Invalid for what is damaged."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = str(error).partition("\n")[0]
        raise Invalid(f"{name}: this is no whole {format} file: {said}", hint="nothing was loaded") from error


def _seekable(input: Input, stream: Unpacked, folder: Path) -> Any:
    """Where the end can be read first."""
    return pa.OSFile(str(_on_disk(input, stream, folder)))


def _on_disk(input: Input, stream: Unpacked, folder: Path) -> Path:
    """The file itself, or a copy in the load's own folder."""
    if input.file and stream.packing is None:
        return Path(input.file)
    copy = folder / "copy"
    with copy.open("wb") as file:
        while piece := stream.read(4 << 20):
            file.write(piece)
    return copy
