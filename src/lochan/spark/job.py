"""One write from its beginning to its end, in whatever processes that happens: it is begun, its tasks write, and it is
landed once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from lochan.errors import Invalid
from lochan.formats.job import JobRecord
from lochan.jobs.job_commit import NO_GUARD, BatchName, LandResult, ReplaceGuard, land
from lochan.jobs.messages import TaskMessage
from lochan.jobs.record import begin_silent
from lochan.jobs.target import PoolTarget, pool_target
from lochan.journal.keys import CarriedOut
from lochan.lake import Lake
from lochan.spark.frame_origin import Origin
from lochan.spark.lakes import LakePlace, on_lake, patient
from lochan.store.counts import RequestCounts
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.idempotency import check_first, hold_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.uri import Uri, on_branch

Tell = Callable[[Lake, LandResult | Exception], Awaitable[None]]


class Replace(NamedTuple):
    """That all which is there is replaced, by rows that were read there, or not."""

    origins: Collection[Origin] = ()
    expect: str = ""  # the head that may be replaced, by a ref

    async def guard(self, repository: OpenRepository) -> ReplaceGuard:
        """Raises NotFound."""
        if self.expect:
            return ReplaceGuard(head=(await repository.resolve(self.expect)).commit_id)
        return ReplaceGuard(tuple(each.commit for each in self.origins if each.repository == repository.repository.id))


class WriteJob(Protocol):
    """May be pickled."""

    @property
    def place(self) -> LakePlace: ...

    @property
    def about(self) -> str:
        """What it writes to."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """What a task does. Raises TaskFailed."""

    def land(
        self, messages: Iterable[TaskMessage], counts: RequestCounts | None = None, tell: Tell | None = None
    ) -> LandResult:
        """All that the tasks wrote, as one commit. Done again, it finds what it did. `counts` are of what is asked of
        the store meanwhile; `tell` is called with what came of it."""


@dataclass(frozen=True)
class PoolJob:
    place: LakePlace
    pool: str
    branch: str
    target: PoolTarget
    once: BatchName
    said: CommitMessage
    replace: bool
    guard: ReplaceGuard = NO_GUARD

    @property
    def about(self) -> str:
        return f"{self.pool}@{self.branch}"

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        from lochan.jobs.pool_writer import write_rows  # with an engine behind it: only tasks need that

        return write_rows(self.target, batches)

    def land(
        self, messages: Iterable[TaskMessage], counts: RequestCounts | None = None, tell: Tell | None = None
    ) -> LandResult:
        every = list(messages)
        return landed_at(self.place, lambda lake: self._land(lake, every), counts, tell)

    async def _land(self, lake: Lake, messages: list[TaskMessage]) -> LandResult:
        repository = await lake.open_repository(self.pool)
        try:
            return await land(
                repository,
                self.branch,
                messages,
                self.said,
                actor=self.place.actor,
                once=self.once,
                replace=self.replace,
                guard=self.guard,
                why="load",
            )
        finally:
            await repository.close()


def begin(
    place: LakePlace,
    uri: Uri,
    said: CommitMessage,
    *,
    replace: Replace | bool = False,
    counts: RequestCounts | None = None,
) -> WriteJob:
    """Before the first task. Raises NotFound, Refused, Invalid for a place that cannot be written to, and
    PreconditionFailed for one that must not be replaced."""
    return on_lake(place, lambda lake: _begin(lake, place, uri, said, _replacing(replace)), counts)


def begin_told(
    place: LakePlace, uri: Uri, said: CommitMessage, *, replace: Replace | bool = False
) -> tuple[WriteJob, JobRecord]:
    """With a record, for who has no process in which one is kept."""

    async def both(lake: Lake) -> tuple[WriteJob, JobRecord]:
        job = await _begin(lake, place, uri, said, _replacing(replace))
        return job, await begin_silent(lake, "write", job.about, place.actor)

    return on_lake(place, both, RequestCounts())


def landed_by_key(place: LakePlace, uri: Uri, counts: RequestCounts | None = None) -> LandResult | None:
    """What the same request came to, if it was carried out before: asked before the work is done, it saves it."""

    async def look(lake: Lake) -> LandResult | None:
        repository = await lake.open_repository(uri.repository)
        try:
            await check_first(repository, place.actor)
        except CarriedOut as before:
            return LandResult(before.result, again=True)
        finally:
            await repository.close()
        return None

    return on_lake(place, look, counts)


def landed_at(
    place: LakePlace, land: Callable[[Lake], Awaitable[LandResult]], counts: RequestCounts | None, tell: Tell | None
) -> LandResult:
    async def told(lake: Lake) -> LandResult:
        how: LandResult | Exception
        try:
            how = await land(lake)
        except Exception as error:
            how = error
        if tell is not None:
            await tell(lake, how)
        if isinstance(how, Exception):
            raise how
        return how

    return patient(lambda: on_lake(place, told, counts))


def _replacing(replace: Replace | bool) -> Replace | None:
    """None: rows are added."""
    return (Replace() if replace else None) if isinstance(replace, bool) else replace


async def _begin(lake: Lake, place: LakePlace, uri: Uri, said: CommitMessage, replace: Replace | None) -> WriteJob:
    repository = await lake.open_repository(uri.repository)
    try:
        await hold_key(repository, place.actor)
        if repository.repository.kind == POOL:
            return await _begin_pool(lake, repository, place, uri, said, replace)
        from lochan.spark.table_job import begin_table

        return await begin_table(lake, repository, place, uri, said, replace)
    finally:
        await repository.close()


async def _begin_pool(
    lake: Lake, repository: OpenRepository, place: LakePlace, uri: Uri, said: CommitMessage, replace: Replace | None
) -> PoolJob:
    if uri.path:
        raise Invalid(f"{uri}: a pool holds rows, and no files", hint=f"write to {uri._replace(path='')}")
    branch = on_branch(uri).ref or repository.repository.default_branch
    target = await pool_target(repository, place.store, branch)
    head = repository.folded().branch(branch).head
    once = BatchName(lake.ids.ksuid(lake.clock.wall()), since=head)
    guard = NO_GUARD if replace is None else await replace.guard(repository)
    await guard.check(repository, branch, head)
    return PoolJob(place, uri.repository, branch, target, once, said, replace is not None, guard)
