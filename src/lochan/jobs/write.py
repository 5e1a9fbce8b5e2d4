"""One write from its beginning to its end, in any number of processes: it is begun, its tasks write, and it is landed
once.

    begin ──▶ WriteJob ──▶ write, in each task ──▶ messages ──▶ land_job

All interfaces of Spark use it: frames, the data source, and each batch of a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from lochan.engines.spark.executors import TASK_MEMORY_BYTES, task_memory
from lochan.engines.spark.frames.origin import Origin
from lochan.errors import AlreadyExists, Invalid, Refused, Retry
from lochan.formats.job import JobRecord
from lochan.formats.metarange import TreeRef
from lochan.formats.record import Actor
from lochan.formats.run import entries_of
from lochan.jobs.file_writer import FilesTarget, files_target
from lochan.jobs.job_commit import (
    NO_GUARD,
    BatchName,
    LandResult,
    Removal,
    ReplaceGuard,
    already_there,
    earlier_commit,
    land,
)
from lochan.jobs.job_entries import job_entries
from lochan.jobs.messages import PoolTarget, TaskMessage, pool_target, together
from lochan.jobs.record import JobPlace, add_silent_batch, begin_silent, end_silent
from lochan.jobs.replace_rows import ReplaceTest, check_test, replaced_rows
from lochan.jobs.row_changes import ChangeTarget, by_object
from lochan.jobs.table_layout import NO_LAYOUT, TableLayout
from lochan.journal.keys import CarriedOut, without_key
from lochan.store.open import StoreLocation
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import check_first, hold_key
from lochan.versioning.job_hold import give_up, hold_ids, open_job
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.state.branch import dirty
from lochan.versioning.uri import Uri, on_branch, writable
from lochan.versioning.workspaces import write as workspaces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lochan.engines.query_context import QueryContext

T = TypeVar("T")

_PAGE = 10_000
_TRIES = 3


class JobLake(JobPlace, Protocol):
    """The methods of an open lake that jobs need."""

    @property
    def place(self) -> StoreLocation: ...

    async def open_repository(self, name: str) -> OpenRepository: ...

    def queries(self) -> QueryContext: ...


class Replace(NamedTuple):
    """An overwrite of everything that exists at a place. `origins` are the places that the new rows were read from."""

    origins: Collection[Origin] = ()
    expect: str = ""  # the head that may be replaced, by a ref
    where: str = ""  # for a pool: only rows that pass this test are replaced
    dynamic: bool = False  # for a table: only the partitions that rows come to
    empty: bool = False  # whether nothing may exist there at all

    async def guard(self, repository: OpenRepository) -> ReplaceGuard:
        """Returns the guard of the overwrite. Raises NotFound."""
        if self.empty:
            return ReplaceGuard(empty=True)
        if self.expect:
            return ReplaceGuard(head=(await repository.resolve(self.expect)).commit_id)
        return ReplaceGuard(tuple(each.commit for each in self.origins if each.repository == repository.repository.id))


class WriteRequest(NamedTuple):
    uri: Uri
    actor: Actor
    message: CommitMessage = NOTHING
    replace: Replace | None = None  # None if rows are added
    batch: BatchName | None = None  # the batch of a stream; None for a job of its own
    memory_bytes: int = TASK_MEMORY_BYTES  # for one task
    silent: bool = False  # whether no process stays with the job and reports
    skips: bool = False  # whether nothing is done if something exists there already
    table: TableLayout = NO_LAYOUT  # only for files
    change: ChangeRequest | None = None  # set if single rows change
    trial: bool = False  # whether nothing will be written, so that nothing is held open


class ChangeRequest(NamedTuple):
    verb: str  # the verb in the journal, and in a commit that has no message
    commit: str  # the commit that the rows were read at


@dataclass(frozen=True)
class WriteJob:
    """A write that was begun. It can be pickled."""

    repository: str
    ref: str  # a branch, or a workspace that files are written to
    target: PoolTarget | FilesTarget
    actor: Actor
    once: BatchName
    message: CommitMessage
    replace: bool
    guard: ReplaceGuard = NO_GUARD
    workspace: str = ""  # the id of the workspace
    record: JobRecord | None = None  # only for a silent job
    skips: bool = False  # whether nothing lands if something came there meanwhile
    dynamic: bool = False  # whether only the partitions that rows come to are replaced
    verb: str = ""  # the verb in the journal, and in a commit that has no message; "" for that of the target
    hold: str = ""  # the job that holds its files open, by the id of its record

    @property
    def about(self) -> str:
        """The name of the place that it writes to."""
        return f"{self.repository}@{self.ref}{self.target.suffix}"

    @property
    def is_pool(self) -> bool:
        return isinstance(self.target, PoolTarget)

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """Writes the rows of a task. Raises TaskFailed."""
        return self.target.write(batches)

    def run(
        self, frame: DataFrame, *, spread: bool = True, parts: int | None = None, cache: bool = False
    ) -> list[TaskMessage]:
        """Writes all rows of a frame, on Spark. With `spread`, rows are distributed by the key of the pool, so that
        objects do not overlap, over `parts` tasks, or as many as Spark chooses. Spark samples the keys first, so it
        computes the frame twice, unless `cache` keeps its rows on the executors' disks. Raises the errors of tasks."""
        from lochan.jobs.spread import cache_frame, sort_by_partition, spread_by_key
        from lochan.jobs.tasks import run_tasks

        if isinstance(self.target, FilesTarget):
            return run_tasks(sort_by_partition(frame, self.target.partition_by), self.write)
        job = replace(self, target=_with_memory(self.target, task_memory(frame.sparkSession)))
        if isinstance(self.target, ChangeTarget):
            return run_tasks(by_object(frame), job.write)
        with cache_frame(frame) if spread and cache else nullcontext():
            rows = spread_by_key(frame, self.target.settings, parts) if spread else frame
            return run_tasks(rows, job.write)


def _with_memory(target: PoolTarget, memory_bytes: int | None) -> PoolTarget:
    """Returns the target with the memory that the session sets for all its tasks."""
    limits = target.limits
    return target if memory_bytes is None else replace(target, limits=limits._replace(memory_bytes=memory_bytes))


async def begin(lake: JobLake, request: WriteRequest) -> WriteJob:
    """Begins a write. Call it before the first task. Raises NotFound, Refused or Invalid for a place that cannot be
    written to, and PreconditionFailed for one that must not be replaced."""
    repository = await lake.open_repository(request.uri.repository)
    try:
        await hold_key(repository, request.actor)
        is_pool = repository.repository.kind == POOL
        job = await (_begin_pool if is_pool else _begin_table)(lake, repository, request)
        if request.trial:
            return job
        hold = lake.ids.ksuid(lake.clock.wall())
        await open_job(repository, hold, job.target.mint, job.ref, actor=job.actor)
        record = await begin_silent(lake, "write", job.about, job.actor, hold) if request.silent else None
        return replace(job, record=record, hold=hold)
    finally:
        await repository.close()


async def release(lake: JobLake, job: WriteJob) -> None:
    """Gives up the job: nothing that it wrote will be landed."""
    repository = await lake.open_repository(job.repository)
    try:
        await give_up(repository, job.hold, actor=job.actor)
    finally:
        await repository.close()


async def earlier_landing(lake: JobLake, request: WriteRequest) -> LandResult | None:
    """Returns the result of the same request if it was carried out before. Calling this first can save the work."""
    repository = await lake.open_repository(request.uri.repository)
    try:
        await check_first(repository, request.actor)
    except CarriedOut as before:
        return LandResult(before.result, again=True)
    finally:
        await repository.close()
    return None


async def land_job(lake: JobLake, job: WriteJob, messages: Sequence[TaskMessage]) -> LandResult:
    """Lands all that the tasks wrote, as one commit. A repeated call finds the commit of the first one, so it tries
    again if the store does not answer for a while."""
    return await patiently(lambda: _land(lake, job, messages))


async def land_silently(lake: JobLake, job: WriteJob, messages: Sequence[TaskMessage]) -> LandResult:
    """Lands the messages like `land_job`, and writes the result to the job's record."""
    assert job.record is not None
    return await _report_landing(land_job(lake, job, messages), partial(end_silent, lake, job.record))


async def find_batch(lake: JobLake, job: WriteJob, batch: BatchName) -> LandResult | None:
    """Returns the batch of a stream, if it landed before."""
    repository = await lake.open_repository(job.repository)
    try:
        found = await earlier_commit(repository, job.ref, batch)
        return None if found is None else LandResult(found, again=True)
    finally:
        await repository.close()


async def land_batch(lake: JobLake, job: WriteJob, batch: BatchName, messages: Sequence[TaskMessage]) -> LandResult:
    """Lands one batch of a stream whose job is begun anew for each batch."""
    stream = sha256(batch.job.encode()).digest()
    landing = land_job(lake, replace(job, once=batch), messages)
    return await _report_landing(landing, partial(add_silent_batch, lake, stream, job.about, job.actor))


async def _report_landing(
    landing: Awaitable[LandResult], report: Callable[[LandResult | Exception], Awaitable[None]]
) -> LandResult:
    try:
        result = await landing
    except Exception as error:
        await report(error)
        raise
    await report(result)
    return result


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Tries the work several times. REQUIRES: a repeated try finds what the one before has done."""
    for _ in range(_TRIES - 1):
        with suppress(Retry):
            return await work()
    return await work()


async def _land(lake: JobLake, job: WriteJob, messages: Sequence[TaskMessage]) -> LandResult:
    repository = await lake.open_repository(job.repository)
    try:
        if job.workspace:
            return await _stage(repository, job, messages)
        landed = await land(
            repository,
            job.ref,
            messages,
            job.message,
            actor=job.actor,
            once=job.once,
            replace=job.replace,
            under=_replaced_folders(job, messages),
            removal=_removal(lake, repository, job),
            guard=job.guard,
            why=job.verb or job.target.verb,
            closes=hold_ids(job.hold),
        )
        if landed.again or not landed.commit:  # the objects of this try are not needed
            await give_up(repository, job.hold, actor=job.actor)
        return landed
    except AlreadyExists:
        if not job.skips:
            raise
        return LandResult("")
    finally:
        await repository.close()


def _replaced_folders(job: WriteJob, messages: Sequence[TaskMessage]) -> Sequence[str]:
    return together(messages).folders if job.dynamic else (job.target.prefix,)


def _removal(lake: JobLake, repository: OpenRepository, job: WriteJob) -> Removal | None:
    test = job.target.must if isinstance(job.target, PoolTarget) else None
    if test is None:
        return None
    return lambda on, tree: replaced_rows(repository, on, tree, test, lake.queries().files)


async def _begin_pool(lake: JobLake, repository: OpenRepository, request: WriteRequest) -> WriteJob:
    uri = request.uri
    if uri.path:
        raise Invalid(f"{uri}: a pool holds rows, and no files", hint=f"write to {uri._replace(path='')}")
    branch = on_branch(uri).ref or repository.repository.default_branch
    request.table.check_is_pool(uri)
    target = await pool_target(repository, lake.place, branch, memory_bytes=request.memory_bytes)
    if request.change is not None:
        target = await _change_target(repository, target, request.change)
    head = repository.folded().branch(branch).head
    if request.replace is not None and request.replace.where:
        test = ReplaceTest(request.replace.where, lake.clock.wall())
        await check_test(repository, head, test)
        target = replace(target, must=test)
    guard = NO_GUARD if request.replace is None else await request.replace.guard(repository)
    await guard.check(repository, branch, head)
    return _job(lake, request, branch, target, head, guard)


async def _change_target(repository: OpenRepository, pool: PoolTarget, change: ChangeRequest) -> ChangeTarget:
    found = await repository.resolve(change.commit)
    tree = TreeRef(found.commit.tree, found.commit.tree_file)
    return ChangeTarget(
        pool.place,
        pool.repository_id,
        pool.settings,
        pool.mint,
        pool.limits,
        tree=tree,
        commit=found.commit_id,
        aliases=repository.places.names,
    )


async def _begin_table(lake: JobLake, repository: OpenRepository, request: WriteRequest) -> WriteJob:
    uri = request.uri
    if request.change is not None:
        raise Refused(
            f"{uri} holds files, whose rows do not change", hint="write the whole table with mode='overwrite'"
        )
    ref = writable(uri).ref or repository.repository.default_branch
    found = await repository.resolve(ref, workspaces=True)
    if found.branch is not None and not found.branch.layers.empty:
        raise dirty(found.branch.name)  # its commit would be refused after everything was written
    if request.replace is not None and request.replace.where:
        raise Invalid("files are not replaced by a test of their rows", hint="write partitions with dynamic overwrite")
    target = await files_target(repository, lake.place, uri.path, request.table.partition_by)
    await request.table.check(repository, uri, lake.place)
    workspace = found.workspace.id if found.workspace is not None else ""
    guard = await _table_guard(repository, request.replace, workspace)
    if guard.empty and workspace and await _paths(repository, ref, uri.path):
        raise already_there(str(uri))
    if guard.head or not (request.replace and request.replace.dynamic):  # otherwise the partitions are not known yet
        await guard.check(repository, ref, found.commit_id, uri.path)
    return _job(lake, request, ref, target, found.commit_id, guard, workspace)


async def _table_guard(repository: OpenRepository, replace: Replace | None, workspace: str) -> ReplaceGuard:
    """Returns the guard of a table. A workspace needs none: it belongs to one user, and nobody else writes there
    meanwhile."""
    if replace is None or (workspace and not replace.expect and not replace.empty):
        return NO_GUARD
    if workspace and replace.expect:
        raise Invalid("a workspace has no head that could be expected", hint="leave it out")
    return await replace.guard(repository)


def _job(
    lake: JobLake,
    request: WriteRequest,
    ref: str,
    target: PoolTarget | FilesTarget,
    head: str,
    guard: ReplaceGuard,
    workspace: str = "",
) -> WriteJob:
    once = request.batch or BatchName(lake.ids.ksuid(lake.clock.wall()), since=head)
    name, replaces = request.uri.repository, request.replace is not None
    dynamic = request.replace is not None and request.replace.dynamic
    verb = request.change.verb if request.change is not None else ""
    job = WriteJob(name, ref, target, request.actor, once, request.message, replaces, guard, workspace)
    return replace(job, skips=request.skips, dynamic=dynamic, verb=verb)


async def _stage(repository: OpenRepository, job: WriteJob, messages: Sequence[TaskMessage]) -> LandResult:
    """Stages files in a workspace. Repeating it changes nothing: the same files come to the same paths."""
    actor = without_key(job.actor)
    async with job_entries(repository, messages) as entries:
        if job.replace:
            own = set((await entries.paths()).to_pylist())
            there = [
                path for each in _replaced_folders(job, messages) for path in await _paths(repository, job.ref, each)
            ]
            await workspaces.delete(repository, job.workspace, [path for path in there if path not in own], actor=actor)
        async for table in entries.changes():
            await workspaces.stage(repository, job.workspace, entries_of(table), actor=actor)
        result = await LandResult.of("", entries)
    await give_up(repository, job.hold, actor=job.actor)  # each of its files is named by now
    return result


async def _paths(repository: OpenRepository, ref: str, prefix: str) -> list[str]:
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    paths: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await view.list(prefix, after, limit=_PAGE)
        paths += [entry.path for entry in page.entries]
        after = page.next
    return paths
