"""Spreads the rows of a frame over the tasks by ranges of a pool's key, so that objects do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lochan.jobs.tasks import number_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

    from lochan.formats.pool_settings import Path, PoolSettings


def spread_by_key(frame: DataFrame, settings: PoolSettings, parts: int | None = None) -> DataFrame:
    """Spreads the rows by ranges of those fields of the key that the frame has. Returns it unchanged if it has none."""
    schema = frame.schema
    keys = [found for key in settings.keys if key.path and (found := _column(schema, key.path)) is not None]
    if not keys:
        return frame
    rows = number_columns(frame)
    spread = rows.repartitionByRange(*keys) if parts is None else rows.repartitionByRange(parts, *keys)
    return spread.toDF(*schema.names)


def sort_by_partition(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Sorts the rows within each task, which then writes one file after the other."""
    if not names:
        return frame
    columns = frame.columns
    return number_columns(frame).sortWithinPartitions(*(f"c{columns.index(name)}" for name in names)).toDF(*columns)


@contextmanager
def cache_frame(frame: DataFrame) -> Iterator[None]:
    """Keeps the rows of the frame when they are first computed. If the caller has cached them, nothing changes."""
    from pyspark import StorageLevel

    level = frame.storageLevel
    if level.useMemory or level.useDisk:
        yield
        return
    frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield
    finally:
        frame.unpersist()


def _column(schema: StructType, path: Path) -> Column | None:
    """Finds the column of a path in a numbered frame."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    at: DataType = schema
    for name in path:
        found = next((each for each in at.fields if each.name == name), None) if isinstance(at, StructType) else None
        if found is None:
            return None
        at = found.dataType
    column = functions.col(f"c{schema.names.index(path[0])}")
    for name in path[1:]:
        column = column.getField(name)
    return column
