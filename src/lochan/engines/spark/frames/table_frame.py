"""Parquet files of a repository as a frame. Spark's own scan reads a file that is stored as it is; a file that is
divided into blocks, or shares a file with others, is put together by the task that reads it.

Columns in the paths of the files (`year=2026/`) are not in the paths that Spark reads, because objects have names of
their own: they are joined to the rows by the name of the row's object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import check_objects, hadoop_files
from lochan.engines.spark.frames.origin import Origin, mark_frame
from lochan.engines.spark.frames.table_files import FileReading, TableFiles, table_files
from lochan.engines.spark.frames.table_schema import check_names, is_read_by_spark
from lochan.engines.spark.object_stats import object_stats
from lochan.engines.spark.scan import Views, literal_path
from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.query.dialects.spark_words import name_sql
from lochan.store.open import StoreLocation
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMN = "entry"
_OBJECT, _PATH = "lochan object", "lochan path"  # columns while the two tables are joined
_NAME = "/data/[^/]+/([0-9A-Za-z]{27})(/|$)"  # the name of an object after the repository's id, which is unique


class FileTable(NamedTuple):
    """A table of files, to become a frame of a session."""

    place: StoreLocation
    files: TableFiles
    whole: list[Entry]  # files that lie on the store as they are
    others: list[Entry]
    columns: Sequence[str] = ()  # empty for all columns

    @property
    def commit(self) -> str:
        return self.files.commit

    def frame(self, spark: SparkSession) -> DataFrame:
        """Returns the frame. Raises Invalid for names that the session does not distinguish."""
        names = self.files.schema.names
        check_names(self.files.schema, case_sensitive=spark.conf.get("spark.sql.caseSensitive") == "true")
        made = [_scan(spark, self)] if self.whole else []
        made += [_put_together(spark, self)] if self.others else []
        frame = made[0] if len(made) == 1 else made[0].union(made[1])
        if self.files.commit:
            frame = _pin(spark, frame, self.files)
        chosen = [name_sql(name) if name in names else name for name in self.columns]
        return frame.select(*chosen) if chosen else frame


def _pin(spark: SparkSession, frame: DataFrame, files: TableFiles) -> DataFrame:
    origin, views = Origin(files.repository_id, files.commit), Views(spark)
    return views.released(views.pinned(mark_frame(frame, files.schema.names, origin), origin.view))


class StoredFile(NamedTuple):
    """A file that is stored as it is."""

    path: str
    repository: str
    address: str
    size: int
    sha256: bytes

    def __str__(self) -> str:
        return f"{self.path!r} of {self.repository}"


async def table_frame(
    spark: SparkSession, at: QueryContext, uri: Uri, where: str = "", columns: Sequence[str] = ()
) -> FileTable:
    """Plans a frame. Raises NotFound if there is no such file, Invalid for files that do not make one table, Gone, or
    Corrupt."""
    if where:
        raise Invalid("files are read without a test", hint="test the frame itself: read(…).where(…)")
    repository = await at.catalog.open_repository(uri.repository)
    try:
        files = await table_files(repository, uri, at.place, spark)
        scanned = await can_spark_scan(repository, files)
    finally:
        await repository.close()
    whole = [entry for entry, yes in zip(files.entries, scanned, strict=True) if yes]
    others = [entry for entry, yes in zip(files.entries, scanned, strict=True) if not yes]
    # A file of a workspace that is not committed has no SHA-256 yet.
    await check_objects(spark, at, [stored_file(uri, entry) for entry in whole if entry.blocks[0].sha256])
    return FileTable(at.place, files, whole, others, columns)


def stored_file(uri: Uri, entry: Entry) -> StoredFile:
    block = entry.blocks[0]
    return StoredFile(entry.path, uri.repository, block.address, entry.size, block.sha256)


async def can_spark_scan(repository: OpenRepository, files: TableFiles) -> list[bool]:
    """Returns for each file whether Spark's own scan reads it."""
    whole = await _find_whole(repository, files.entries)
    return [
        entry.path in whole and is_read_by_spark(schema, files.schema) and _can_join(files, entry)
        for entry, schema in zip(files.entries, files.schemas, strict=True)
    ]


async def _find_whole(repository: OpenRepository, entries: Sequence[Entry]) -> set[str]:
    """Returns the paths of those that are a file of their own. A pack begins with a body too, so the file's own size
    decides. Raises NotFound."""
    alone = [entry for entry in entries if len(entry.blocks) == 1 and not entry.blocks[0].offset]
    alone = [entry for entry in alone if "://" not in entry.blocks[0].address]
    stats = await object_stats(repository.store, [entry.blocks[0].address for entry in alone])
    for entry, stat in zip(alone, stats, strict=True):
        if stat is None:
            raise NotFound(f"the bytes of {entry.path!r} at {entry.blocks[0].address} are gone")
    return {entry.path for entry, stat in zip(alone, stats, strict=True) if stat and stat.size == entry.size}


def _can_join(files: TableFiles, entry: Entry) -> bool:
    return not files.columns.schema.names or _object_name(files, entry) is not None


def _object_name(files: TableFiles, entry: Entry) -> str | None:
    found = re.search(re.escape(files.repository_id) + _NAME, entry.blocks[0].address)
    return None if found is None else found[1]


def _scan(spark: SparkSession, table: FileTable) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    files, stored = table.files, hadoop_files(table.place)
    in_paths = files.columns.schema.names
    schema = pa.schema([field for field in files.schema if field.name not in in_paths])
    addresses = [entry.blocks[0].address for entry in table.whole]
    if in_paths:  # an object at two paths is read once, and joined to both
        addresses = list(dict.fromkeys(addresses))
    read = spark.read.options(**stored.options).schema(from_arrow_schema(schema, prefer_timestamp_ntz=True))
    frame = read.parquet(*(literal_path(stored.path(each)) for each in addresses))
    return _with_path_columns(spark, frame, table, schema.names) if in_paths else frame


def _with_path_columns(spark: SparkSession, frame: DataFrame, table: FileTable, names: list[str]) -> DataFrame:
    from pyspark.sql import functions

    files = table.files
    rows = pa.Table.from_batches([files.columns.row(entry.path) for entry in table.whole], files.columns.schema)
    objects = pa.array([_object_name(files, entry) for entry in table.whole], pa.string())
    paths = spark.createDataFrame(rows.append_column(_OBJECT, objects))
    own = functions.regexp_extract("_metadata.file_path", files.repository_id + _NAME, 1).alias(_PATH)
    read = frame.select(*map(name_sql, names), own)
    same = functions.col(name_sql(_PATH)) == functions.col(name_sql(_OBJECT))
    return read.join(functions.broadcast(paths), same).select(*map(name_sql, files.schema.names))


def _put_together(spark: SparkSession, table: FileTable) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = table.files.schema
    reading = FileReading(table.place.for_others(), schema, table.files.columns)
    entries = pa.array([msgspec.msgpack.encode(entry) for entry in table.others], pa.binary())
    frame = spark.createDataFrame(pa.table({_COLUMN: entries})).repartition(len(entries))
    return frame.mapInArrow(partial(_read, reading), from_arrow_schema(schema, prefer_timestamp_ntz=True))


def _read(reading: FileReading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for data in batch.column(0).to_pylist():
            yield from reading.read(msgspec.msgpack.decode(data, type=Entry))
