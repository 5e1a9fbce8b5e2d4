"""A frame becomes Parquet files of a repository: on a branch as one commit, in a workspace as what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lochan.errors import Invalid
from lochan.jobs.file_writer import FilesTarget, files_target, write_files
from lochan.jobs.job_commit import NO_GUARD, BatchName, LandResult, ReplaceGuard, land
from lochan.jobs.messages import TaskMessage, together
from lochan.journal.keys import without_key
from lochan.lake import Lake
from lochan.spark.job import Replace, Tell, landed_at
from lochan.spark.lakes import LakePlace
from lochan.store.counts import RequestCounts
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.state.branch import dirty
from lochan.versioning.uri import Uri, writable
from lochan.versioning.workspaces import write as workspaces

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.versioning.open_repository import OpenRepository

_PAGE = 10_000


@dataclass(frozen=True)
class TableJob:
    place: LakePlace
    repository: str
    ref: str  # a branch
    workspace: str  # or one of its workspaces
    target: FilesTarget
    once: BatchName
    said: CommitMessage
    replace: bool
    guard: ReplaceGuard = NO_GUARD

    @property
    def about(self) -> str:
        return f"{self.repository}@{self.ref}/{self.target.prefix}"

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return write_files(self.target, context.partitionId() if context else 0, batches)

    def land(
        self, messages: Iterable[TaskMessage], counts: RequestCounts | None = None, tell: Tell | None = None
    ) -> LandResult:
        every = list(messages)
        return landed_at(self.place, lambda lake: self._land(lake, every), counts, tell)

    async def _land(self, lake: Lake, messages: list[TaskMessage]) -> LandResult:
        repository = await lake.open_repository(self.repository)
        actor = self.place.actor
        try:
            if self.workspace:
                return await self._land_in_workspace(repository, messages, without_key(actor))
            under = self.target.prefix
            return await land(
                repository,
                self.ref,
                messages,
                self.said,
                actor=actor,
                once=self.once,
                replace=self.replace,
                under=under,
                guard=self.guard,
                why="ingest",
            )
        finally:
            await repository.close()

    async def _land_in_workspace(
        self, repository: OpenRepository, messages: list[TaskMessage], actor: Actor
    ) -> LandResult:
        """To do it twice changes nothing: the same files come to the same paths."""
        done = together(messages)
        if self.replace:
            own = {entry.path for entry in done.entries}
            there = await _paths(repository, self.ref, self.target.prefix)
            await workspaces.delete(
                repository, self.workspace, [path for path in there if path not in own], actor=actor
            )
        if done.entries:
            await workspaces.stage(repository, self.workspace, done.entries, actor=actor)
        return LandResult("", done.rows, done.entries, done.size_bytes, put_bytes=done.put_bytes)


async def begin_table(
    lake: Lake, repository: OpenRepository, place: LakePlace, uri: Uri, said: CommitMessage, replace: Replace | None
) -> TableJob:
    ref = writable(uri).ref or repository.repository.default_branch
    found = await repository.resolve(ref, workspaces=True)
    if found.branch is not None and not found.branch.layers.empty:
        raise dirty(found.branch.name)  # its commit would be refused, when all is written
    target = await files_target(repository, place.store, uri.path)
    once = BatchName(lake.ids.ksuid(lake.clock.wall()), since=found.commit_id)
    workspace = found.workspace.id if found.workspace is not None else ""
    guard = await _guard(repository, replace, workspace)
    await guard.check(repository, ref, found.commit_id, uri.path)
    return TableJob(place, uri.repository, ref, workspace, target, once, said, replace is not None, guard)


async def _guard(repository: OpenRepository, replace: Replace | None, workspace: str) -> ReplaceGuard:
    """A workspace is somebody's own: nobody else writes there meanwhile."""
    if replace is None or (workspace and not replace.expect):
        return NO_GUARD
    if workspace:
        raise Invalid("a workspace has no head that could be expected", hint="leave it out")
    return await replace.guard(repository)


async def _paths(repository: OpenRepository, ref: str, prefix: str) -> list[str]:
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    paths: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await view.list(prefix, after, limit=_PAGE)
        paths += [entry.path for entry in page.entries]
        after = page.next
    return paths
