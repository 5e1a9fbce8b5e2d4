"""Which rows differ between two commits, found by the engine that fits: DuckDB, unless so much differs that starting
Spark pays."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from lochan.engines.asking import NOBODY
from lochan.engines.choice import SPARK, engine_for
from lochan.engines.duckdb.diff_rows import diff_rows as embedded
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.row_diff.outcome import SAMPLE, RowDiff
from lochan.engines.row_diff.sides import LEFT, RIGHT, Wish, sides_of
from lochan.engines.spark.place import STANDARD as ANY_SPARK
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.telling import listener_of
from lochan.engines.spark.watching import Listener
from lochan.formats.record import Actor
from lochan.jobs.apart import on_spark
from lochan.jobs.record import recorded
from lochan.store.location import StoreLocation
from lochan.versioning.open_repository import OpenRepository

_FEW = "8"  # tasks, to count and sort what differs


class How(NamedTuple):
    engine: str = "auto"
    limits: Limits = STANDARD
    spark: SparkPlace = ANY_SPARK
    sample: int = SAMPLE  # so many rows are told of
    actor: Actor = NOBODY  # who asks
    watch: Listener | None = None  # is told how far Spark is


PLAIN = How()


async def diff_rows(
    repository: OpenRepository, files: Files, place: StoreLocation, wish: Wish, how: How = PLAIN
) -> RowDiff:
    """Raises NotFound, Invalid for a bad key or files that are no rows, Gone, and Refused where Spark does not start.
    `place` is where the lake is."""
    sides = await sides_of(repository, wish)
    if engine_for(how.engine, sides.size_bytes, how.spark, how.limits) != SPARK:
        return await embedded(repository, sides, files, how.limits, sample=how.sample)
    from lochan.engines.spark.session import session_at
    from lochan.jobs.diff_rows import diff_rows as compared

    about = f"{sides.name(LEFT)} {sides.name(RIGHT)}"
    with recorded(repository, "diff", about, actor=how.actor, where=how.spark.where) as run:
        spark = session_at(how.spark, how.limits)
        spark.conf.set("spark.sql.shuffle.partitions", _FEW)
        work = partial(compared, spark, place, sides, sample=how.sample)
        listener = listener_of(run, how.watch)
        found = await on_spark(spark, work, tag=f"lochan-diff-{run.id}", about=f"diff {about}", listener=listener)
        run.rows(sum(found.counts.values()))
        return found
