"""The data source's way to read: each task runs the plan, on the embedded engine, over a few of the objects."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from lochan.clock import SystemClock
from lochan.engines.duckdb.files import files_of, gone_error
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.run import scan_names, with_files
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import Invalid
from lochan.ids import Ids
from lochan.jobs.target import TASK_MEMORY_BYTES
from lochan.lake import Lake
from lochan.pools.snapshot import DataObject
from lochan.query.dialects import render
from lochan.query.output.columns import Column
from lochan.spark.frame_origin import Origin, marked_schema
from lochan.spark.read_plan import ReadPlan, ReadRequest, plan
from lochan.spark.typed_columns import arrow, arrow_schema
from lochan.store.open import StoreLocation

PART_BYTES = 32 << 20  # objects are read together up to this
_FOLDER = "/lochan-objects-of-this-task/"  # in the SQL of a part; a task puts the folder in its place that they lie in


class Part(InputPartition):
    """Objects, and the plan over these alone."""

    def __init__(self, sql: str, objects: Sequence[DataObject]) -> None:
        super().__init__(None)
        self.sql = sql
        self.objects = objects


@dataclass(frozen=True)
class Parts:
    place: StoreLocation
    origin: Origin
    row: Column
    wide: frozenset[tuple[str, ...]]  # fields that are decimals
    schema: StructType
    parts: list[Part]


async def planned_parts(lake: Lake, place: StoreLocation, wanted: ReadRequest) -> Parts:
    made = await plan(lake, wanted)
    schema = marked_schema(from_arrow_schema(arrow_schema(made.row, made.wide)), made.origin)
    return Parts(place.for_others(), made.origin, made.row, made.wide, schema, list(_parts(made)))


def _parts(planned: ReadPlan) -> Iterator[Part]:
    """Each object is in one scan, and in one part."""
    names = scan_names(planned.query, planned.scans)
    for name in names:
        held: list[DataObject] = []
        for each in planned.scans.files[name].objects:
            if held and sum(one.size for one in held) + each.size > PART_BYTES:
                yield _part(planned, names, name, held)
                held = []
            held.append(each)
        if held:
            yield _part(planned, names, name, held)


def _part(planned: ReadPlan, names: list[str], name: str, objects: list[DataObject]) -> Part:
    paths: dict[str, list[str]] = {each: [] for each in names}
    paths[name] = [f"{_FOLDER}{number}" for number in range(len(objects))]
    sql = render(with_files(planned.query.copy(), planned.scans, paths), "duckdb")
    return Part(sql, tuple(objects))


class PartsReader(DataSourceReader):
    def __init__(self, parts: Parts, schema: StructType) -> None:
        self._parts = parts
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return list(self._parts.parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Part):  # there is nothing to read
            return
        schema = to_arrow_schema(self._schema)
        with tempfile.TemporaryDirectory(prefix="lochan-") as folder:
            root = asyncio.run(self._placed(partition, folder))
            with DuckSession(Limits(TASK_MEMORY_BYTES, threads=1), folders=[*root, folder]) as session:
                sql = partition.sql.replace(_FOLDER, f"{folder}/".replace("'", "''"))
                for batch in session.stream(sql):
                    yield _cast(arrow(batch, self._parts.row, self._parts.wide), schema)

    async def _placed(self, part: Part, folder: str) -> list[str]:
        """Each object by its number in the folder: where it lies, or a copy."""
        clock, ids = SystemClock(), Ids()
        files = files_of(self._parts.place.open(clock=clock, ids=ids))
        paths = await files.place(part.objects, folder)
        for number, (object, path) in enumerate(zip(part.objects, paths, strict=True)):
            if not path:
                raise gone_error(object)
            (Path(folder) / str(number)).symlink_to(path)
        return files.folders


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """To what the user's own schema says, where he gave one."""
    try:
        arrays = [batch.column(each.name).cast(each.type) for each in schema]
    except pa.ArrowInvalid as error:
        raise Invalid(f"a column is not as the schema says: {error}", hint="leave the schema out") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
