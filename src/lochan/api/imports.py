"""Files outside the lake that become objects of a branch, without a copy: once, or followed as they change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.results import Result
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.formats.record import Actor
    from lochan.jobs.messages import EntryRun
    from lochan.versioning.bodies.file_list import FileList
    from lochan.versioning.heads.imports import ImportFolder, ImportPlan
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository

Progress = Callable[[int], None]  # called with the number of further files that were listed


class ImportSource(msgspec.Struct, frozen=True):
    url: str  # of a folder or a prefix: s3://, gs://, az://, file://
    prefix: str = ""  # what its objects' paths are to begin with
    inventory: str = ""  # the URL of an S3 Inventory's manifest.json, or of a plain list: read instead of listing
    verify: bool = False  # ask the store for every file of the inventory; else for some of them

    def folder(self) -> ImportFolder:
        from lochan.versioning.heads.imports import ImportFolder

        return ImportFolder(self.url, self.prefix, self.inventory, self.verify)


class ImportResult(Result, frozen=True, kw_only=True):
    commit: str | None  # None: it was only tried
    added: int
    changed: int
    removed: int
    bytes: int


class ImportChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    before: int | None  # sizes
    after: int | None


class ImportRequest(NamedTuple):
    """What `import_files` and `ingest` are asked for."""

    session: Session
    engine: EngineOptions
    progress: Progress | None = None

    async def imported(self, repository: OpenRepository, sources: Sequence[ImportSource]) -> ImportPlan:
        from lochan.versioning.heads.imports import for_import, import_plan

        folders = [each.folder() for each in sources]
        if self._runs_on_spark():
            return import_plan(folders, await self._listed(repository, folders))
        return await for_import(repository, folders, self.progress or _ignored)

    async def followed(self, repository: OpenRepository, source: ImportSource, keep_removed: bool) -> ImportPlan:
        from lochan.versioning.heads.imports import for_ingest, ingest_plan

        folder = source.folder()
        if self._runs_on_spark():
            return ingest_plan(folder, await self._listed(repository, [folder]), keep_removed=keep_removed)
        return await for_ingest(repository, folder, keep_removed=keep_removed, seen=self.progress or _ignored)

    def _runs_on_spark(self) -> bool:
        """Where nobody says, it is the embedded engine: its memory does not grow with the files. Raises Invalid."""
        from lochan.engines.choice import ENGINES, SPARK

        if self.engine.engine not in ENGINES:
            raise Invalid(f"there is no engine {self.engine.engine!r}", hint=f"there are {', '.join(ENGINES)}")
        return self.engine.engine == SPARK

    async def _listed(self, repository: OpenRepository, folders: Sequence[ImportFolder]) -> FileList:
        import asyncio

        from lochan.engines.spark.session import session_at
        from lochan.jobs.import_files import ImportTarget, RunFiles, list_on_spark, list_tasks, roots_of
        from lochan.jobs.record import recorded
        from lochan.jobs.tasks import on_spark
        from lochan.versioning.heads.imports import outside_of

        lake, place = self.session.lake, self.session.spark(self.engine.master)
        spark = await asyncio.to_thread(session_at, place, self.engine.limits)
        cores = spark.sparkContext.defaultParallelism if place.is_here else _CORES
        tasks = await list_tasks(outside_of(repository), folders, cores)
        _, mint = await repository.refs()
        about = repository.repository.name
        stores = {root: lake.place_of(root).for_others() for root in roots_of(tasks)}
        target = ImportTarget(lake.place.for_others(), repository.repository.id, mint, stores)
        with recorded(lake, "import", about, actor=self.session.actor, where=place.where) as report:
            report.log(f"{len(tasks):,} spans or parts to list")

            def work() -> list[EntryRun]:
                return list_on_spark(spark, target, tasks, self.progress or _ignored)

            runs = await on_spark(spark, work, tag=f"lochan-{report.id}", about=f"import into {about}")
            files = RunFiles(repository, runs)
            report.rows(files.count)
        return files


_CORES = 16  # of a cluster whose size nobody tells


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


def _ignored(_: int) -> None:
    pass
