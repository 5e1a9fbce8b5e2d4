"""A pool as a frame: Spark's own scan of the Parquet files that are left after pruning, so no row goes through
Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lochan.engines.duckdb.run import scan_names
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import check_objects, hadoop_files
from lochan.engines.spark.frames.origin import mark_frame
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, plan, top_fields
from lochan.engines.spark.frames.row_identity import (
    COMMIT_COLUMN,
    METADATA_COLUMNS,
    OBJECT,
    OBJECT_COLUMN,
    ROW,
    ROW_COLUMN,
    with_identity,
)
from lochan.engines.spark.frames.row_origin import origin_list
from lochan.engines.spark.frames.typed_columns import select_list
from lochan.engines.spark.scan import Views
from lochan.engines.spark.session import MEANING, SUBSTITUTE
from lochan.errors import Invalid
from lochan.query.dialects import render
from lochan.query.dialects.spark_words import name_sql, quote_text
from lochan.store.open import StoreLocation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The meaning of the plan's SQL must not depend on a session's settings.
FRAME_MEANING = {
    name: MEANING[name]
    for name in (
        "spark.sql.session.timeZone",
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.timestampType",
        "spark.sql.parser.escapedStringLiterals",
        SUBSTITUTE,
    )
}


@dataclass(frozen=True)
class PoolFrame:
    """A pool that is planned, to become a frame of a session."""

    place: StoreLocation
    plan: ReadPlan
    metadata: bool = False  # whether it has columns for the place of each row

    @property
    def commit(self) -> str:
        return self.plan.origin.commit

    def frame(self, spark: SparkSession) -> DataFrame:
        views, origin = Views(spark), self.plan.origin
        with _meaning(spark):
            self._add_scans(views)
            rows = mark_frame(spark.sql(self._sql(views)), self._names(), origin)
            # A view keeps the meaning of the SQL by the current settings. A frame behind Connect does not: it is
            # analyzed again whenever it runs, by the settings that the user has then.
            return views.released(views.pinned(rows, origin.view))

    def _add_scans(self, views: Views) -> None:
        for name in scan_names(self.plan.query, self.plan.scans):
            scan = self.plan.scans.files[name]
            add = views.add_identified_files if self.metadata else views.add_files
            if scan.objects:
                files = hadoop_files(self.place)
                add(scan, name, [files.path(each.address) for each in scan.objects], files.options)
            else:
                add(scan, name, [])

    def _sql(self, views: Views) -> str:
        query = with_identity(self.plan.query) if self.metadata else self.plan.query.copy()
        columns = select_list(self.plan.row, self.plan.wide)
        columns += origin_list(self.plan.origins, self.place, self.plan.origin)
        if self.metadata:
            columns += [f"{quote_text(self.commit)} AS {COMMIT_COLUMN}"]
            columns += [f"{name_sql(OBJECT)} AS {OBJECT_COLUMN}", f"{name_sql(ROW)} AS {ROW_COLUMN}"]
        return f"SELECT {', '.join(columns) or '1 AS `_`'} FROM ({render(views.named(query), 'spark')})"

    def _names(self) -> list[str]:
        names = self.plan.names
        return [*names, *METADATA_COLUMNS] if self.metadata else names or ["_"]


async def pool_frame(
    spark: SparkSession, at: QueryContext, request: ReadRequest, *, check: bool = True, metadata: bool = False
) -> PoolFrame:
    """Plans a frame. With `check`, its objects are compared with their SHA-256, unless they were before. Raises
    QueryError, NotFound, Refused for rows that make no table, Gone, or Corrupt."""
    planned = await plan(at, request)
    if metadata:
        _check_names([name for name, _ in top_fields(planned.row)])
    if check:
        objects = [
            each for name in scan_names(planned.query, planned.scans) for each in planned.scans.files[name].objects
        ]
        if objects:
            hadoop_files(at.place)  # raises for a store that Spark cannot read
        await check_objects(spark, at, objects)
    return PoolFrame(at.place, planned, metadata)


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if name.lower() in METADATA_COLUMNS:
            raise Invalid(f"the rows have a field {name}, and a column of that name tells where they are from")


@contextmanager
def _meaning(spark: SparkSession) -> Iterator[None]:
    """Sets the settings that a frame is made with, which is when Spark decides what its SQL means, and restores the
    user's settings afterwards."""
    before = {name: spark.conf.get(name) for name in FRAME_MEANING}
    for name, value in FRAME_MEANING.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is not None:
                spark.conf.set(name, own)
