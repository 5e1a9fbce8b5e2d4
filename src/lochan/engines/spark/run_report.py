"""A run tells whoever keeps a record of it: its stages, its rows, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lochan.engines.duckdb.limits import cancelled
from lochan.engines.spark.progress import Listener
from lochan.formats.job import JobStageRecord
from lochan.formats.record import Actor

if TYPE_CHECKING:
    from lochan.engines.spark.run import SparkRun


class RunReporter(Protocol):
    """Of how it ended, the first word counts."""

    def stages(self, stages: Sequence[JobStageRecord]) -> None: ...

    def rows(self, count: int) -> None: ...

    def log(self, text: str) -> None: ...

    def end(self) -> None: ...

    def failed(self, error: BaseException) -> None: ...


# By kind, what it is about, who wants it, and where it runs.
Tell = Callable[[str, str, Actor, str], RunReporter]


def listener_of(told: RunReporter, watch: Listener | None) -> Listener:
    """Both are told."""
    if watch is None:
        return told.stages

    def both(stages: Sequence[JobStageRecord]) -> None:
        told.stages(stages)
        watch(stages)

    return both


def tell_of(run: SparkRun, told: RunReporter) -> SparkRun:
    """The same run; one that is closed before its last row was cancelled."""
    run.batches = _told(run, run.batches, told)
    run.at_close = lambda: told.failed(cancelled())
    return run


def _told(run: SparkRun, batches: Iterator[pa.RecordBatch], told: RunReporter) -> Iterator[pa.RecordBatch]:
    count = 0
    try:
        for batch in batches:
            count += batch.num_rows
            told.rows(count)
            yield batch
    except Exception as error:
        run.end_watch()
        told.failed(error)
        raise
    told.rows(count)
    run.end_watch()
    told.end()
