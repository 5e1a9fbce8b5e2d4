"""Writes a frame as one commit. Rows are spread over the tasks by the pool's key, so that objects do not overlap."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.api.frames import APPEND, OVERWRITE, RowOptions
from lochan.api.options import CommitOptions
from lochan.connection import spark_lake
from lochan.errors import Invalid
from lochan.spark.source_options import STATIC, is_dynamic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

    from lochan.api.spark_tasks import LandResult

# These are names, because not every supported version of Spark has all of these types.
_NOT_KEPT = {
    "CalendarIntervalType": "an interval of months and days",
    "YearMonthIntervalType": "an interval of months",
    "VariantType": "a variant",
    "GeometryType": "a geometry",
    "GeographyType": "a geography",
}


def write(
    frame: DataFrame,
    uri: str,
    *,
    mode: str = APPEND,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    spread: bool = True,
    parts: int | None = None,
    cache: bool = False,
    expect: str = "",
    replace_where: str = "",
    partition_by: Sequence[str] = (),
    partition_overwrite_mode: str = STATIC,
    merge_schema: bool = True,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    key: str = "",
) -> LandResult:
    """Writes the rows into a pool (`logs@main`), or as Parquet files of a repository (`sales@main/2026/`). `overwrite`
    replaces everything that is there, in the same commit. If the frame was read from there, that is refused if
    something has come since; `expect` names the head that may be replaced, whatever was read. `errorifexists` and
    `ignore` write only where there is nothing; otherwise the first raises AlreadyExists, and the second does nothing.

    In a pool, an overwrite with `replace_where` replaces the rows that pass this test of the pipe language, and every
    row that is written must pass it. Files come to folders named by the columns `partition_by` (`year=2026/`); with
    `partition_overwrite_mode="dynamic"` an overwrite replaces only the folders that get new rows. Without
    `merge_schema`, a column that the table of files lacks is refused; a pool takes rows of any shape.

    Without `spread` rows stay where they are: no shuffle, and objects that overlap; `parts` is the number of tasks that
    they are spread over, which Spark chooses by default. To spread rows, Spark samples their keys first, so the frame
    is computed twice; `cache` keeps its rows on the executors' disks meanwhile, so it is computed once.

    A program that does not learn whether its rows were written, because a driver was killed or an answer was lost, can
    write again with the same idempotency `key`, and nothing comes twice. Raises an error for rows that cannot be
    stored, and PreconditionFailed for an overwrite that is refused; then nothing has changed."""
    from lochan.api.spark_tasks import origins_of

    if expect and mode != OVERWRITE:
        raise Invalid("only an overwrite expects a head", hint=f"leave `expect` out, or say mode={OVERWRITE!r}")
    check_schema(frame.schema)
    commit = CommitOptions(message=message, metadata=metadata or {}, key=key)
    origins = origins_of(frame)  # for an overwrite, and for the lineage of any write
    rows = RowOptions(replace_where, partition_by, is_dynamic(partition_overwrite_mode), merge_schema, frame.schema)
    with spark_lake(lake, options).connect(counted=True) as opened:
        begun = opened.frames.write(uri, commit, mode=mode, origins=origins, expect=expect, rows=rows)
        landed: LandResult = begun.run(frame, spread=spread, parts=parts, cache=cache)
    return landed


def check_schema(schema: StructType) -> None:
    """Checks a frame's columns. Call it before anything is written. Raises Invalid for columns that neither a pool nor
    a file can store."""
    if not schema.fields:
        raise Invalid("the frame has no columns", hint="nothing was written")
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise Invalid(f"the column {twice[0]!r} comes twice", hint="nothing was written; give each its own name")
    for path, type in _types("", schema):
        what = _NOT_KEPT.get(type.__class__.__name__)
        if what is not None:
            raise Invalid(f"the column {path} holds {what}, which no row can keep", hint="cast it, or leave it out")


def _types(path: str, type: DataType) -> Iterator[tuple[str, DataType]]:
    """Yields the types of all columns, including nested ones."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if path:
        yield path, type
    if isinstance(type, StructType):
        for field in type.fields:
            yield from _types(f"{path}.{field.name}" if path else field.name, field.dataType)
    elif isinstance(type, ArrayType):
        yield from _types(path, type.elementType)
    elif isinstance(type, MapType):
        yield from _types(path, type.keyType)
        yield from _types(path, type.valueType)
