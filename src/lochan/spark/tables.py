"""Parquet files of a repository as a frame: Spark's own scan where a file lies on the store as it is; a file that is
cut into blocks, or shares one with others, is put together by the task that reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa

from lochan.engines.spark.scan import literal_path
from lochan.errors import Invalid
from lochan.formats.entry import Entry
from lochan.lake import Lake
from lochan.spark.lakes import LakePlace, on_lake
from lochan.spark.paths import check_objects, hadoop_options, path_at
from lochan.spark.table_files import FileReading, file_schema, table_entries
from lochan.store.place import StorePlace
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEADS_AT_ONCE = 32
_COLUMN = "entry"


class Table(NamedTuple):
    whole: list[str]  # addresses of files that lie on the store as they are
    others: list[Entry]
    schema: pa.Schema | None  # of the others


def read_table(spark: SparkSession, place: LakePlace, uri: Uri, where: str, columns: Sequence[str]) -> DataFrame:
    """Raises NotFound where there is no such file."""
    if where:
        raise Invalid("files are read without a test", hint="test the frame itself: read(…).where(…)")
    table = on_lake(place, lambda lake: _table(spark, lake, place, uri))
    frames = []
    if table.whole:
        read = spark.read.options(**hadoop_options(place.store))
        frames.append(read.parquet(*(literal_path(path_at(place.store, each)) for each in table.whole)))
    if table.schema is not None:
        frames.append(_put_together(spark, place.store, table.others, table.schema))
    frame = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1], allowMissingColumns=True)
    return frame.select(*columns) if columns else frame


class _File(NamedTuple):
    """A file that lies on the store as it is."""

    path: str
    repository: str
    address: str
    size: int
    sha256: bytes

    def __str__(self) -> str:
        return f"{self.path!r} of {self.repository}"


async def _table(spark: SparkSession, lake: Lake, place: LakePlace, uri: Uri) -> Table:
    repository = await lake.open_repository(uri.repository)
    try:
        entries = await table_entries(repository, uri)
        gate = asyncio.Semaphore(_HEADS_AT_ONCE)
        is_whole = await asyncio.gather(*(_is_whole(repository, entry, gate) for entry in entries))
        found = [entry for entry, yes in zip(entries, is_whole, strict=True) if yes]
        files = [
            _File(entry.path, uri.repository, entry.blocks[0].address, entry.size, entry.blocks[0].sha256)
            for entry in found
        ]
        # A file of a workspace that is not committed has no SHA-256 yet.
        await check_objects(spark, lake, place.store, [each for each in files if each.sha256])
        whole = [each.address for each in files]
        others = [entry for entry, yes in zip(entries, is_whole, strict=True) if not yes]
        return Table(whole, others, await file_schema(repository.reader, others[0]) if others else None)
    finally:
        await repository.close()


async def _is_whole(repository: OpenRepository, entry: Entry, gate: asyncio.Semaphore) -> bool:
    """A pack begins with a body too, so the file's own size decides."""
    if len(entry.blocks) != 1 or entry.blocks[0].offset or "://" in entry.blocks[0].address:
        return False
    async with gate:
        return (await repository.reader.head(entry.blocks[0].address)).size == entry.size


def _put_together(spark: SparkSession, place: StorePlace, entries: list[Entry], schema: pa.Schema) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    reading = FileReading(place.for_others(), schema)
    rows = pa.table({_COLUMN: pa.array([msgspec.msgpack.encode(entry) for entry in entries], pa.binary())})
    frame = spark.createDataFrame(rows).repartition(len(entries))
    return frame.mapInArrow(partial(_read, reading), from_arrow_schema(schema))


def _read(reading: FileReading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for data in batch.column(0).to_pylist():
            yield from reading.read(msgspec.msgpack.decode(data, type=Entry))
