"""The Parquet files of a repository that are a table, and how a task reads one of them, however its bytes lie."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.clock import SystemClock
from lochan.engines.duckdb.load.tabular import checked
from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.ids import Ids
from lochan.jobs.parts import spark_folder
from lochan.jobs.target import open_there
from lochan.store.place import StorePlace
from lochan.store.protocol import Store
from lochan.versioning.bodies.outside import Outside
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri

_SUFFIX = ".parquet"
_PAGE = 10_000
_FOOTER_BYTES_MAX = 256 << 20
_TAIL_BYTES = 8  # of a Parquet file: how long the footer is, and four letters


async def table_entries(repository: OpenRepository, uri: Uri) -> list[Entry]:
    """Of a folder, as Spark would take them: neither _hidden nor .hidden; else one file by its name. Raises
    NotFound where there is none."""
    ref = uri.ref or repository.repository.default_branch
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    if uri.path and not uri.path.endswith("/"):
        found = await view.get(uri.path)
        if found is None:
            raise _nothing(uri)
        return [found]
    entries: list[Entry] = []
    after: str | None = ""
    while after is not None:
        page = await view.list(uri.path, after, limit=_PAGE)
        entries += [entry for entry in page.entries if _is_table_file(entry.path.removeprefix(uri.path))]
        after = page.next
    if not entries:
        raise _nothing(uri)
    return entries


def _nothing(uri: Uri) -> NotFound:
    return NotFound(f"{uri} has no Parquet files", hint=f"`lochan fs ls {quote(str(uri))}` lists what there is")


def _is_table_file(path: str) -> bool:
    return path.endswith(_SUFFIX) and not any(part.startswith(("_", ".")) for part in path.split("/"))


async def file_schema(reader: BodyReader, entry: Entry) -> pa.Schema:
    """By its footer alone."""
    try:
        tail = b"".join([piece async for piece in reader.read(entry, max(0, entry.size - _TAIL_BYTES))])
        size = int.from_bytes(tail[:4], "little") + _TAIL_BYTES
        if size > min(entry.size, _FOOTER_BYTES_MAX):
            raise Invalid(f"{entry.path} is no Parquet file: its footer cannot have {size:,} bytes")
        footer = b"".join([piece async for piece in reader.read(entry, max(0, entry.size - size))])
        return pq.read_metadata(pa.BufferReader(footer)).schema.to_arrow_schema().remove_metadata()
    except (pa.ArrowInvalid, UnicodeError, OSError) as error:
        raise Invalid(f"{entry.path} is no Parquet file: {error}") from error


@dataclass(frozen=True)
class FileReading:
    """May be pickled. Of every file these columns are read, NULL where it has none."""

    place: StorePlace
    schema: pa.Schema

    def read(self, entry: Entry) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="lochan-", dir=spark_folder()) as folder:
            file = Path(folder) / "rows.parquet"
            asyncio.run(self._copy(entry, file))
            yield from self._rows(entry, file)

    async def _copy(self, entry: Entry, file: Path) -> None:
        clock, ids = SystemClock(), Ids()

        def other(url: str) -> Store:
            return StorePlace(url, {} if url.startswith("file://") else self.place.options).open(clock=clock, ids=ids)

        reader = BodyReader(open_there(self.place, clock, ids), Outside(other))
        with file.open("wb") as sink:
            async for piece in reader.read(entry):
                await asyncio.to_thread(sink.write, piece)

    def _rows(self, entry: Entry, file: Path) -> Iterator[pa.RecordBatch]:
        try:
            opened = pq.ParquetFile(file)
            names = [name for name in self.schema.names if name in opened.schema_arrow.names]
            for batch in opened.iter_batches(columns=names):
                batch = checked(entry.path, batch)
                arrays = [self._column(batch, each) for each in self.schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError) as error:
            raise Invalid(f"{entry.path} does not fit the table's columns: {error}") from error

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, field.type)
        return batch.column(field.name).cast(field.type)
