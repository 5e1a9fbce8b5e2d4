"""Runs a plan on Spark: returns its rows as Arrow batches, and frees its resources when it is closed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.files import Files, PlacedObject, gone_error
from lochan.engines.duckdb.limits import Limits, cancelled_error, in_time
from lochan.engines.duckdb.run import WorkFolders, place_files, placed_objects
from lochan.engines.spark.errors import SparkFailed, explain_error, is_missing_file
from lochan.engines.spark.file_access import Bucket, check_reach, files_for
from lochan.engines.spark.job import SparkStatement, Tagged
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import Listener, Watch
from lochan.engines.spark.scan import Views, used_tables
from lochan.engines.spark.session import check_is_literal, session_at
from lochan.engines.spark.waves import Sizes, Wave, sizes_for, waves, whole
from lochan.errors import LochanError
from lochan.pools.snapshot import DataObject
from lochan.query.dialects import render
from lochan.query.prepare import Prepared
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.scratch import make_folder
from lochan.store.verified_files import VerifiedFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LakeFiles(NamedTuple):
    """The place of a lake, with its store and files."""

    files: Files
    place: StoreLocation
    store: Store
    verified: VerifiedFiles


@dataclass
class SparkRun:
    """A run of a plan. `batches` can be iterated once."""

    job: SparkStatement
    views: Views
    work: WorkFolders
    folder: str  # the folder of copies, which is removed with it
    sql: str
    batches: Iterator[pa.RecordBatch]
    missing: Sequence[DataObject] = field(default_factory=list)  # objects whose rows are missing
    watch: Watch | None = None
    at_close: Callable[[], None] = lambda: None

    def cancel(self) -> None:
        """Cancels the run, from any thread: the reader of the rows gets Cancelled."""
        self.job.interrupt(cancelled_error())

    def end_watch(self) -> None:
        """Ends the progress reports, after those of the last stages."""
        if self.watch is not None:
            self.watch.end()

    def close(self) -> None:
        """Frees the run's resources. Calling it again does nothing harmful."""
        self.job.end()
        self.end_watch()
        self.views.drop()
        self.work.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.at_close()


async def start(
    prepared: Prepared,
    lake: LakeFiles,
    work: WorkFolders,
    limits: Limits,
    place: SparkPlace,
    *,
    about: str = "query",
    go_on: bool = False,
    listener: Listener | None = None,
) -> SparkRun:
    """Starts a run. Raises Gone if a data object no longer exists, unless `go_on` leaves it out, and Refused if Spark
    does not start, or cannot return the rows that the query means."""
    render(prepared.plan.query, "spark")  # unsupported parts are reported before a JVM is started
    check_reach(lake.files, work, place, lake.place)
    spark = session_at(place, limits)
    views = Views(spark)
    folder = make_folder()
    try:
        files = files_for(spark, lake.files, place, lake.place, lake.store, lake.verified)
        async with in_time(limits):
            paths, missing = await place_files(prepared, files, folder, go_on=go_on)
        _add_views(prepared, files, views, paths)
        sizes = sizes_for(prepared.plan.query, limits)
        sizes.fit(spark, _read_bytes(prepared))
        sql = render(views.named(prepared.plan.query.copy()), "spark")
        check_is_literal(spark, sql)
        tagged = Tagged(spark, folder.rpartition("/")[2], about)
        job = SparkStatement(tagged, _rows(spark.sql(sql), sizes), limits)
        watch = None if listener is None else Watch(spark, tagged.tag, listener)
        why = partial(_why_unread, files, placed_objects(prepared.opening.scans, paths, missing))
        return SparkRun(job, views, work, folder, sql, _stream(job.batches(), why), missing, watch)
    except BaseException as error:
        views.drop()
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, LochanError) or not isinstance(error, Exception):
            raise
        raise _explain(error, prepared, limits) from error


def _stream(batches: Iterator[pa.RecordBatch], why: Callable[[str], LochanError | None]) -> Iterator[pa.RecordBatch]:
    """Yields the batches. `why` may find a better reason for a failure than Spark has."""
    try:
        yield from batches
    except SparkFailed as error:
        raise why(f"{error} {error.__cause__}") or error from error.__cause__


def _why_unread(files: Files, placed: Sequence[PlacedObject], text: str) -> LochanError | None:
    """Finds why Spark could not read the objects that its error names. In a folder, all objects are checked if it names
    none."""
    named = [each for each in placed if each.object.address in text]
    if not named and not files.folders:
        return None
    return files.failure(named or placed)


def _add_views(prepared: Prepared, files: Files, views: Views, paths: Mapping[str, Sequence[str]]) -> None:
    scans = prepared.opening.scans
    options = files.options if isinstance(files, Bucket) else {}
    for name, there in paths.items():
        views.add_files(scans.files[name], name, there, options)
    for name, table in used_tables(prepared.plan.query, scans).items():
        views.add_table(name, table)


def _rows(frame: DataFrame, sizes: Sizes) -> Callable[[], Iterator[Wave]]:
    return lambda: whole(frame) if sizes.few else waves(frame, sizes)


def _read_bytes(prepared: Prepared) -> int:
    return sum(int(pool.snapshot.sizes[pool.objects].sum()) for pool in prepared.opening.pools)


def _explain(error: Exception, prepared: Prepared, limits: Limits) -> LochanError:
    """Converts an error. A path that Spark could not find is an object that is gone."""
    if is_missing_file(error):
        for scan in prepared.opening.scans.files.values():
            for each in scan.objects:
                if each.address in str(error):
                    return gone_error(each)
    return explain_error(error, limits)
