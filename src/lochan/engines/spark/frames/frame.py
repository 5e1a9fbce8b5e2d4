"""A pool as a frame: Spark's own scan of the Parquet files that pruning has left, so no row goes through Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lochan.engines.duckdb.run import scan_names
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import check_objects, hadoop_files
from lochan.engines.spark.frames.origin import marked
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, plan
from lochan.engines.spark.frames.row_origin import origin_list
from lochan.engines.spark.frames.typed_columns import select_list
from lochan.engines.spark.scan import Views
from lochan.engines.spark.session import MEANING, SUBSTITUTE
from lochan.query.dialects import render
from lochan.query.sources.scans import FileScan
from lochan.store.open import StoreLocation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What the plan's SQL means must not depend on how somebody has set up a session.
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

    def frame(self, spark: SparkSession) -> DataFrame:
        views, scans, origin = Views(spark), self.plan.scans, self.plan.origin
        with _meaning(spark):
            for name in scan_names(self.plan.query, scans):
                _add_files(views, self.place, name, scans.files[name])
            sql = render(views.named(self.plan.query.copy()), "spark")
            columns = select_list(self.plan.row, self.plan.wide)
            columns += origin_list(self.plan.origins, self.place, origin)
            rows = spark.sql(f"SELECT {', '.join(columns) or '1 AS `_`'} FROM ({sql})")
            rows = marked(rows, self.plan.names or ["_"], origin)
            # A view keeps what the SQL means by the settings of this moment. A frame behind Connect does not: it is
            # looked at again whenever it runs, by the settings that the user has then.
            return views.released(views.pinned(rows, origin.view))


async def pool_frame(spark: SparkSession, at: QueryContext, request: ReadRequest, *, check: bool = True) -> PoolFrame:
    """`check`: its objects are compared with their SHA-256, those that were not before. Raises QueryError, NotFound,
    Refused for rows that make no table, Gone, Corrupt."""
    planned = await plan(at, request)
    if check:
        objects = [
            each for name in scan_names(planned.query, planned.scans) for each in planned.scans.files[name].objects
        ]
        if objects:
            hadoop_files(at.place)  # is it a store that Spark can read?
        await check_objects(spark, at, objects)
    return PoolFrame(at.place, planned)


def _add_files(views: Views, place: StoreLocation, name: str, scan: FileScan) -> None:
    if scan.objects:
        files = hadoop_files(place)
        views.add_files(scan, name, [files.path(each.address) for each in scan.objects], files.options)
    else:
        views.add_files(scan, name, [])


@contextmanager
def _meaning(spark: SparkSession) -> Iterator[None]:
    """While a frame is made, which is when Spark decides what its SQL means. Then the user's settings are back."""
    before = {name: spark.conf.get(name) for name in FRAME_MEANING}
    for name, value in FRAME_MEANING.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is not None:
                spark.conf.set(name, own)
