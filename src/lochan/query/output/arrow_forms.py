"""Rows in the forms of other programs, for every result that has an Arrow reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lochan.errors import Refused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from polars import DataFrame as PolarsFrame
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession


class ArrowForms(ABC):
    """A result that any program with Arrow can use as a table (`__arrow_c_stream__`): `polars.DataFrame(result)`,
    `pyarrow.table(result)`, `duckdb.sql("SELECT … FROM result")`."""

    @abstractmethod
    def arrow_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as typed columns, batch by batch as they are read."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Returns a table with a column for each field. A field of several kinds, or without a single type, is JSON
        text."""
        return self.arrow_reader().read_all()

    def to_pandas(self) -> Any:
        """Returns a DataFrame. Needs pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> PolarsFrame:
        """Returns a DataFrame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_duckdb(self, connection: DuckDBPyConnection | None = None) -> DuckDBPyRelation:
        """Returns a relation of that connection, or of DuckDB's default one."""
        import duckdb

        return (connection or duckdb.default_connection()).from_arrow(self.to_arrow())

    def to_spark(self, spark: SparkSession | None = None) -> SparkFrame:
        """Returns a DataFrame of that session, or of the active one. The rows pass through this process;
        `lochan.spark.query` and `lochan.spark.read` read on the cluster instead. Raises Refused without a session."""
        if spark is None:
            from pyspark.sql import SparkSession

            spark = SparkSession.getActiveSession()
        if spark is None:
            raise Refused("there is no active session of Spark", hint="start one, or give it as spark=")
        return spark.createDataFrame(self.to_arrow())
