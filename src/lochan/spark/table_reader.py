"""Parquet files of a repository, by the data source: each task reads one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from lochan.formats.entry import Entry
from lochan.ingest.hive_path import PathColumns
from lochan.lake import Lake
from lochan.spark.frame_origin import Origin, marked_schema
from lochan.spark.table_files import FileReading, table_files
from lochan.store.open import StoreLocation
from lochan.versioning.uri import Uri


class FilePart(InputPartition):
    def __init__(self, entry: Entry) -> None:
        super().__init__(None)
        self.entry = entry


@dataclass(frozen=True)
class TableParts:
    place: StoreLocation
    schema: StructType
    columns: PathColumns
    entries: list[Entry]


async def table_parts(lake: Lake, place: StoreLocation, uri: Uri) -> TableParts:
    """Raises NotFound where there is no such file, Invalid for files that do not make one table."""
    repository = await lake.open_repository(uri.repository)
    try:
        table = await table_files(repository, uri)
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        if table.commit:
            schema = marked_schema(schema, Origin(table.repository_id, table.commit))
        return TableParts(place.for_others(), schema, table.columns, table.entries)
    finally:
        await repository.close()


class TableReader(DataSourceReader):
    def __init__(self, parts: TableParts, schema: StructType) -> None:
        self._parts = parts
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [FilePart(entry) for entry in self._parts.entries]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FilePart)
        reading = FileReading(self._parts.place, to_arrow_schema(self._schema), self._parts.columns)
        yield from reading.read(partition.entry)
