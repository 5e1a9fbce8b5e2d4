"""Deletes, updates or merges rows of a pool, each by one commit.

    lochan.spark.delete(spark, "logs@main", "status < 400")
    lochan.spark.update(spark, "logs@main", {"status": "status + 1"}, where="host = 'web-1'")
    lochan.spark.merge(spark, "users@main", changes, on=["id"], when_matched="update", when_not_matched="insert")

Conditions and values are Spark's: SQL or columns. The rows are read at the commit that the branch has when the call
begins. Rows that are not selected, and fields that get no new value, stay exactly as they were stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.options import CommitOptions
from lochan.connection import spark_lake
from lochan.spark.merge_clauses import Clause, MergeAction, clauses_of, merged_rows
from lochan.spark.table_changes import Condition, TableRows, Value, column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lochan.api.spark_tasks import LandResult


class Commit(NamedTuple):
    """The commit that a statement makes, and its lake."""

    message: str = ""
    metadata: Mapping[str, str] | None = None
    key: str = ""
    lake: str | os.PathLike[str] | None = None
    options: Mapping[str, str] | None = None


def delete(
    spark: SparkSession,
    uri: str,
    where: Condition,
    *,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    key: str = "",
) -> LandResult:
    """Deletes the rows for which the condition is true. `changed` of the result has their number. Raises
    ConcurrentCommit if one of the data objects was changed meanwhile, and then nothing has changed; raises NotFound."""

    def changes(table: TableRows) -> DataFrame:
        return table.deleted(table.rows.where(column_of(where)))

    return _run(spark, uri, "delete", changes, Commit(message, metadata, key, lake, options))


def update(
    spark: SparkSession,
    uri: str,
    set: Mapping[str, Value],
    where: Condition = "true",
    *,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    key: str = "",
) -> LandResult:
    """Updates the rows for which the condition is true. `set` gives columns of the table their new values, as SQL over
    the row or as columns of Spark; each is cast to the type of its column. Raises Invalid for a column that the table
    does not have, and the same as `delete`."""

    def changes(table: TableRows) -> DataFrame:
        return table.updated(table.rows.where(column_of(where)), table.assigned(set))

    return _run(spark, uri, "update", changes, Commit(message, metadata, key, lake, options))


def merge(
    spark: SparkSession,
    uri: str,
    source: DataFrame,
    on: Condition | Sequence[str],
    *,
    when_matched: MergeAction | Sequence[tuple[Condition, MergeAction]] = (),
    when_not_matched: MergeAction | Sequence[tuple[Condition, MergeAction]] = (),
    when_not_matched_by_source: MergeAction | Sequence[tuple[Condition, MergeAction]] = (),
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    lake: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    key: str = "",
) -> LandResult:
    """Merges the rows of a frame into a pool. `on` names columns that both sides have, or is a condition over `target`
    and `source`, as are all others: `"target.id = source.id"`.

    An action is "update" (all columns of the source), "insert", "delete", or new values by their columns. Several
    actions are a list of pairs of a condition and an action; the first whose condition is true is carried out. Raises
    Invalid if several rows of the source match a row, and the same as `delete`."""
    clauses: list[Clause] = [
        *clauses_of("matched", when_matched),
        *clauses_of("not_matched", when_not_matched),
        *clauses_of("not_matched_by_source", when_not_matched_by_source),
    ]

    def changes(table: TableRows) -> DataFrame:
        return merged_rows(table, source, on, clauses)

    return _run(spark, uri, "merge", changes, Commit(message, metadata, key, lake, options))


def _run(
    spark: SparkSession, uri: str, command: str, changes: Callable[[TableRows], DataFrame], commit: Commit
) -> LandResult:
    with spark_lake(commit.lake, commit.options).connect(counted=True) as opened:
        planned = opened.frames.read(spark, uri, metadata=True)
        options = CommitOptions(message=commit.message, metadata=commit.metadata or {}, key=commit.key)
        begun = opened.frames.change(uri, planned.commit, options, command=command)
        frame = changes(TableRows(planned.frame(spark)))
        landed: LandResult = begun.run(frame)
    return landed
