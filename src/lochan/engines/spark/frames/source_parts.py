"""Divides the rows that the data source reads into parts, one for each task. A part of a pool is the plan over a few of
its objects, which the task runs on the embedded engine; a part of a table of files is one of them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.files import files_of, gone_error
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.run import scan_names, with_files
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.executors import TASK_MEMORY_BYTES
from lochan.engines.spark.frames.origin import Origin, marked_schema
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, plan
from lochan.engines.spark.frames.row_origin import with_origin
from lochan.engines.spark.frames.table_files import FileReading, table_files
from lochan.engines.spark.frames.typed_columns import arrow, arrow_schema
from lochan.errors import Invalid
from lochan.formats.entry import Entry
from lochan.ids import Ids
from lochan.ingest.hive_path import PathColumns
from lochan.pools.snapshot import DataObject
from lochan.query.dialects import render
from lochan.query.output.columns import Column
from lochan.store.open import StoreLocation
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_PART_BYTES_MIN, _PART_BYTES_MAX = 4 << 20, 128 << 20  # objects are read together up to this size
_PARTS = 64  # the number of parts, unless a read is too large for it
_FOLDER = "/lochan-objects-of-this-task/"  # in the SQL of a part; a task replaces it by the folder of the objects


class PoolPart(NamedTuple):
    """Objects, and the plan over these alone."""

    sql: str
    objects: Sequence[DataObject]


@dataclass(frozen=True)
class PoolParts:
    """The parts of a pool. They can be pickled."""

    place: StoreLocation
    commit: str
    row: Column
    wide: frozenset[tuple[str, ...]]  # fields that are decimals
    schema: StructType
    parts: Sequence[PoolPart]
    origins: tuple[str, ...] = ()  # columns with the place that a row comes from

    def read(self, part: PoolPart, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part, on an executor. Raises Invalid for columns that do not fit the schema, or Gone."""
        with tempfile.TemporaryDirectory(prefix="lochan-") as folder:
            root = asyncio.run(self._link_objects(part, folder))
            with DuckSession(Limits(TASK_MEMORY_BYTES, threads=1), folders=[*root, folder]) as session:
                sql = part.sql.replace(_FOLDER, f"{folder}/".replace("'", "''"))
                for batch in session.stream(sql):
                    rows = arrow(batch, self.row, self.wide)
                    rows = with_origin(rows, self.origins, self.place, self.commit, part.objects[0].address)
                    yield _cast(rows, schema)

    async def _link_objects(self, part: PoolPart, folder: str) -> list[str]:
        """Links each object, or a copy, by its number in the folder."""
        files = files_of(self.place.open(clock=SystemClock(), ids=Ids()))
        paths = await files.place(part.objects, folder)
        for number, (object, path) in enumerate(zip(part.objects, paths, strict=True)):
            if not path:
                raise gone_error(object)
            (Path(folder) / str(number)).symlink_to(path)
        return files.folders


@dataclass(frozen=True)
class TableParts:
    """The parts of a table of files. They can be pickled."""

    place: StoreLocation
    commit: str
    schema: StructType
    columns: PathColumns
    parts: Sequence[Entry]

    def read(self, part: Entry, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a file, on an executor. Raises Invalid for a file that does not fit the schema."""
        return FileReading(self.place, schema, self.columns).read(part)


async def pool_parts(at: QueryContext, request: ReadRequest) -> PoolParts:
    """Returns the parts of a pool. Raises QueryError, NotFound, or Refused for rows that make no table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    made = await plan(at, request)
    columns = [*arrow_schema(made.row, made.wide), *((name, pa.string()) for name in made.origins)]
    schema = marked_schema(from_arrow_schema(pa.schema(columns)), made.origin)
    place, commit = at.place.for_others(), made.origin.commit
    return PoolParts(place, commit, made.row, made.wide, schema, list(_parts(made)), made.origins)


async def table_parts(at: QueryContext, uri: Uri) -> TableParts:
    """Returns the parts of a table. Raises NotFound if there is no such file, and Invalid for files that do not make
    one table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    repository = await at.catalog.open_repository(uri.repository)
    try:
        table = await table_files(repository, uri, at.place)
    finally:
        await repository.close()
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    if table.commit:
        schema = marked_schema(schema, Origin(table.repository_id, table.commit))
    return TableParts(at.place.for_others(), table.commit, schema, table.columns, table.entries)


def _parts(planned: ReadPlan) -> Iterator[PoolPart]:
    """Yields the parts. Each object is in one scan, and in one part."""
    names = scan_names(planned.query, planned.scans)
    part_bytes = 0 if planned.origins else _part_bytes(planned, names)  # if rows show their object, each part has one
    for name in names:
        held: list[DataObject] = []
        for each in planned.scans.files[name].objects:
            if held and sum(one.size for one in held) + each.size > part_bytes:
                yield _part(planned, names, name, held)
                held = []
            held.append(each)
        if held:
            yield _part(planned, names, name, held)


def _part_bytes(planned: ReadPlan, names: Sequence[str]) -> int:
    """Returns the size of a part. Many parts for little data would cost more than they save, and few parts for much
    data would leave cores idle."""
    total = sum(each.size for name in names for each in planned.scans.files[name].objects)
    return max(_PART_BYTES_MIN, min(total // _PARTS, _PART_BYTES_MAX))


def _part(planned: ReadPlan, names: list[str], name: str, objects: list[DataObject]) -> PoolPart:
    paths: dict[str, list[str]] = {each: [] for each in names}
    paths[name] = [f"{_FOLDER}{number}" for number in range(len(objects))]
    sql = render(with_files(planned.query.copy(), planned.scans, paths, some=True), "duckdb")
    return PoolPart(sql, tuple(objects))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Casts the batch to the user's own schema, if there is one."""
    try:
        arrays = [batch.column(each.name).cast(each.type) for each in schema]
    except pa.ArrowInvalid as error:
        raise Invalid(f"a column is not as the schema says: {error}", hint="leave the schema out") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
