"""Views of a session over the files and tables that a plan reads, with schemas that describe the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from sqlglot import exp

from lochan.engines.spark.frames.row_identity import OBJECT, ROW
from lochan.engines.spark.progress import context_of, is_remote
from lochan.pools.layout import SHAPE_COLUMN
from lochan.pools.objects import object_path
from lochan.query.dialects.spark_words import name_sql, type_text
from lochan.query.sources.scans import FileScan, Scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_numbers = count(1)
_FILE = "#file"  # a column that no data object has
_GLOB = frozenset("*?[]{}\\,")
_NONE: Mapping[str, str] = {}


class Views:
    """The views of one query. No other query has views of the same names, because all queries share the session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._number = next(_numbers)
        self._names: dict[str, str] = {}

    def add_files(self, scan: FileScan, name: str, paths: Sequence[str], options: Mapping[str, str] = _NONE) -> None:
        """Adds a view of files. `options` are the settings that Hadoop needs to read them."""
        read = self._spark.read.schema(schema_of(scan)).options(**options)
        self._add(name, read.parquet(*map(literal_path, paths)) if paths else self._nothing(scan))

    def add_identified_files(
        self, scan: FileScan, name: str, paths: Sequence[str], options: Mapping[str, str] = _NONE
    ) -> None:
        """Adds the same view, with the data object of each row and its number there."""
        from pyspark.sql import functions

        if not paths:
            self._add(name, self._nothing(scan).withColumns({OBJECT: functions.lit(""), ROW: functions.lit(0)}))
            return
        distinct = dict.fromkeys(map(literal_path, paths))  # a file that objects share is joined to each of them
        read = self._spark.read.schema(schema_of(scan)).options(**options).parquet(*distinct)
        file = functions.substring_index("_metadata.file_path", "/", -1)
        numbered = read.select("*", file.alias(_FILE), functions.col("_metadata.row_index").alias(ROW))
        names = functions.broadcast(self._spark.createDataFrame(_objects(scan)))
        self._add(name, numbered.join(names, _FILE).drop(_FILE))

    def add_table(self, name: str, table: pa.Table) -> None:
        self._add(name, self._spark.createDataFrame(table))

    def pinned(self, frame: DataFrame, name: str) -> DataFrame:
        """Returns the same rows, by a view: they keep their meaning, whatever settings the session gets later."""
        return self._spark.table(self._add(name, frame))

    def named(self, query: exp.Query) -> exp.Query:
        """Puts the names of these views into the query, which is changed, and returns it."""
        return with_views(query, self._names)

    def released(self, frame: DataFrame) -> DataFrame:
        """Drops the views and returns the same frame, which no longer needs them. Behind Connect they stay, because a
        frame is analyzed again there whenever it runs."""
        if is_remote(self._spark):
            return frame
        made = analyze(self._spark, frame)
        self.drop()
        return made

    def drop(self) -> None:
        """Drops the views. Calling it again does nothing."""
        while self._names:
            _, view = self._names.popitem()
            with suppress(Exception):  # Spark itself may be gone
                self._spark.catalog.dropTempView(view)

    def _add(self, name: str, frame: DataFrame) -> str:
        view = f"lochan_{self._number}_{name.replace(' ', '_')}"
        frame.createTempView(view)
        self._names[name] = view
        return view

    def _nothing(self, scan: FileScan) -> DataFrame:
        """Returns an empty frame, for a scan whose files are all gone."""
        return self._spark.createDataFrame([], schema_of(scan))


def _objects(scan: FileScan) -> pa.Table:
    """Returns the data objects of each file, by the last part of its path, which is unique."""
    files = [each.address.rpartition("/")[2] for each in scan.objects]
    return pa.table({_FILE: files, OBJECT: [object_path(each.id) for each in scan.objects]})


def with_views(query: exp.Query, views: Mapping[str, str]) -> exp.Query:
    """Replaces names of scans in the query by those of views. It changes the query, and returns it."""
    for table in query.find_all(exp.Table):
        if table.name in views:
            alias = table.alias or table.name
            table.set("this", exp.to_identifier(views[table.name], quoted=True))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return query


def schema_of(scan: FileScan) -> str:
    """Returns the schema of a scan. A file that lacks a column gives NULL; one in which it has another type is an
    error, and is never converted."""
    columns = [f"{name_sql(name)} {type_text(type)}" for name, type in scan.columns.items()]
    return ", ".join([f"{name_sql(SHAPE_COLUMN)} INT", *columns])


def analyze(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Returns the frame with the plan as Spark has analyzed it. Some writers (`writeTo(…).create()`) start over from
    the original plan, and would look for views that are gone."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    jvm, own = context_of(spark)._jvm, cast(Any, frame)
    plan = own._jdf.queryExecution().analyzed()
    return ClassicFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(own.sparkSession._jsparkSession, plan), spark)


def used_tables(query: exp.Query, scans: Scans) -> Mapping[str, pa.Table]:
    names = {table.name for table in query.find_all(exp.Table)}
    return {name: table for name, table in scans.tables.items() if name in names}


def literal_path(path: str) -> str:
    """Escapes a path, because Spark takes it for a glob."""
    return "".join(f"\\{letter}" if letter in _GLOB else letter for letter in path)
