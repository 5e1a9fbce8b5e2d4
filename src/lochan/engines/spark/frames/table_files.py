"""The Parquet files of a repository that make a table, and how a task reads one of them, in whatever blocks its bytes
are stored."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor, spark_folder
from lochan.engines.spark.frames.footers import ReadSchema, schemas_of
from lochan.engines.spark.frames.table_schema import FileSchema, merged_schema, schema_in_footer
from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.ids import Ids
from lochan.ingest.hive_path import PathColumns, path_columns, with_path_columns
from lochan.ingest.tabular import check_batch
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning import lineage
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUFFIX = ".parquet"
_PAGE = 10_000
_FOOTER_BYTES_MAX = 256 << 20
_TAIL_BYTES = 8  # the end of a Parquet file: the length of the footer, and four letters
_FIRST_BYTES = 64 << 10  # bytes at the end: most footers are shorter, and one request gets them


class TableFiles(NamedTuple):
    """The files of a table, and what their footers and their paths contain."""

    entries: list[Entry]
    schemas: list[FileSchema]  # the schema of each file
    columns: PathColumns
    schema: pa.Schema  # the schema of the table: the columns of the files, then those of their paths
    repository_id: str
    commit: str  # "" for a workspace, whose files may change


async def table_files(
    repository: OpenRepository, uri: Uri, place: StoreLocation, spark: SparkSession | None = None
) -> TableFiles:
    """Reads every footer once: those of many files by tasks, if there is a session. Raises NotFound if there is no such
    file, and Invalid for files that do not make one table."""
    resolved = await repository.resolve(uri.ref or repository.repository.default_branch, workspaces=True)
    entries = await table_entries(repository, resolved, uri)
    await lineage.note(repository, uri.ref, uri.path, resolved)
    schemas = await schemas_of(entries, partial(file_schema, repository.reader), spark, place, _schema_reader)
    folder = uri.path if uri.path.endswith("/") or not uri.path else f"{uri.path.rpartition('/')[0]}/"
    columns = path_columns((entry.path for entry in entries), folder)
    in_files = [field for field in merged_schema(schemas) if field.name not in columns.schema.names]
    schema = pa.schema([*in_files, *columns.schema])
    commit = "" if resolved.workspace is not None else resolved.commit_id
    return TableFiles(entries, schemas, columns, schema, repository.repository.id, commit)


def _schema_reader(place: StoreLocation) -> ReadSchema:
    return partial(file_schema, reader_at(place))


def reader_at(place: StoreLocation) -> BodyReader:
    """Returns a reader on an executor. Files outside the lake are read with the lake's own keys."""
    clock, ids = SystemClock(), Ids()

    def other(url: str) -> Store:
        return place.at(url).open(clock=clock, ids=ids)

    return BodyReader(open_on_executor(place, clock, ids), OutsideFiles(other))


async def table_entries(repository: OpenRepository, resolved: ResolvedRef, uri: Uri) -> list[Entry]:
    """Returns the entries of a folder that Spark would read, without _hidden and .hidden ones, or of a single file by
    its name. Their blocks have their current addresses, so that tasks need not look them up. Raises NotFound if there
    is none."""
    view = await repository.view(resolved)
    if uri.path and not uri.path.endswith("/"):
        found = await view.get(uri.path)
        if found is None:
            raise _nothing(uri)
        return await repository.places.place_files([found])
    entries: list[Entry] = []
    after: str | None = ""
    while after is not None:
        page = await view.list(uri.path, after, limit=_PAGE)
        entries += [entry for entry in page.entries if _is_table_file(entry.path.removeprefix(uri.path))]
        after = page.next
    if not entries:
        raise _nothing(uri)
    return await repository.places.place_files(entries)


def _nothing(uri: Uri) -> NotFound:
    return NotFound(f"{uri} has no Parquet files", hint=f"`lochan fs ls {quote(str(uri))}` lists what there is")


def _is_table_file(path: str) -> bool:
    """Returns whether Spark would read the file. A column in a path may begin with _ too, as in `_day=1/`."""
    return path.endswith(_SUFFIX) and not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.split("/")
    )


async def file_schema(reader: BodyReader, entry: Entry) -> FileSchema:
    """Returns the schema of a file, by its footer alone."""
    try:
        tail = await _tail(reader, entry, _FIRST_BYTES)
        size = int.from_bytes(tail[-_TAIL_BYTES:-4], "little") + _TAIL_BYTES
        if size > min(entry.size, _FOOTER_BYTES_MAX):
            raise Invalid(f"{entry.path} is no Parquet file: its footer cannot have {size:,} bytes")
        if size > len(tail):
            tail = await _tail(reader, entry, size)
        return schema_in_footer(entry.path, pq.read_metadata(pa.BufferReader(tail[-size:])))
    except (pa.ArrowInvalid, UnicodeError, OSError) as error:
        raise Invalid(f"{entry.path} is no Parquet file: {error}") from error


async def _tail(reader: BodyReader, entry: Entry, size: int) -> bytes:
    return b"".join([piece async for piece in reader.read(entry, max(0, entry.size - size))])


@dataclass(frozen=True)
class FileReading:
    """Reads files. It can be pickled. These columns of every file are read, with NULL where neither the file nor its
    path has them."""

    place: StoreLocation
    schema: pa.Schema
    columns: PathColumns

    def read(self, entry: Entry) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="lochan-", dir=spark_folder()) as folder:
            file = Path(folder) / "rows.parquet"
            asyncio.run(self._copy(entry, file))
            yield from self._rows(entry, file)

    async def _copy(self, entry: Entry, file: Path) -> None:
        reader = reader_at(self.place)
        with file.open("wb") as sink:
            async for piece in reader.read(entry):
                await asyncio.to_thread(sink.write, piece)

    def _rows(self, entry: Entry, file: Path) -> Iterator[pa.RecordBatch]:
        try:
            opened = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
            more = self.columns.row(entry.path)
            own = set(opened.schema_arrow.names) - set(more.schema.names)
            names = [name for name in self.schema.names if name in own]
            for batch in opened.iter_batches(columns=names):
                batch = with_path_columns(check_batch(entry.path, batch), more)
                arrays = [self._column(batch, each) for each in self.schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError) as error:
            raise Invalid(f"{entry.path} does not fit the table's columns: {error}") from error

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, field.type)
        return batch.column(field.name).cast(field.type)
