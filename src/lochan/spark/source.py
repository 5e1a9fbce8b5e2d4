"""The data source `lochan` in Python. With the jar on the class path, `format("lochan")` is the provider in the JVM,
and this one writes for it and reads files.

    lochan.spark.register(spark)
    spark.read.format("lochan").option("where", "status >= 500").load("logs@main")
    frame.write.format("lochan").mode("append").save("logs@main")

Reading goes through Python: `lochan.spark.read` does not, and is faster. Spark's own filters are not pushed down,
because Spark confuses frames that share a source which accepts them; `where`, `from`, `to` and `columns` are options
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from lochan.errors import Invalid
from lochan.spark.feed_source import FeedSource
from lochan.spark.pyspark_hooks import activate_for, remember_names
from lochan.spark.source_options import (
    CHANGES,
    STREAM_WRITES,
    VERSION,
    address_in,
    check_options,
    check_read,
    commit_options,
    is_table,
    names_in,
    path_in,
    small,
    uri_at,
    write_request,
)
from lochan.spark.stream_reader import check_batch, reads_changes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.api.frames import SourceParts

NAME = "lochan"
CHANGE, READ_AT = CHANGES

remember_names()


def register(spark: SparkSession) -> None:
    """Registers the data source. Call it once for each session."""
    from lochan.api.spark_tasks import is_remote, ship

    ship(spark)
    if not is_remote(spark):
        activate_for(NAME)
        spark.createDataFrame([], "a int")  # makes it the active one: one that has the source would refuse a second
    spark.dataSource.register(LochanSource)


class LochanSource(DataSource):
    """The data source. Spark makes it in one process and passes it to others with its state, so a frame stays at one
    commit."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._parts: SourceParts | None = None
        self._feed: FeedSource | None = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return self._changes().schema() if reads_changes(self.options) else self._planned().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        if reads_changes(self.options):
            return self._changes().reader(schema)
        check_batch(self.options)
        check_read(self.options)
        parts = self._planned()
        if not is_table(self.options) and schema.names != parts.schema.names:  # the user's own: only these columns
            parts = self._read_parts(parts.commit, schema.names)
        return PartsReader(parts, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if reads_changes(self.options):
            return self._changes().streamReader(schema)
        if VERSION.lower() in small(self.options):  # whose columns the stream has
            return FeedSource(self.options).streamReader(schema)
        return FeedSource(self.options, self._planned().commit).streamReader(schema)

    def _changes(self) -> FeedSource:
        if self._feed is None:
            self._feed = FeedSource(self.options)
        return self._feed

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from lochan.api.spark_tasks import origins_in
        from lochan.spark.source_writer import JobWriter, NoWriter
        from lochan.spark.write_frame import check_schema

        if CHANGE in self.options:
            return self._change_writer()
        uri, mode, expect, rows = write_request(self.options, schema, overwrite=overwrite)
        check_schema(schema)
        address, commit = address_in(self.options), commit_options(self.options)
        origins = origins_in(schema)
        with address.connect(counted=True) as lake:
            begun = lake.frames.write(uri, commit, mode=mode, origins=origins, expect=expect, rows=rows, silent=True)
        return JobWriter(address, begun.job) if begun.before is None else NoWriter()

    def _change_writer(self) -> DataSourceArrowWriter:
        from lochan.spark.source_writer import JobWriter

        address, commit = address_in(self.options), commit_options(self.options)
        with address.connect(counted=True) as lake:
            begun = lake.frames.change(
                path_in(self.options), self.options[READ_AT], commit, command=self.options[CHANGE], silent=True
            )
        return JobWriter(address, begun.job)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from lochan.api.frames import APPEND, OVERWRITE
        from lochan.spark.source_writer import StreamWriter
        from lochan.spark.write_frame import check_schema

        check_options(self.options, STREAM_WRITES, "stream")
        check_schema(schema)
        address, commit = address_in(self.options), commit_options(self.options, with_key=False)
        with address.connect() as lake:
            begun = lake.frames.write(path_in(self.options), commit, mode=OVERWRITE if overwrite else APPEND)
        if not begun.job.is_pool:
            hint = "`lochan create POOL` makes a pool"
            raise Invalid("streams go into pools, and this repository holds files", hint=hint)
        return StreamWriter(address, begun.job)

    def _planned(self) -> SourceParts:
        if self._parts is None:
            self._parts = self._read_parts()
        return self._parts

    def _read_parts(self, commit: str = "", fields: list[str] | None = None) -> SourceParts:
        check_read(self.options, may_stream=True)  # it is not known yet whether it will
        given = small(self.options)
        with address_in(self.options).connect() as lake:
            return lake.frames.parts(
                uri_at(lake, self.options),
                where=given.get("where", ""),
                columns=names_in(given.get("columns", "")),
                fields=fields or (),
                low=given.get("from"),
                high=given.get("to"),
                commit=commit,
            )


class SourcePartition(InputPartition):
    def __init__(self, part: Any) -> None:
        super().__init__(None)
        self.part = part


class PartsReader(DataSourceReader):
    def __init__(self, parts: SourceParts, schema: StructType) -> None:
        self._parts = parts
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [SourcePartition(part) for part in self._parts.parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.pandas.types import to_arrow_schema

        if isinstance(partition, SourcePartition):  # else there is nothing to read
            yield from self._parts.read(partition.part, to_arrow_schema(self._schema))
