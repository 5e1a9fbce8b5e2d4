"""Metadata as a frame. The entries of a commit, of which there may be millions, are Spark's own scan of the files of
its tree: the driver knows only their names. All other metadata are few; they are read here and passed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import HadoopFiles, hadoop_files
from lochan.engines.spark.scan import literal_path
from lochan.errors import Refused
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.query.dialects.spark_words import name_sql
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# The columns that `from r@c:entries` has.
_ENTRIES = (
    *("path", "size", "checksum", "etag", "timestamp_micros(mtime) as mtime", "content_type", "metadata"),
    "coalesce(get(blocks, 0).address, '') as address",
    "cast(size(blocks) as bigint) as blocks",
)
_VERIFY = "parquet.page.verify-checksum.enabled"  # pages of a range carry checksums


class EntryScan(NamedTuple):
    """The ranges of a commit's tree, to become a frame of a session."""

    files: HadoopFiles
    ranges: Sequence[str]
    commit: str
    columns: Sequence[str] = ()  # empty for all columns
    where: str = ""

    def frame(self, spark: SparkSession) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(ENTRY_SCHEMA)
        read = spark.read.options(**self.files.options, **{_VERIFY: "true"}).schema(schema)
        paths = [literal_path(self.files.path(each)) for each in self.ranges]
        entries = read.parquet(*paths) if paths else spark.createDataFrame([], schema)
        return _choose(entries.selectExpr(*_ENTRIES), self.where, self.columns)


class MetadataTable(NamedTuple):
    """Rows that were read here, to become a frame of a session."""

    rows: pa.Table
    commit: str = ""

    def frame(self, spark: SparkSession) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        if not self.rows.num_rows:
            return spark.createDataFrame([], from_arrow_schema(self.rows.schema))
        return spark.createDataFrame(self.rows)


async def entry_scan(at: QueryContext, uri: Uri, where: str, columns: Sequence[str]) -> EntryScan | None:
    """Returns the scan, or None if Spark cannot read the files of this tree, or of this store, by itself. Raises
    NotFound."""
    try:
        files = hadoop_files(at.place)
    except Refused:
        return None
    repository = await at.catalog.open_repository(uri.repository)
    try:
        resolved = await repository.resolve(uri.ref or repository.repository.default_branch)
        tree = await repository.tree(resolved.commit)
        if any(each.base is not None for each in tree.ranges):  # Spark does not apply patches
            return None
        names = [f"{repository.repository.id}/{each.file}" for each in tree.ranges]
        return EntryScan(files, names, resolved.commit_id, columns, where)
    finally:
        await repository.close()


def _choose(frame: DataFrame, where: str, columns: Sequence[str]) -> DataFrame:
    kept = frame.where(where) if where else frame
    return kept.select(*map(name_sql, columns)) if columns else kept
