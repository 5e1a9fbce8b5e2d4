"""A pool as a frame: Spark's own scan of the Parquet files that pruning has left, so nothing of a row goes through
Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lochan.engines.duckdb.run import scan_names
from lochan.engines.spark.scan import Views, is_remote
from lochan.engines.spark.session import SUBSTITUTE
from lochan.lake import Lake
from lochan.query.dialects import render
from lochan.spark.frame_origin import marked
from lochan.spark.lakes import LakePlace, found_lake, on_lake
from lochan.spark.paths import check_objects, hadoop_options, path_at
from lochan.spark.read_plan import ReadPlan, ReadRequest, plan, top_fields
from lochan.spark.typed_columns import select_list
from lochan.versioning.uri import prefix_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What the plan's SQL means must not depend on how somebody has set up his session.
_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    SUBSTITUTE: "false",
}


def read(
    spark: SparkSession,
    uri: str,
    *,
    where: str = "",
    columns: Sequence[str] = (),
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A pool at a ref (`logs@main`), or Parquet files of a repository (`sales@main/2026/`). It stays at the commit that
    the ref meant, whatever comes to the branch later.

    `where` is a test of the pipe language, and objects that cannot hold such rows are never opened. Raises QueryError
    for one that is wrong, NotFound."""
    place, at = found_lake(lake, options), prefix_uri(uri)
    if "/" in uri:
        from lochan.spark.tables import read_table

        return read_table(spark, place, at, where, columns)
    wanted = ReadRequest(at, where, columns)
    return framed(spark, place, on_lake(place, lambda lake: checked_plan(spark, lake, place, wanted)))


async def checked_plan(spark: SparkSession, lake: Lake, place: LakePlace, wanted: ReadRequest) -> ReadPlan:
    planned = await plan(lake, wanted)
    await check_plan(spark, lake, place, planned)
    return planned


async def check_plan(spark: SparkSession, lake: Lake, place: LakePlace, planned: ReadPlan) -> None:
    """Raises Gone, Corrupt for an object that is not as it was written."""
    objects = [each for name in scan_names(planned.query, planned.scans) for each in planned.scans.files[name].objects]
    if objects:
        path_at(place.store, "")  # is it a store that Spark can read?
    await check_objects(spark, lake, place.store, objects)


def framed(spark: SparkSession, place: LakePlace, planned: ReadPlan) -> DataFrame:
    views, scans = Views(spark), planned.scans
    options = hadoop_options(place.store)
    with _meaning(spark):
        for name in scan_names(planned.query, scans):
            scan = scans.files[name]
            views.add_files(scan, name, [path_at(place.store, each.address) for each in scan.objects], options)
        sql = render(views.named(planned.query.copy()), "spark")
        made = spark.sql(f"SELECT {', '.join(select_list(planned.row, planned.wide)) or '1 AS `_`'} FROM ({sql})")
        made = marked(made, [name for name, _ in top_fields(planned.row)] or ["_"], planned.origin)
        # A view keeps what the SQL means by the settings of this moment. A frame behind Connect does not: it is looked
        # at again whenever it runs, by the settings that the user has then.
        frame = views.pinned(made, planned.origin.view)
        if not is_remote(spark):
            views.drop()  # the frame has what it needs of them
    return frame


@contextmanager
def _meaning(spark: SparkSession) -> Iterator[None]:
    """While a frame is made, which is when Spark decides what its SQL means. Then the user's settings are back."""
    before = {name: spark.conf.get(name) for name in _MEANING}
    for name, value in _MEANING.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is not None:
                spark.conf.set(name, own)
