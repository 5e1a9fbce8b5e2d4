"""Queries as doors see them: their options and results, what runs them, what they fail by, and their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from lochan.api.options import EngineOptions, QueryOptions
from lochan.engines.duckdb.limits import Cancelled, LimitReached, OutOfTime, cancelled, out_of_time, shown
from lochan.engines.spark.errors import SparkEnded

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.engines.result import Result as Result
    from lochan.engines.result import Stats as Stats
    from lochan.engines.row_diff.result import RowChange as RowChange
    from lochan.engines.row_diff.result import RowDiff as RowDiff
    from lochan.engines.run_query import RunOptions
    from lochan.engines.spark.progress import Listener
    from lochan.lake import Lake

__all__ = [
    "Cancelled",
    "LimitReached",
    "OutOfTime",
    "SparkEnded",
    "StageProgress",
    "cancelled",
    "check_ref",
    "functions",
    "is_sql",
    "operators",
    "out_of_time",
    "run_options",
    "run_query",
    "shown",
    "table_pages",
    "warm_up",
]


class StageProgress(Protocol):
    """How far a stage of Spark is, in tasks."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


async def run_query(lake: Lake, text: str, options: RunOptions | None = None) -> Result:
    """At the snapshot of this moment. Raises QueryError, Gone, Refused."""
    from lochan.engines.run_query import RunOptions, run_query

    return await run_query(lake.queries(), text, options or RunOptions())


def run_options(
    session: Session,
    text: str,
    options: EngineOptions,
    pool: str = "",
    key: str = "",
    progress: Listener | None = None,
) -> RunOptions:
    from lochan.engines.run_query import RunOptions

    chosen = RunOptions(
        current=pool,
        engine=options.engine,
        limits=options.limits,
        go_on=options.skip_missing,
        actor=session.acting(key, "query", text),
        spark=session.spark(options.master),
        watch=progress,
    )
    if not isinstance(options, QueryOptions):
        return chosen
    return chosen._replace(
        ref=options.ref,
        reads_only=options.reads_only,
        permits=options.permits or chosen.permits,
        alive=options.alive or chosen.alive,
        spark=options.spark or chosen.spark,
    )


def is_sql(text: str) -> bool:
    from lochan.query.syntax.tokens import is_sql

    return is_sql(text)


def check_ref(text: str) -> None:
    """Of what stands behind an @: a branch, a tag, a commit, or `{a time}`. Raises Invalid."""
    from lochan.versioning.uri import parse_ref

    parse_ref(f"main@{text}" if text.startswith("{") else text)


def warm_up() -> None:
    """Starts what the first query that reads files would wait for. Raises Refused where it cannot be had."""
    from lochan.engines.duckdb.load.decode import warm

    warm()


def table_pages(result: Result) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Its rows as texts for a table, page by page: the names of columns, and the cells."""
    from lochan.query.output.formats import table_pages as pages

    return pages(result.batches(), result.row)


def operators() -> list[str]:
    from lochan.query.syntax.parse import OPERATORS

    return list(OPERATORS)


def functions() -> list[str]:
    """With aggregates."""
    from lochan.query.functions import AGGREGATES, FUNCTIONS

    return [*AGGREGATES, *FUNCTIONS]
