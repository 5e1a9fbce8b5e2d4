"""Reads one input into a load, by its format."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.load.csv_table import CsvTable
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.single_pass import single_pass
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import Invalid
from lochan.ingest.arrow_batches import expand_batch
from lochan.ingest.avro import avro_rows
from lochan.ingest.hive_path import with_path_columns
from lochan.ingest.input_format import CSV, JSON, LINES, NDJSON, TSV, detect
from lochan.ingest.lines import Lines, json_elements, lines
from lochan.ingest.streams import Growth, Input, UnpackedStream
from lochan.ingest.tabular import BATCH_ROWS, check_batch
from lochan.ingest.xml import xml_rows
from lochan.pools.json_row import BadRow, Faults, Row, read_row

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import LoaderOptions

TEXTS = (NDJSON, JSON, CSV, TSV, LINES)  # these formats have no lengths that could be wrong on purpose
LINE = "line"  # the field of rows that are lines of text


class PlainLines(NamedTuple):
    """Lines of plain text."""

    lines: Lines


Chunk: TypeAlias = Lines | PlainLines | pa.RecordBatch | list[Row]


class ReadContext(Protocol):
    """What readers need besides the bytes."""

    @property
    def session(self) -> DuckSession: ...

    @property
    def faults(self) -> Faults: ...

    @property
    def folder(self) -> Path:
        """The folder for files of this load."""


@dataclass(frozen=True, slots=True)
class LocalReadContext:
    """The context for formats that need no engine."""

    folder: Path

    @property
    def session(self) -> DuckSession:
        raise AssertionError("CSV is not read here")

    @property
    def faults(self) -> Faults:
        raise AssertionError("CSV is not read here")


def read_input(loader: Loader, input: Input, options: LoaderOptions, *, alone: bool = False) -> None:
    """Reads an input into a load. `alone` means that it is the only input of the load. Raises Invalid."""
    with closing(chunks(loader, input, options)) as found:
        left: Iterator[Chunk] = found
        if alone and input.file and Path(input.file).is_file():  # not a pipe, which could not be read again
            again = partial(chunks, loader, input, options._replace(advance=lambda _: None))
            with impossible_as_invalid(input.name):
                left = single_pass(loader, input, found, again)
        for chunk in left:
            with impossible_as_invalid(input.name):
                take_chunk(loader, chunk)


@contextmanager
def impossible_as_invalid(name: str) -> Iterator[None]:
    """Raises Invalid if a file has values that no row of a pool can have."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ArithmeticError, UnicodeError) as error:
        reason = str(error).partition("\n")[0]
        raise Invalid(f"{name}: it has a value that no row can have: {reason}", hint="nothing was loaded") from error


def take_chunk(loader: Loader, chunk: Chunk) -> None:
    match chunk:
        case Lines():
            loader.take(chunk)
        case PlainLines(lines):
            loader.take_batch(_as_column(loader.readable(lines)))
        case pa.RecordBatch():
            loader.take_batch(chunk)
        case rows:
            loader.take_rows(rows)


def with_columns(loader: Loader, chunk: Chunk, row: pa.RecordBatch) -> Chunk:
    """Adds the columns of the file's path, in `row`, to all rows."""
    match chunk:
        case pa.RecordBatch():
            return with_path_columns(chunk, row)
        case PlainLines(lines):
            return with_path_columns(_as_column(loader.readable(lines)), row)
    rows = _rows_in(loader, chunk) if isinstance(chunk, Lines) else chunk
    values = row.to_pylist()[0]
    return chunk if rows is None else [{**each, **values} for each in rows]


def _rows_in(loader: Loader, lines: Lines) -> list[Row] | None:
    """Returns the rows of these lines, or None if one of them is not a row. The consumer of the chunk reports which."""
    try:
        return [read_row(text) for text in loader.readable(lines).texts.to_pylist() if text.strip()]
    except BadRow:
        return None


def chunks(context: ReadContext, input: Input, options: LoaderOptions) -> Generator[Chunk, None, None]:
    """Yields the chunks of an input in the caller's process. A decoder reads binary formats. Raises Invalid."""
    from lochan.engines.duckdb.load.decode import decoded_chunks

    with UnpackedStream(input, options.advance, options.unpacked_bytes_max) as stream:
        format = options.format or detect(input.name, stream.head)
        if format in TEXTS:
            yield from _text_chunks(context, input, stream, format, options)
            return
        if input.file:  # its first bytes were reported already, and are read again
            options = options._replace(advance=_but_for(stream.count, options.advance))
        else:
            input = input._replace(file=str(_on_disk(input, stream, context.folder)))
            options = options._replace(advance=lambda _: None)
    yield from decoded_chunks(input, format, options, context.folder, context.session)


def local_chunks(context: ReadContext, input: Input, options: LoaderOptions) -> Iterator[Chunk]:
    """Yields the chunks of an input of any format. It is for a decoder. Raises Invalid, and any error of a library for
    a damaged file."""
    with UnpackedStream(input, options.advance, options.unpacked_bytes_max) as stream:
        format = options.format or detect(input.name, stream.head)
        if format in TEXTS:
            yield from _text_chunks(context, input, stream, format, options)
            return
        growth = Growth(input.name, input.size or 0, options.unpacked_bytes_max)
        for chunk in _binary_chunks(context, input, stream, format, options):
            if isinstance(chunk, pa.RecordBatch):
                growth.take(chunk.num_rows, chunk.nbytes)
                yield from _grown(growth, expand_batch(check_batch(input.name, chunk)))
            else:
                growth.take(len(chunk), 0)
                yield chunk


def _grown(growth: Growth, parts: Iterator[pa.RecordBatch | list[Row]]) -> Iterator[Chunk]:
    for part in parts:
        growth.take(0, part.nbytes if isinstance(part, pa.RecordBatch) else 0)
        yield part


def _text_chunks(
    context: ReadContext, input: Input, stream: UnpackedStream, format: str, options: LoaderOptions
) -> Iterator[Chunk]:
    match format:
        case "ndjson":
            yield from lines(input.name, stream)
        case "json":
            yield from json_elements(input.name, stream)
        case "lines":
            yield from map(PlainLines, lines(input.name, stream))
        case _:
            yield from _csv_chunks(context, input, stream, "\t" if format == TSV else ",", typed=options.typed)


def _binary_chunks(
    context: ReadContext, input: Input, stream: UnpackedStream, format: str, options: LoaderOptions
) -> Iterator[pa.RecordBatch | list[Row]]:
    match format:
        case "avro":
            yield from avro_rows(input.name, stream)
        case "xml":
            yield from xml_rows(input.name, _on_disk(input, stream, context.folder), options.row_tag)
        case _:
            yield from _batches(format, input, stream, context.folder, options.row_groups)


def _but_for(count: int, advance: Callable[[int], None]) -> Callable[[int], None]:
    """Returns a function like `advance` that does not report the first `count` bytes."""
    left = count

    def rest(read: int) -> None:
        nonlocal left
        known = min(left, read)
        left -= known
        advance(read - known)

    return rest


def _csv_chunks(
    context: ReadContext, input: Input, stream: UnpackedStream, delimiter: str, *, typed: bool
) -> Iterator[Chunk]:
    table = CsvTable(context.session, input.name, stream, delimiter, context.faults, typed=typed)
    yield from table.batches()
    if table.kept:
        yield table.kept


def _as_column(chunk: Lines) -> pa.RecordBatch:
    """Returns the lines as a column, each without its newline."""
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(chunk.texts, r"\r?\n$", "")
    return pa.RecordBatch.from_arrays([texts], [LINE])


def _batches(
    format: str, input: Input, stream: UnpackedStream, folder: Path, row_groups: list[int] | None
) -> Iterator[pa.RecordBatch]:
    """Yields the batches of formats with columns."""
    with damage_as_invalid(format, input.name):
        if format == "parquet":
            with _seekable(input, stream, folder) as source:
                yield from pq.ParquetFile(source).iter_batches(batch_size=BATCH_ROWS, row_groups=row_groups)
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
    """Yields the stripes of an ORC file."""
    from pyarrow import orc

    file = orc.ORCFile(source)
    for number in range(file.nstripes):
        yield file.read_stripe(number)


@contextmanager
def damage_as_invalid(format: str, name: str) -> Iterator[None]:
    """Raises Invalid if the file is damaged."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0]
        raise Invalid(f"{name}: this is not a complete {format} file: {reason}", hint="nothing was loaded") from error


def _seekable(input: Input, stream: UnpackedStream, folder: Path) -> Any:
    """Returns a file that can be read from its end."""
    return pa.OSFile(str(_on_disk(input, stream, folder)))


def _on_disk(input: Input, stream: UnpackedStream, folder: Path) -> Path:
    """Returns the path of the file itself, or of a copy in the load's folder."""
    if input.file and stream.packing is None:
        return Path(input.file)
    copy = folder / "copy"
    with copy.open("wb") as file:
        while piece := stream.read(4 << 20):
            file.write(piece)
    return copy
