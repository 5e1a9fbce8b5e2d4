"""Runs a plan on Spark: its rows as Arrow batches, and what it used is free when it is closed."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import Limits, cancelled, out_of_memory, out_of_time
from lochan.engines.duckdb.run import place_files
from lochan.engines.duckdb.workplace import Workplace
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.scan import Views, used_tables
from lochan.engines.spark.session import session_at
from lochan.errors import LochanError, Refused
from lochan.query.dialects import render
from lochan.query.prepare import Prepared
from lochan.query.sources.snapshot import DataObject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 65_536  # of a batch
_AGAIN_S = 0.5


@dataclass
class SparkRun:
    """`batches` can be gone through once."""

    job: Job
    views: Views
    work: Workplace
    folder: str  # of copies, gone with it
    sql: str
    batches: Iterator[pa.RecordBatch]
    missing: Sequence[DataObject] = field(default_factory=list)  # that the rows lack

    def cancel(self) -> None:
        """From any thread: whoever reads the rows gets Cancelled."""
        self.job.interrupt(cancelled())

    def close(self) -> None:
        """May be called twice."""
        self.job.end()
        self.views.drop()
        self.work.close()
        shutil.rmtree(self.folder, ignore_errors=True)


async def start(
    prepared: Prepared, files: Files, work: Workplace, limits: Limits, place: SparkPlace, *, go_on: bool = False
) -> SparkRun:
    """Raises Gone where a data object is not there any more, unless told to go on without it; Refused where Spark does
    not start, or cannot give the rows that the query means."""
    render(prepared.plan.query, "spark")  # what it cannot do is said before a JVM is started
    _check_reach(files, work, place)
    spark = session_at(place, limits)
    views = Views(spark)
    folder = tempfile.mkdtemp(prefix="lochan-")
    try:
        paths, missing = await place_files(prepared, files, folder, go_on=go_on)
        scans = prepared.opening.scans
        for name, there in paths.items():
            views.add_files(scans.files[name], name, there)
        for name, table in used_tables(prepared.plan.query, scans).items():
            views.add_table(name, table)
        sql = render(views.named(prepared.plan.query.copy()), "spark")
        job = Job(Tagged(spark, folder.rpartition("/")[2], place), spark.sql(sql), limits)
        return SparkRun(job, views, work, folder, sql, job.batches(), missing)
    except BaseException:
        views.drop()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_reach(files: Files, work: Workplace, place: SparkPlace) -> None:
    """A cluster reads a lake in a folder that all of its machines have; it cannot read what is copied to this one."""
    if not place.is_here and (work.folders or not files.folders):
        what = "files of a repository" if work.folders else "objects of this lake's store"
        raise Refused(
            f"Spark on {place.remote or place.master} cannot read {what}: they are copied to this machine first",
            hint="run it on duckdb, or with --master local[*]",
        )


class Job:
    """One statement on its way, on a thread of its own: who waits for it can be interrupted, a call into the JVM
    cannot."""

    def __init__(self, tagged: Tagged, frame: DataFrame, limits: Limits) -> None:
        self._tagged = tagged
        self._frame = frame
        self._limits = limits
        self._done: Future[pa.Table] = Future()
        self._ended = threading.Event()  # Spark is through with it
        self._why: LochanError | None = None
        self._timer: threading.Timer | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """It runs when the first is asked for. All rows are here, within the limit of memory, before that is given."""
        if self._why is not None:
            raise self._why
        if self._limits.seconds is not None:
            self._timer = threading.Timer(self._limits.seconds, self.interrupt, (out_of_time(self._limits),))
            self._timer.daemon = True
            self._timer.start()
        self._done.set_running_or_notify_cancel()
        _start(self._collect)
        try:
            table = self._done.result()
        except LochanError:
            raise
        except Exception as error:
            raise self._explained(error) from error
        finally:
            self.end()
        yield from table.to_batches(_ROWS)

    def interrupt(self, why: LochanError) -> None:
        """Whoever waits is told at once; Spark ends its tasks meanwhile."""
        self._why = self._why or why
        if self._done.running():
            self._settle(self._why)
            _start(self._stop)

    def end(self) -> None:
        """May be called twice."""
        if self._timer is not None:
            self._timer.cancel()
        self.interrupt(cancelled())

    def _collect(self) -> None:
        try:
            self._tagged.begin()
            self._settle(self._frame.toArrow())
        except Exception as error:  # for who waits
            self._settle(error)
        finally:
            self._ended.set()

    def _settle(self, outcome: pa.Table | Exception) -> None:
        with suppress(InvalidStateError):  # the other was first
            if isinstance(outcome, Exception):
                self._done.set_exception(outcome)
            else:
                self._done.set_result(outcome)

    def _stop(self) -> None:
        """More than once: it may just be about to start, or to go on with its next part."""
        with suppress(Exception):  # nobody waits any more
            self._tagged.stop()
            while not self._ended.wait(_AGAIN_S):
                self._tagged.stop()

    def _explained(self, error: Exception) -> Exception:
        said = str(error)
        if "maxResultSize" in said or "OutOfMemoryError" in said:
            return out_of_memory(self._limits)
        first = said.strip().partition("\n")[0]
        return Refused(f"Spark has failed: {first}", hint="with --engine duckdb it may go through")


class Tagged:
    """What one thread starts, by a name that nobody else has. Behind Connect the session's own tags do; in a JVM of
    ours they are not handed on to the thread that collects rows, and the context's are."""

    def __init__(self, spark: SparkSession, tag: str, place: SparkPlace) -> None:
        self._spark = spark
        self._tag = tag
        self._remote = bool(place.remote)

    def begin(self) -> None:
        """On the thread that starts it."""
        if self._remote:
            self._spark.addTag(self._tag)
            return
        self._spark.sparkContext.addJobTag(self._tag)
        self._spark.sparkContext.setInterruptOnCancel(True)

    def stop(self) -> None:
        """From any thread."""
        if self._remote:
            self._spark.interruptTag(self._tag)
        else:
            self._spark.sparkContext.cancelJobsWithTag(self._tag)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
