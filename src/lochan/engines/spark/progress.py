"""Reports the progress of the work that one thread does on Spark, from time to time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from lochan.engines.duckdb.limits import cancelled_error
from lochan.formats.job import JobStageRecord
from lochan.formats.record import Actor

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lochan.engines.spark.run import SparkRun


Listener = Callable[[Sequence[JobStageRecord]], None]

_EVERY_S = 0.5
_STAGES_MAX = 100
_numbers = count(1)


@contextmanager
def watch(spark: SparkSession, listener: Listener) -> Iterator[None]:
    """Reports what this thread starts on Spark meanwhile. A session behind Connect reports nothing."""
    context = context_of(spark)
    if context is None:
        yield
        return
    tag = f"lochan-watched-{next(_numbers)}"
    context.addJobTag(tag)
    watch = Watch(spark, tag, listener)
    try:
        yield
    finally:
        watch.end()
        context.removeJobTag(tag)


class Watch:
    def __init__(self, spark: SparkSession, tag: str, listener: Listener) -> None:
        self._context = context_of(spark)
        self._tag = tag
        self._listener = listener
        self._over = threading.Event()
        self._known: dict[int, JobStageRecord] = {}  # stages that are done
        self._thread = threading.Thread(target=self._look, name="lochan-watch", daemon=True)
        if self._context is not None:
            self._thread.start()

    def end(self) -> None:
        """Reports once more, and ends. Calling it again does nothing."""
        if not self._over.is_set():
            self._over.set()
            if self._context is not None:
                self._thread.join(5)

    def _look(self) -> None:
        with suppress(Exception):  # the session was stopped, so there is nothing to report
            while not self._over.wait(_EVERY_S):
                self._listener(self._stages())
            self._listener(self._stages())

    def _stages(self) -> list[JobStageRecord]:
        context: Any = self._context
        tracker = context.statusTracker()
        found: dict[int, JobStageRecord] = {}
        for job in sorted(context._jsc.sc().statusTracker().getJobIdsForTag(self._tag))[-_STAGES_MAX:]:
            info = tracker.getJobInfo(job)
            for number in info.stageIds if info else ():
                stage = self._known.get(number) or _stage(tracker, number, info.status == "RUNNING")
                if stage is not None:
                    found[number] = stage
        self._known = {number: stage for number, stage in found.items() if stage.done == stage.total}
        return [found[number] for number in sorted(found)][-_STAGES_MAX:]


def context_of(spark: SparkSession) -> Any:
    """Returns the context, or None behind Connect."""
    return spark.sparkContext if hasattr(spark, "_jsparkSession") else None


def is_remote(spark: SparkSession) -> bool:
    """Returns whether the session is behind Connect, where a frame is analyzed only when it runs, so what it names must
    stay."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def master_of(spark: SparkSession) -> str:
    """Returns where Spark runs, as the session itself reports it."""
    with suppress(Exception):  # a server of Connect may not report it
        return spark.conf.get("spark.master") or ""
    return ""


def _stage(tracker: Any, number: int, running: bool) -> JobStageRecord | None:
    """Returns the stage, or None for one that was skipped because its rows existed already."""
    info = tracker.getStageInfo(number)
    if info is None or not (running or info.numCompletedTasks or info.numFailedTasks):
        return None
    return JobStageRecord(number, info.name, info.numCompletedTasks, info.numTasks, info.numFailedTasks)


# --- the record of a run: its stages, its rows, and how it ended -----------------------------------------------------
class RunReporter(Protocol):
    """Receives the reports of a run. If its end is reported more than once, the first report counts."""

    def stages(self, stages: Sequence[JobStageRecord]) -> None: ...

    def rows(self, count: int) -> None: ...

    def log(self, text: str) -> None: ...

    def end(self) -> None: ...

    def failed(self, error: BaseException) -> None: ...


# Called with the kind, the names it works on, the user, and where it runs.
Tell = Callable[[str, str, Actor, str], RunReporter]


def listener_of(report: RunReporter, watch: Listener | None) -> Listener:
    """Returns a listener that reports to both."""
    if watch is None:
        return report.stages

    def both(stages: Sequence[JobStageRecord]) -> None:
        report.stages(stages)
        watch(stages)

    return both


def tell_of(run: SparkRun, report: RunReporter) -> SparkRun:
    """Returns the same run, which reports its rows. A run that is closed before its last row counts as cancelled."""
    run.batches = _report_rows(run, run.batches, report)
    run.at_close = lambda: report.failed(cancelled_error())
    return run


def _report_rows(run: SparkRun, batches: Iterator[pa.RecordBatch], report: RunReporter) -> Iterator[pa.RecordBatch]:
    count = 0
    try:
        for batch in batches:
            count += batch.num_rows
            report.rows(count)
            yield batch
    except Exception as error:
        run.end_watch()
        report.failed(error)
        raise
    report.rows(count)
    run.end_watch()
    report.end()
