"""A frame becomes one commit. Rows are spread over the tasks by the pool's key, so that objects do not overlap."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lochan.errors import Invalid
from lochan.formats.pool_settings import Path, PoolSettings
from lochan.jobs.job_commit import LandResult
from lochan.jobs.tasks import numbered, run_tasks
from lochan.spark.frame_origin import origins_of
from lochan.spark.job import PoolJob, Replace, begin, landed_by_key
from lochan.spark.job_report import told
from lochan.spark.lakes import found_lake
from lochan.spark.schemas import check_schema
from lochan.store.counts import RequestCounts
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.uri import prefix_uri

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

APPEND, OVERWRITE = "append", "overwrite"
MODES = (APPEND, OVERWRITE)


def write(
    frame: DataFrame,
    uri: str,
    *,
    mode: str = APPEND,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    spread: bool = True,
    parts: int | None = None,
    expect: str = "",
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    key: str = "",
) -> LandResult:
    """Into a pool (`logs@main`), or as Parquet files of a repository (`sales@main/2026/`). `overwrite` puts the rows in
    place of all that is there, in the same commit. Where the frame was read from there, that is refused if something
    has come since; `expect` names the head that may be replaced, whatever was read.

    Without `spread` rows stay where they are: no shuffle, and objects that overlap; `parts` is how many tasks they are
    spread over, if Spark is not to say. Whoever does not learn whether it was written (a driver that was killed, an
    answer that was lost) writes again with the same idempotency `key`, and nothing comes twice. Raises what keeps the
    rows from being kept, and PreconditionFailed for an overwrite that is refused; then nothing has changed."""
    if mode not in MODES:
        raise Invalid(f"{mode!r} is no way to write", hint=f"there are {' and '.join(MODES)}")
    if expect and mode != OVERWRITE:
        raise Invalid("only an overwrite expects a head", hint=f"leave `expect` out, or say mode={OVERWRITE!r}")
    check_schema(frame.schema)
    said, counts, at = CommitMessage(message, metadata or {}), RequestCounts(), prefix_uri(uri)
    place = found_lake(lake, options).keyed(key, "write", uri, mode, said)
    before = landed_by_key(place, at, counts) if key else None
    if before is not None:
        return before
    replace = Replace(origins_of(frame), expect) if mode == OVERWRITE else False
    job = begin(place, at, said, replace=replace, counts=counts)
    if spread and isinstance(job, PoolJob):
        frame = spread_by_key(frame, job.target.settings, parts)
    with told(frame.sparkSession, place, "write", job.about, counts) as run:
        messages = run_tasks(frame, job.write)
        run.wrote(sum(each.put_bytes for each in messages))
        landed = job.land(messages, counts)
        run.rows(landed.rows)
    return landed


def spread_by_key(frame: DataFrame, settings: PoolSettings, parts: int | None = None) -> DataFrame:
    """By ranges of those fields of the key that the frame has; as it is where it has none."""
    schema = frame.schema
    keys = [found for key in settings.keys if key.path and (found := _column(schema, key.path)) is not None]
    if not keys:
        return frame
    rows = numbered(frame)
    spread = rows.repartitionByRange(*keys) if parts is None else rows.repartitionByRange(parts, *keys)
    return spread.toDF(*schema.names)


def _column(schema: StructType, path: Path) -> Column | None:
    """Of a numbered frame."""
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
