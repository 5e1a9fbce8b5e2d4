"""Files outside the lake that become objects of a branch, without a copy: once, or followed as they change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.results import Result
from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.formats.record import Actor
    from lochan.jobs.import_files import ImportTarget, ListTask
    from lochan.jobs.messages import EntryRun
    from lochan.tree.tree import Tree
    from lochan.versioning.bodies.file_list import FileList
    from lochan.versioning.heads.imports import ImportFolder, ImportPlan, ListedRanges
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository

Progress = Callable[[int], None]  # called with the number of further files that were listed


class ImportSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str  # the URL of a folder or a prefix: s3://, gs://, az://, file://
    prefix: str = ""  # what the paths of its objects begin with
    inventory: str = ""  # the URL of an S3 Inventory's manifest.json, or of a plain list: read instead of listing
    verify: bool = False  # asks the store for every file of the inventory, and otherwise for some of them
    file: bool = False  # whether the URL is of one file, and `prefix` the whole path of its object

    def folder(self) -> ImportFolder:
        from lochan.versioning.heads.imports import ImportFolder

        return ImportFolder(self.url, self.prefix, self.inventory, self.verify, self.file)


class ImportResult(Result, frozen=True, kw_only=True):
    commit: str | None  # None if it was only tried
    added: int
    changed: int
    removed: int
    bytes: int


class ImportChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    before: int | None  # the sizes
    after: int | None


class ImportRequest(NamedTuple):
    """The request of `import_files` and `ingest`."""

    session: Session
    engine: EngineOptions
    progress: Progress | None = None

    @asynccontextmanager
    async def imported(
        self, repository: OpenRepository, branch: str, sources: Sequence[ImportSource]
    ) -> AsyncIterator[ImportPlan]:
        """Yields the plan of an import. The ranges that tasks of Spark have written for it are held open within the
        context."""
        from lochan.versioning.heads.imports import for_import, import_plan

        folders = [each.folder() for each in sources]
        if not self._runs_on_spark():
            yield await for_import(repository, folders, self.progress or _no_progress)
            return
        async with self._list_files(repository, branch, folders) as (files, found):
            yield found.of(import_plan(folders, files))

    @asynccontextmanager
    async def followed(
        self, repository: OpenRepository, branch: str, source: ImportSource, keep_removed: bool
    ) -> AsyncIterator[ImportPlan]:
        """Yields the plan of a followed source, like `imported`."""
        from lochan.versioning.heads.imports import for_ingest, ingest_plan

        folder = source.folder()
        if not self._runs_on_spark():
            yield await for_ingest(repository, folder, keep_removed=keep_removed, seen=self.progress or _no_progress)
            return
        async with self._list_files(repository, branch, [folder]) as (files, found):
            yield found.of(ingest_plan(folder, files, keep_removed=keep_removed))

    def _runs_on_spark(self) -> bool:
        """Returns whether the import runs on Spark. The default is the embedded engine, because its memory does not
        grow with the files. Raises Invalid."""
        from lochan.engines.choice import ENGINES, SPARK

        if self.engine.engine not in ENGINES:
            raise Invalid(f"there is no engine {self.engine.engine!r}", hint=f"there are {', '.join(ENGINES)}")
        return self.engine.engine == SPARK

    @asynccontextmanager
    async def _list_files(
        self, repository: OpenRepository, branch: str, folders: Sequence[ImportFolder]
    ) -> AsyncIterator[tuple[FileList, _ListedOnSpark]]:
        import asyncio

        from lochan.engines.spark.session import session_at
        from lochan.jobs.import_files import ImportTarget, RunFiles, list_tasks, roots_of
        from lochan.jobs.record import record_job
        from lochan.jobs.tasks import on_spark
        from lochan.versioning.heads.imports import outside_of
        from lochan.versioning.job_hold import held_open

        lake, place = self.session.lake, self.session.spark(self.engine.master)
        spark = await asyncio.to_thread(session_at, place, self.engine.limits)
        cores = spark.sparkContext.defaultParallelism if place.is_here else _CORES
        tasks = await list_tasks(outside_of(repository), folders, cores)
        about, actor = repository.repository.name, self.session.actor
        stores = {root: lake.place_of(root).for_others() for root in roots_of(tasks)}
        with record_job(lake, "import", about, actor=actor, where=place.where) as report:
            report.log(f"{len(tasks):,} spans or parts to list")
            refs, mint = await repository.refs()
            base = await repository.tree(refs.commit(refs.branch(branch).head))
            target = ImportTarget(lake.place.for_others(), repository.repository.id, mint, stores)
            work = _SparkWork(spark, target, tasks, base, self.progress or _no_progress)
            async with held_open(repository, report.id, mint, branch, actor=actor) as closes:
                runs, ranges = await on_spark(spark, work.done, tag=f"lochan-{report.id}", about=f"import into {about}")
                files = RunFiles(repository, runs)
                report.rows(files.count)
                yield files, _ListedOnSpark(closes, ranges)


class _SparkWork(NamedTuple):
    """The work of listing, which calls into the JVM and runs on a thread."""

    spark: SparkSession
    target: ImportTarget
    tasks: list[ListTask]
    base: Tree  # the tree of the branch when the work begins
    seen: Progress

    def done(self) -> tuple[list[EntryRun], ListedRanges | None]:
        """Returns the runs, and the ranges if they can be used: the branch must have no objects between those that come
        in."""
        from lochan.jobs.import_files import cut_on_spark, list_on_spark

        runs = list_on_spark(self.spark, self.target, self.tasks, self.seen)
        low, high = runs[0].run.min_path.encode(), runs[-1].run.max_path.encode()
        if any(ref.max_path.encode() >= low and ref.min_path.encode() <= high for ref in self.base.ranges):
            return runs, None
        return runs, cut_on_spark(self.spark, self.target, runs)


class _ListedOnSpark(NamedTuple):
    closes: tuple[str, ...]
    ranges: ListedRanges | None

    def of(self, plan: ImportPlan) -> ImportPlan:
        return plan._replace(closes=self.closes, ranges=self.ranges)


_CORES = 16  # the number of cores of a cluster of unknown size


async def land(
    repository: OpenRepository, branch: str, found: ImportPlan, message: CommitMessage, actor: Actor
) -> ImportResult:
    from lochan.versioning.heads.imports import bring_in

    landed = await bring_in(repository, branch, found, message, actor=actor)
    return ImportResult(commit=landed.commit, **landed.counts._asdict())


async def rehearse(repository: OpenRepository, branch: str, found: ImportPlan) -> ImportResult:
    from lochan.versioning.heads.imports import ImportCounts, differences

    counts = ImportCounts()
    async for part in differences(repository, branch, found):
        counts = counts.plus(part)
    return ImportResult(commit=None, **counts._asdict())


async def changes(repository: OpenRepository, branch: str, found: ImportPlan) -> AsyncIterator[ImportChange]:
    from lochan.tree.diff import REMOVED
    from lochan.versioning.heads.imports import differences

    async for part in differences(repository, branch, found):
        columns = (part.changes["path"], part.kinds, part.before, part.changes["size"])
        for path, kind, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            yield ImportChange(path=path, kind=kind, before=before, after=None if kind == REMOVED else after)


def _no_progress(_: int) -> None:
    pass
