"""A lake for users of Spark: frames of a session of theirs, and the parts and the commits of a data source.

The results of these verbs have the methods that need a session: they run on the caller's thread, whose settings (a job
group, a pool of the scheduler) are Spark's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from lochan.api.branch import message_of
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.uri import Uri, prefix_uri
from lochan.errors import AlreadyExists, Invalid
from lochan.formats.usage import SCAN
from lochan.pools.feed_options import FeedOptions as FeedOptions
from lochan.versioning.lineage import LineageInput, lineage_metadata

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lochan.api.session import Session
    from lochan.engines.row_diff.sides import Sides
    from lochan.engines.spark.frames.feed import PoolFeed as PoolFeed
    from lochan.engines.spark.frames.feed_parts import FeedTask as FeedTask
    from lochan.engines.spark.frames.file_scan_plan import FileScanPlan as FileScanPlan
    from lochan.engines.spark.frames.origin import Origin
    from lochan.engines.spark.frames.read_plan import ReadRequest
    from lochan.engines.spark.frames.scan_plan import ScanPlan as ScanPlan
    from lochan.jobs.job_commit import LandResult
    from lochan.jobs.messages import TaskMessage
    from lochan.jobs.record import JobReporter
    from lochan.jobs.streams.batches import BatchListener, StreamLake
    from lochan.jobs.streams.spark_stream import FrameStream
    from lochan.jobs.write import WriteJob
    from lochan.store.open import StoreLocation
    from lochan.versioning.heads.moves import CommitMessage

APPEND, OVERWRITE, IGNORE, ERROR_IF_EXISTS = "append", "overwrite", "ignore", "errorifexists"
MODES = (APPEND, OVERWRITE, IGNORE, ERROR_IF_EXISTS)


SPARK_SCHEMA = "spark.schema"  # in the metadata of a pool: the columns that CREATE TABLE declared, as Spark's JSON


@dataclass(frozen=True)
class RowOptions:
    """Options of a write: the rows that it replaces, and the folders of a table's rows."""

    replace_where: str = ""  # of a pool: an overwrite replaces the rows that pass, and all new rows must pass
    partition_by: Sequence[str] = ()  # of files: columns that name folders, `year=2026/`
    dynamic: bool = False  # an overwrite replaces only the partitions that rows are written to
    merge_schema: bool = True  # of files: the table may get new columns
    schema: StructType | None = None  # the schema of the rows

    def check(self, mode: str) -> None:
        """Raises Invalid for options that do not fit the mode."""
        if mode not in MODES:
            raise Invalid(f"{mode!r} is no way to write", hint=f"there are {', '.join(MODES)}")
        if mode != OVERWRITE and (self.replace_where or self.dynamic):
            what = "a test of the rows to be replaced" if self.replace_where else "the overwrite of partitions"
            raise Invalid(f"{what} needs mode {OVERWRITE!r}, and this is {mode!r}")
        if self.dynamic and not self.partition_by:
            raise Invalid("a dynamic overwrite replaces partitions, and there are none", hint="say partitionBy too")

    def request(self) -> list[object]:
        """Returns the options that distinguish a write from another one; empty if there are none."""
        chosen = [self.replace_where, list(self.partition_by), self.dynamic]
        return chosen if any(chosen) else []


ALL_ROWS = RowOptions()


class PlannedFrame(Protocol):
    @property
    def commit(self) -> str:
        """The commit that is read; empty for a workspace, whose files may change."""

    def frame(self, spark: SparkSession) -> DataFrame: ...


class SourceParts(Protocol):
    """The parts that a data source reads in its tasks. They can be pickled."""

    @property
    def schema(self) -> StructType: ...

    @property
    def commit(self) -> str:
        """The commit that is read; empty for a workspace, whose files may change."""

    @property
    def parts(self) -> Sequence[Any]: ...

    def read(self, part: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part. A task calls it."""


@dataclass(frozen=True)
class SourceScan:
    """A data source's scan of a pool, before Spark's filters are known."""

    request: ReadRequest
    plan: ScanPlan

    @property
    def schema_json(self) -> str:
        """The columns, which carry the commit that they are read at."""
        from lochan.engines.spark.frames.source_scan import source_schema

        return source_schema(self.plan)


@dataclass(frozen=True)
class RowDiffFrame:
    place: StoreLocation
    sides: Sides

    def frame(self, spark: SparkSession) -> DataFrame:
        """Returns the rows that differ. By key, everything is read at once, to find rows with the same key. Raises
        Invalid for such rows, Gone."""
        from lochan.jobs.diff_rows import diff_rows_on_spark, differences

        if not self.sides.keys:
            return differences(spark, self.place, self.sides)
        found: DataFrame = diff_rows_on_spark(spark, self.place, self.sides, sample=0).frame
        return found


class Frames:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def _note(self, uri: Uri) -> None:
        """Notes the read of a scan as a whole: a pool, or all files below a path. The driver calls it."""
        await self._session.note_read(SCAN, uri.repository, uri.ref, uri.path)

    async def read(
        self,
        spark: SparkSession,
        uri: str,
        *,
        where: str = "",
        columns: Sequence[str] = (),
        check: bool = True,
        metadata: bool = False,
    ) -> PlannedFrame:
        """Plans the read of a pool at a ref (`logs@main`), or of Parquet files of a repository (`sales@main/2026/`), at
        the commit that the ref means now. With `check`, data objects that were not checked before are compared with
        their SHA-256. With `metadata`, the columns `_commit`, `_object` and `_row` tell where a row of a pool is.
        Raises QueryError, NotFound, Refused for rows that make no table, Invalid for files that make none, Gone,
        Corrupt."""
        at, found = self._session.lake.queries(), prefix_uri(uri)
        await self._note(found)
        if "/" in uri:
            from lochan.engines.spark.frames.table_frame import table_frame

            if metadata:
                raise Invalid("only rows of a pool tell where they are from", hint="read the files without it")
            return await table_frame(spark, at, found, where, columns)
        from lochan.engines.spark.frames.frame import pool_frame
        from lochan.engines.spark.frames.read_plan import ReadRequest

        request = ReadRequest(found, where, columns)
        return await pool_frame(spark, at, request, check=check, metadata=metadata)

    async def metadata(self, source: str, *, where: str = "", columns: Sequence[str] = ()) -> PlannedFrame:
        """Plans the read of any source of metadata (`logs@main:objects`, `shop@v1:entries`, `:branches`), as it is now.
        `where` is a test of the pipe language. The entries of a commit without a test become a scan by Spark of the
        files that its tree consists of; everything else is read here first. Raises QueryError, NotFound, Invalid."""
        from lochan.engines.spark.frames.metadata_frame import MetadataTable, entry_scan

        place, meta = _metadata_source(source)
        if meta == "entries" and not where:
            uri = prefix_uri(place)
            await self._note(uri)
            scan = await entry_scan(self._session.lake.queries(), uri, where, columns)
            if scan is not None:
                return scan
        from lochan.api.lake import Lake
        from lochan.api.options import EngineOptions
        from lochan.query.syntax.unparse import name_text

        stages = [f"where {where}"] if where else []
        stages += [f"cut {', '.join(map(name_text, columns))}"] if columns else []
        text = " | ".join([f"from {source}", *stages])
        result = await Lake(self._session).query(text, EngineOptions(engine="duckdb"))
        return MetadataTable(result.to_arrow())

    async def scan(
        self, uri: str, filters: Sequence[Mapping[str, Any]] = (), *, known: Mapping[str, Set[str]] | None = None
    ) -> ScanPlan | FileScanPlan:
        """Plans what a scan of a pool, or of files of a repository, reads, for a caller that runs it elsewhere.
        `filters` are Spark's, as JSON. They leave out objects only if `known`, from an earlier plan, says which kinds
        of values a column has. Raises NotFound, Refused for rows that make no table, Invalid for files that make none,
        Gone, Corrupt."""
        from lochan.engines.spark.frames.scan_plan import scan_plan

        found = prefix_uri(uri)
        await self._note(found)
        if "/" in uri:
            from lochan.engines.spark.frames.file_scan_plan import file_scan_plan

            return await file_scan_plan(self._session.lake.queries(), found, run=known is not None)
        declared = (await self._session.repository(found.repository)).metadata.get(SPARK_SCHEMA, "")
        return await scan_plan(self._session.lake.queries(), found, filters, known, declared)

    async def parts(
        self,
        uri: str,
        *,
        where: str = "",
        columns: Sequence[str] = (),
        fields: Sequence[str] = (),
        low: str | None = None,
        high: str | None = None,
        commit: str = "",
    ) -> SourceParts:
        """Plans the same for a data source. `fields` are plain names, while `columns` are written as in a query; `low`
        and `high` bound the pool's key; `commit` is read instead of the ref. Raises as `read` does."""
        at, found = self._session.lake.queries(), prefix_uri(uri)
        await self._note(found)
        if "/" in uri:
            from lochan.engines.spark.frames.source_parts import table_parts

            return await table_parts(at, found)
        from lochan.engines.spark.frames.read_plan import ReadRequest
        from lochan.engines.spark.frames.source_parts import pool_parts
        from lochan.query.syntax.unparse import name_text

        chosen = tuple(map(name_text, fields)) or tuple(columns)
        place = found._replace(ref=commit) if commit else found
        return await pool_parts(at, ReadRequest(place, where, chosen, low, high))

    async def feed(
        self,
        uri: str,
        options: FeedOptions,
        *,
        where: str = "",
        columns: Sequence[str] = (),
        fields: Sequence[str] = (),
        commit: str = "",
    ) -> PoolFeed:
        """Opens a branch of a pool as a stream of its new rows, commit by commit. Its columns are those that the pool
        has now, or had at a commit; `where`, `columns` and `fields` mean the same as in `parts`. Raises QueryError,
        NotFound, Invalid if it is no branch of a pool, Refused for a pool that has no rows yet."""
        from lochan.engines.spark.frames.feed import open_feed

        request = _request(uri, where, columns, fields)
        return await open_feed(self._session.lake.queries(), request, options, commit=commit)

    async def changes(
        self,
        uri: str,
        options: FeedOptions,
        *,
        until: str = "",
        where: str = "",
        columns: Sequence[str] = (),
        fields: Sequence[str] = (),
    ) -> PoolFeed:
        """Opens what the commits of a branch changed, up to a commit or up to now: a feed that ends. Raises as `feed`,
        and Gone if objects of these commits are no longer kept."""
        from lochan.engines.spark.frames.feed import open_changes

        request = _request(uri, where, columns, fields)
        await self._note(request.uri)
        return await open_changes(self._session.lake.queries(), request, options, until)

    async def feed_start(self, feed: PoolFeed) -> str:
        """Returns the position that a new stream begins at. Raises NotFound, Invalid for a start that is not on the
        branch."""
        from lochan.engines.spark.frames.feed import feed_start

        return await feed_start(self._session.lake.queries(), feed)

    async def feed_end(self, feed: PoolFeed, start: str | None) -> str:
        """Returns the position that the next batch goes to: `start` itself if nothing is new, and the head of the
        branch if `start` is None. Raises Refused if the branch was moved to where it does not follow from the start."""
        from lochan.engines.spark.frames.feed import feed_end

        return await feed_end(self._session.lake.queries(), feed, start)

    async def feed_batch(self, feed: PoolFeed, start: str, end: str) -> Sequence[FeedTask]:
        """Returns what lies between two positions, in parts for tasks. The answer is always the same. Raises Refused
        for commits that deleted rows or wrote them anew, unless the options say what to do with them, and for rows that
        do not fit the feed's columns; Gone if they are no longer kept."""
        from lochan.engines.spark.frames.feed import feed_batch

        await self._note(feed.uri)
        return await feed_batch(self._session.lake.queries(), feed, start, end)

    async def source_scan(
        self,
        uri: str,
        *,
        where: str = "",
        columns: Sequence[str] = (),
        low: str | None = None,
        high: str | None = None,
        own: StructType | None = None,
    ) -> SourceScan:
        """Plans the same where Spark itself scans the files of a pool. `own` is the user's schema, which chooses
        columns instead. Raises as `read` does, and Refused for a store that Spark cannot read."""
        from lochan.engines.spark.frames.read_plan import ReadRequest
        from lochan.engines.spark.frames.source_scan import source_scan
        from lochan.query.syntax.unparse import name_text

        chosen = tuple(columns) if own is None else tuple(map(name_text, own.names))
        request = ReadRequest(prefix_uri(uri), where, chosen, low, high)
        await self._note(request.uri)
        return SourceScan(request, await source_scan(self._session.lake.queries(), request, own))

    async def prune(self, seen: SourceScan, filters: Sequence[Mapping[str, Any]]) -> ScanPlan:
        """Returns what filters of Spark, as JSON, leave of such a scan. Raises Gone, Corrupt."""
        from lochan.engines.spark.frames.source_scan import pruned_scan

        request = seen.request
        pinned = replace(request, uri=request.uri._replace(ref=seen.plan.commit))
        return await pruned_scan(self._session.lake.queries(), pinned, seen.plan, filters)

    async def diff(self, left: str, right: str, *, on: str | Sequence[str] | None = None) -> RowDiffFrame:
        """Plans the comparison of rows between two refs, as `Lake.diff_rows` makes it. Raises NotFound, Invalid."""
        from lochan.engines.row_diff.sides import row_diff_request, sides_of

        name, request = row_diff_request(left, right, [on] if isinstance(on, str) else on)
        for ref in (request.left, request.right):
            await self._session.note_read(SCAN, name, ref, request.path)
        async with self._session.opened(name) as repository:
            return RowDiffFrame(self._session.lake.place, await sides_of(repository, request))

    async def write(
        self,
        uri: str,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        mode: str = APPEND,
        origins: Collection[Origin] = (),
        expect: str = "",
        rows: RowOptions = ALL_ROWS,
        silent: bool = False,
        trial: bool = False,
    ) -> FrameWrite:
        """Begins a write into a pool, or of Parquet files of a repository. No task may write before. `overwrite`
        replaces all that is there with the rows, or what `rows` says; it is refused if something came there since the
        `origins` that the rows were read at, unless `expect` names the head that may be replaced. `errorifexists` and
        `ignore` write only where nothing is. With `silent`, no process stays with the job, and its record is written
        when it begins and when it ends. `trial` only checks whether this could be done. Raises NotFound, Refused,
        Invalid for a place that cannot be written to, QueryError, PreconditionFailed, AlreadyExists."""
        from lochan.jobs.job_commit import LandResult
        from lochan.jobs.table_layout import TableLayout
        from lochan.jobs.write import Replace, WriteRequest, begin, earlier_landing

        rows.check(mode)
        message, lake = message_of(options), self._session.lake
        actor = self._session.acting(options.key, "write", uri, mode, message, *rows.request())
        replaced = None
        if mode != APPEND:
            replaced = Replace(origins, expect, rows.replace_where, rows.dynamic, empty=mode != OVERWRITE)
        table = TableLayout(tuple(rows.partition_by), rows.merge_schema, rows.schema)
        message = await self._with_lineage(message, origins)
        request = WriteRequest(
            prefix_uri(uri), actor, message, replaced, silent=silent, skips=mode == IGNORE, table=table, trial=trial
        )
        before = await earlier_landing(lake, request) if options.key and not silent else None
        if before is not None:
            return FrameWrite(self._session, None, before)
        try:
            return FrameWrite(self._session, await begin(lake, request))
        except AlreadyExists:
            if mode != IGNORE:
                raise
            return FrameWrite(self._session, None, LandResult(""))

    async def change(
        self, uri: str, commit: str, options: CommitOptions = DEFAULT_COMMIT, *, command: str, silent: bool = False
    ) -> FrameWrite:
        """Begins a statement that changes single rows of a pool: `delete`, `update` or `merge`. The rows were read at
        `commit`. It lands on any head that still has all data objects whose rows change; what others have added
        meanwhile stays. Raises as `write` does."""
        from lochan.jobs.write import ChangeRequest, WriteRequest, begin, earlier_landing

        message, lake = message_of(options), self._session.lake
        actor = self._session.acting(options.key, command, uri, message)
        message = await self._with_lineage(message, ())
        request = WriteRequest(prefix_uri(uri), actor, message, silent=silent, change=ChangeRequest(command, commit))
        before = await earlier_landing(lake, request) if options.key and not silent else None
        if before is not None:
            return FrameWrite(self._session, None, before)
        return FrameWrite(self._session, await begin(lake, request))

    async def _with_lineage(self, message: CommitMessage, origins: Collection[Origin]) -> CommitMessage:
        """Adds the origin of the rows, as far as the frame has it: another process may make the commit."""
        names = {each.id: each.name for each in await self._session.lake.repositories()} if origins else {}
        read = tuple(LineageInput(names[each.repository], each.commit) for each in origins if each.repository in names)
        return message._replace(metadata={**lineage_metadata(tuple(sorted(read))), **message.metadata})

    def begun(self, job: WriteJob) -> FrameWrite:
        return FrameWrite(self._session, job)

    async def stream(
        self,
        uri: str,
        *,
        checkpoint: str,
        every_s: float = 10.0,
        available_now: bool = False,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        compact: str | bool = "driver",
        listener: BatchListener | None = None,
        elsewhere: StreamLake | None = None,
    ) -> FrameStream:
        """Prepares a stream into a pool. It makes a commit for each batch, at most one in `every_s` seconds; with
        `available_now`, it ends when all that is available was read. If it is started again with the same checkpoint,
        it continues where it was. `compact` is where the small objects that it leaves are merged: `driver`, `spark` or
        `none`. `listener` is called with each batch. `elsewhere` opens the lake where batches are handled, if that is
        another process. Raises NotFound, Refused if it is no pool, Invalid if it is no branch."""
        from lochan.jobs.streams.batches import Batches, StreamJobOptions, StreamTarget, checked_branch
        from lochan.jobs.streams.compaction import compaction_place
        from lochan.jobs.streams.spark_stream import FrameStream, LakeOnLoop
        from lochan.versioning.heads.moves import CommitMessage

        lake, actor, found = self._session.lake, self._session.actor, prefix_uri(uri)
        place = compaction_place(compact)
        branch = await checked_branch(lake, found)
        commit = CommitMessage(message, metadata or {})
        options = StreamJobOptions(every_s, available_now, message=commit, compact=place)
        target = StreamTarget(elsewhere or LakeOnLoop(lake), found.repository, branch, actor, options)
        return FrameStream(lake, Batches(target, checkpoint, listener=listener))


def _metadata_source(source: str) -> tuple[str, str]:
    """Returns the place, and which of its metadata is meant. Raises Invalid."""
    place, colon, meta = source.rpartition(":")
    if not colon or not meta.isidentifier() or "/" in source:
        raise Invalid(f"{source!r} names no metadata", hint="such as logs@main:objects, shop:branches or :pools")
    return place, meta


def _request(uri: str, where: str, columns: Sequence[str], fields: Sequence[str]) -> ReadRequest:
    from lochan.engines.spark.frames.read_plan import ReadRequest
    from lochan.query.syntax.unparse import name_text

    return ReadRequest(prefix_uri(uri), where, tuple(map(name_text, fields)) or tuple(columns))


class FrameWrite:
    """A write that has begun. Its job can be pickled, and landed by another process that has called `Frames.begun`."""

    def __init__(self, session: Session, job: WriteJob | None, before: LandResult | None = None) -> None:
        self._session = session
        self._job = job
        self.before = before  # the result of the same request, if that was carried out before

    @property
    def job(self) -> WriteJob:
        assert self._job is not None, "there is nothing left to do"
        return self._job

    @contextmanager
    def reported(self, spark: SparkSession) -> Iterator[JobReporter]:
        """Keeps the record of the job while it runs in this session and on this thread."""
        from lochan.engines.spark.progress import master_of, watch
        from lochan.jobs.record import record_job

        where, job = master_of(spark), self.job
        with (
            record_job(self._session.lake, "write", job.about, actor=job.actor, where=where, id=job.hold) as report,
            watch(spark, report.stages),
        ):
            yield report

    async def land(self, messages: Sequence[TaskMessage]) -> LandResult:
        """Commits everything that the tasks wrote. If it is repeated, it finds its earlier commit. Raises the errors of
        a head move, PreconditionFailed, and Gone if garbage was collected twice since the job began."""
        from lochan.jobs.write import land_job, land_silently

        land = land_job if self.job.record is None else land_silently
        return await land(self._session.lake, self.job, messages)

    async def find_batch(self, query: str, number: int) -> LandResult | None:
        """Returns the batch if it has landed before, and None if not. A call before its rows are written saves writing
        them."""
        from lochan.jobs.job_commit import BatchName
        from lochan.jobs.write import find_batch

        return await find_batch(self._session.lake, self.job, BatchName(query, number))

    async def land_batch(self, query: str, number: int, messages: Sequence[TaskMessage]) -> LandResult:
        """Commits one batch of a stream, by the id of the stream and the batch's number. Raises the errors of
        `land`."""
        from lochan.jobs.job_commit import BatchName
        from lochan.jobs.write import land_batch

        return await land_batch(self._session.lake, self.job, BatchName(query, number), messages)

    async def abort(self) -> None:
        """Records in the job that a task has failed. What tasks wrote is left to garbage collection."""
        from lochan.jobs.messages import TaskFailed
        from lochan.jobs.record import end_silent
        from lochan.jobs.write import release

        await release(self._session.lake, self.job)
        if self.job.record is not None:
            await end_silent(self._session.lake, self.job.record, TaskFailed())
