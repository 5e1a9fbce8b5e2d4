"""Rows that differ between two commits, as a frame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.engines.row_diff.sides import RowDiffRequest, Sides, row_diff_request, sides_of
from lochan.jobs.diff_rows import diff_rows_on_spark, differences
from lochan.lake import Lake
from lochan.spark.lakes import found_lake, on_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def diff(
    spark: SparkSession,
    left: str,
    right: str,
    *,
    key: str | Sequence[str] | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Between two refs of a pool (`logs@main`, `logs@dev`), or of files of a repository (`demo@main/data/`): a row for
    each that differs, with `change`, `times`, `key`, `before`, `after`, `lefts` and `rights`.

    `key` are fields that tell rows apart, by default the pool's primary key; with none (`[]`), whole rows are compared.
    By key all is read at once, to find rows that it does not tell apart, and kept for who uses the frame, until it is
    told `unpersist()`. Raises Invalid for such rows, NotFound."""
    place = found_lake(lake, options)
    name, wish = row_diff_request(left, right, [key] if isinstance(key, str) else key)
    sides = on_lake(place, lambda lake: _sides(lake, name, wish))
    if not sides.keys:
        return differences(spark, place.store, sides)
    found: DataFrame = diff_rows_on_spark(spark, place.store, sides, sample=0).frame
    return found


async def _sides(lake: Lake, name: str, wish: RowDiffRequest) -> Sides:
    repository = await lake.open_repository(name)
    try:
        return await sides_of(repository, wish)
    finally:
        await repository.close()
