"""The data source `lochan`.

    lochan.spark.register(spark)
    spark.read.format("lochan").option("where", "status >= 500").load("logs@main")
    frame.write.format("lochan").mode("append").save("logs@main")

Reading goes through Python: `lochan.spark.read` does not, and is faster. Spark's own filters are not handed down, for
Spark mixes up frames that share a source which takes them; `where`, `from`, `to` and `columns` are options instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, DataSourceStreamWriter
from pyspark.sql.types import StructType

from lochan.engines.spark.package import ship
from lochan.errors import Invalid
from lochan.spark.active_session import activate_for
from lochan.spark.lakes import found_lake, on_lake
from lochan.spark.option_names import as_written, remember
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.uri import Uri, prefix_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.spark.lakes import LakePlace
    from lochan.spark.read_plan import ReadRequest
    from lochan.spark.source_reader import Parts
    from lochan.spark.table_reader import TableParts

NAME = "lochan"
KEY = "request_key"  # the option that is an idempotency key
EXPECT = "ifHead"  # the head that an overwrite may replace
_OURS = frozenset(
    ("path", "lake", "where", "from", "to", "columns", "message", "checkpointlocation", KEY, EXPECT.lower())
)
_OF_POOLS = ("where", "from", "to", "columns")
_META = "metadata."  # what a commit is to carry


remember()


def register(spark: SparkSession) -> None:
    """Once for each session."""
    from lochan.engines.spark.scan import is_remote  # with the query language behind it: a task needs none of that

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
        self._parts: Parts | None = None
        self._table: TableParts | None = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return self._files().schema if self._is_table() else self._planned(()).schema

    def reader(self, schema: StructType) -> DataSourceReader:
        if self._is_table():
            from lochan.spark.table_reader import TableReader

            return TableReader(self._files(), schema)
        from lochan.query.syntax.unparse import name_text
        from lochan.spark.source_reader import PartsReader

        parts = self._planned(())
        if schema.names != parts.schema.names:  # a schema that the user gave: only these columns
            parts = self._planned(tuple(name_text(name) for name in schema.names))
        return PartsReader(parts, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from lochan.spark.frame_origin import origins_in
        from lochan.spark.job import Replace, begin_told
        from lochan.spark.schemas import check_schema
        from lochan.spark.source_writer import JobWriter

        check_schema(schema)
        words, uri = said(self.options), self._uri()
        place = self._place().keyed(self.options.get(KEY, ""), "write", str(uri), overwrite, words)
        expect = self.options.get(EXPECT, "")
        if expect and not overwrite:
            raise Invalid(f"{EXPECT}: only an overwrite expects a head", hint="leave it out, or say mode('overwrite')")
        replace = Replace(origins_in(schema), expect) if overwrite else False
        return JobWriter(*begin_told(place, uri, words, replace=replace))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from lochan.spark.job import begin
        from lochan.spark.schemas import check_schema
        from lochan.spark.stream import StreamWriter

        check_schema(schema)
        return StreamWriter(begin(self._place(), self._uri(), said(self.options), replace=overwrite))

    def _planned(self, columns: tuple[str, ...]) -> Parts:
        from lochan.spark.source_reader import planned_parts

        if self._parts is None or columns:
            place, uri = self._place(), self._uri()
            if self._parts is not None:
                uri = uri._replace(ref=self._parts.origin.commit)
            wanted = self._wanted(uri, columns)
            made = on_lake(place, lambda lake: planned_parts(lake, place.store, wanted))
            if columns:
                return made
            self._parts = made
        return self._parts

    def _is_table(self) -> bool:
        return "/" in self.options.get("path", "")

    def _files(self) -> TableParts:
        from lochan.spark.table_reader import table_parts

        if self._table is None:
            wrong = next((name for name in _OF_POOLS if name in self.options), None)
            if wrong is not None:
                raise Invalid(f"{wrong}: files are read without it", hint="choose rows and columns of the frame")
            place, uri = self._place(), self._uri()
            self._table = on_lake(place, lambda lake: table_parts(lake, place.store, uri))
        return self._table

    def _wanted(self, uri: Uri, columns: tuple[str, ...]) -> ReadRequest:
        from lochan.spark.read_plan import ReadRequest  # with all of the query language behind it: to write needs none

        options = self.options
        chosen = columns or tuple(name.strip() for name in options.get("columns", "").split(",") if name.strip())
        return ReadRequest(uri, options.get("where", ""), chosen, options.get("from"), options.get("to"))

    def _place(self) -> LakePlace:
        return found_lake(self.options.get("lake"), store_options_in(self.options))

    def _uri(self) -> Uri:
        path = self.options.get("path")
        if not path:
            raise Invalid("nothing says which pool is meant", hint="such as .load('logs@main') or .save('logs@main')")
        return prefix_uri(path)


def said(options: Any) -> CommitMessage:
    """What the commit is to say."""
    metadata = {
        name[len(_META) :]: value for name, value in as_written(options).items() if name.lower().startswith(_META)
    }
    return CommitMessage(options.get("message", ""), metadata)


def store_options_in(options: Any) -> dict[str, str]:
    """Of the lake's store: whatever is not ours is its, and it says what it does not know."""
    return {name: value for name, value in options.items() if name.lower() not in _OURS and not name.startswith(_META)}
