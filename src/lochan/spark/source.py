"""The data source `lochan`.

    lochan.spark.register(spark)
    spark.read.format("lochan").option("where", "status >= 500").load("logs@main")
    frame.write.format("lochan").mode("append").save("logs@main")

Reading goes through Python: `lochan.spark.read` does not, and is faster. Spark's own filters are not handed down, for
Spark mixes up frames that share a source which takes them; `where`, `from`, `to` and `columns` are options instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from lochan.connection import LakeAddress, spark_lake
from lochan.errors import Invalid
from lochan.spark.pyspark_hooks import activate_for, as_written, remember_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.api.frames import SourceParts
    from lochan.api.options import CommitOptions

NAME = "lochan"
KEY = "request_key"  # the option that is an idempotency key
EXPECT = "ifHead"  # the head that an overwrite may replace
CHANGE, READ_AT = "changeRows", "readAt"  # a statement of the catalog that changes rows, and the commit that it reads
_OURS = frozenset(
    ("path", "lake", "where", "from", "to", "columns", "message", "checkpointlocation", KEY, EXPECT.lower())
) | {CHANGE.lower(), READ_AT.lower()}
_OF_POOLS = ("where", "from", "to", "columns")
_META = "metadata."  # what a commit is to carry


remember_names()


def register(spark: SparkSession) -> None:
    """Once for each session."""
    from lochan.api.spark_tasks import is_remote, ship

    ship(spark)
    if not is_remote(spark):
        activate_for(NAME)
        spark.createDataFrame([], "a int")  # makes it the active one: one that has the source would refuse a second
    spark.dataSource.register(LochanSource)


class LochanSource(DataSource):
    """Spark makes it in one process and hands it to others, with what it knows by then: so a frame stays at one
    commit."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._parts: SourceParts | None = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return self._planned().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        parts = self._planned()
        if not self._is_table() and schema.names != parts.schema.names:  # the user's own schema: only these columns
            parts = self._read_parts(parts.commit, schema.names)
        return PartsReader(parts, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from lochan.api.frames import APPEND, OVERWRITE
        from lochan.api.spark_tasks import origins_in
        from lochan.spark.source_writer import JobWriter
        from lochan.spark.write_frame import check_schema

        if CHANGE in self.options:
            return self._change_writer()
        check_schema(schema)
        expect = self.options.get(EXPECT, "")
        if expect and not overwrite:
            raise Invalid(f"{EXPECT}: only an overwrite expects a head", hint="leave it out, or say mode('overwrite')")
        address, commit = self._address(), commit_options(self.options)
        mode, origins = (OVERWRITE, origins_in(schema)) if overwrite else (APPEND, ())
        with address.connect(counted=True) as lake:
            begun = lake.frames.write(self._uri(), commit, mode=mode, origins=origins, expect=expect, silent=True)
        return JobWriter(address, begun.job)

    def _change_writer(self) -> DataSourceArrowWriter:
        from lochan.spark.source_writer import JobWriter

        address, commit = self._address(), commit_options(self.options)
        with address.connect(counted=True) as lake:
            begun = lake.frames.change(
                self._uri(), self.options[READ_AT], commit, command=self.options[CHANGE], silent=True
            )
        return JobWriter(address, begun.job)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from lochan.api.frames import APPEND, OVERWRITE
        from lochan.spark.source_writer import StreamWriter
        from lochan.spark.write_frame import check_schema

        check_schema(schema)
        address, commit = self._address(), commit_options(self.options, with_key=False)
        with address.connect() as lake:
            begun = lake.frames.write(self._uri(), commit, mode=OVERWRITE if overwrite else APPEND)
        if not begun.job.is_pool:
            hint = "`lochan create POOL` makes a pool"
            raise Invalid("streams go into pools, and this repository holds files", hint=hint)
        return StreamWriter(address, begun.job)

    def _planned(self) -> SourceParts:
        if self._parts is None:
            self._parts = self._read_parts()
        return self._parts

    def _read_parts(self, commit: str = "", fields: list[str] | None = None) -> SourceParts:
        options = self.options
        wrong = next((name for name in _OF_POOLS if name in options), None) if self._is_table() else None
        if wrong is not None:
            raise Invalid(f"{wrong}: files are read without it", hint="choose rows and columns of the frame")
        with self._address().connect() as lake:
            return lake.frames.parts(
                self._uri(),
                where=options.get("where", ""),
                columns=[name.strip() for name in options.get("columns", "").split(",") if name.strip()],
                fields=fields or (),
                low=options.get("from"),
                high=options.get("to"),
                commit=commit,
            )

    def _is_table(self) -> bool:
        return "/" in self.options.get("path", "")

    def _address(self) -> LakeAddress:
        return spark_lake(self.options.get("lake"), store_options_in(self.options))

    def _uri(self) -> str:
        path = self.options.get("path")
        if not path:
            raise Invalid("nothing says which pool is meant", hint="such as .load('logs@main') or .save('logs@main')")
        return path


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


def commit_options(options: Any, *, with_key: bool = True) -> CommitOptions:
    """A stream has no key: its batches are known by their numbers."""
    from lochan.api.options import CommitOptions

    metadata = {
        name[len(_META) :]: value for name, value in as_written(options).items() if name.lower().startswith(_META)
    }
    key = options.get(KEY, "") if with_key else ""
    return CommitOptions(message=options.get("message", ""), metadata=metadata, key=key)


def store_options_in(options: Any) -> dict[str, str]:
    """Of the lake's store: every option that is not ours, and the store refuses those that it does not know."""
    return {name: value for name, value in options.items() if name.lower() not in _OURS and not name.startswith(_META)}
