"""Holds the files open that a job writes over a long time, so that garbage collection spares them until they are named
(G3).

A load is refused if two plans came since its first byte: the second one's cut has passed its mint number. So it must be
held open before that plan. Work that runs on other machines for hours opens a job at once. Work in this process checks
now and then whether a first plan has come, and opens a job only then: a load of some seconds pays nothing for it.

    mint ──── bytes ────▶ plan ──▶ job opened ──▶ plan, whose cut has passed the mint ──▶ moved, which closes the job

An open job holds all files with its mint number. A process that dies leaves it open, and upkeep abandons it by an
event. If the process wakes up after that, its commit is refused, because the job that it would close is not open any
more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec

from lochan.errors import LochanError
from lochan.formats import job as job_files
from lochan.formats.collection_events import Abandoned, Opened
from lochan.formats.job import DONE, FAILED, JobRecord
from lochan.formats.record import Actor
from lochan.journal.keys import without_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import JOB

LOOK_S = 10.0  # the heartbeat of an open job; it counts as lost after a minute without one
_RUNS = "/runs"


def hold_ids(job: str) -> tuple[str, ...]:
    """Returns the ids that are closed by the event that names the job's files."""
    return (job, f"{job}{_RUNS}") if job else ()


def job_of(id: str) -> str:
    """Returns the job that holds the file open."""
    return id.removesuffix(_RUNS)


def run_prefix(mint: int) -> str:
    """Returns the beginning of the names of a job's runs, which its driver reads before it commits."""
    return f"{mint:020d}"


async def open_job(repository: OpenRepository, job: str, mint: int, branch: str = "", *, actor: Actor) -> None:
    """Opens a job. Raises Gone if the files may have been collected already."""
    id = repository.repository.id
    data, runs = hold_ids(job)
    await repository.submit(
        without_key(actor),
        Opened(data, JOB, f"{id}/data/{mint:020d}-", branch),
        Opened(runs, JOB, f"{id}/runs/{run_prefix(mint)}", branch),
    )


async def give_up(repository: OpenRepository, job: str, *, actor: Actor) -> None:
    """Abandons the job, whose files nothing will name any more. Does nothing if the job is not open."""
    with suppress(LochanError):  # upkeep abandons it later
        refs, _ = await repository.refs()
        left = tuple(id for id in hold_ids(job) if refs.collection.held(id) is not None)
        if left:
            await repository.submit(without_key(actor), Abandoned(left))


@asynccontextmanager
async def held_open(
    repository: OpenRepository, job: str, mint: int, branch: str = "", *, actor: Actor
) -> AsyncIterator[tuple[str, ...]]:
    """Opens a job at once. Yields the ids that the commit closes, and abandons what is still open afterwards."""
    await open_job(repository, job, mint, branch, actor=actor)
    try:
        yield hold_ids(job)
    finally:
        await give_up(repository, job, actor=actor)


@asynccontextmanager
async def held_if_long(
    repository: OpenRepository, kind: str, branch: str, mint: int, *, actor: Actor
) -> AsyncIterator[JobHold]:
    """Holds files of work in this process: a job is opened when a plan has come since the mint. Then the lake's list of
    jobs shows it."""
    hold = JobHold(repository, kind, branch, mint, actor)
    watch = asyncio.create_task(hold.watch())
    try:
        yield hold
    except BaseException:
        await hold.end(watch, FAILED)
        raise
    await hold.end(watch, DONE)


class JobHold:
    def __init__(self, repository: OpenRepository, kind: str, branch: str, mint: int, actor: Actor) -> None:
        now = repository.clock.wall()
        self._repository = repository
        self._branch = branch
        self._mint = mint
        self._actor = actor
        about = f"{repository.repository.name}@{branch}"
        who = actor.user, actor.client, actor.source
        self._record = JobRecord(job_files.FORMAT, repository.ids.ksuid(now), kind, about, *who, "", now, now)
        self._opening = asyncio.Lock()
        self._is_open = False

    async def closes(self) -> tuple[str, ...]:
        """Returns the ids that the event that names the files must close. It looks for a plan a last time before."""
        await self.look()
        return hold_ids(self._record.id) if self._is_open else ()

    async def look(self) -> None:
        """Opens the job if a plan has come. Raises Gone if this is too late."""
        async with self._opening:
            if self._is_open:
                return
            refs, _ = await self._repository.refs()
            if refs.collection.plan > self._mint:
                await open_job(self._repository, self._record.id, self._mint, self._branch, actor=self._actor)
                self._is_open = True

    async def watch(self) -> None:
        while True:
            await self._repository.clock.sleep(LOOK_S)
            with suppress(LochanError):  # the commit will raise it
                await self.look()
            if self._is_open:
                await self._put()

    async def end(self, watch: asyncio.Task[None], state: str) -> None:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        if self._is_open:
            await give_up(self._repository, self._record.id, actor=self._actor)
            self._record = msgspec.structs.replace(self._record, state=state, ended=self._repository.clock.wall())
            await self._put()

    async def _put(self) -> None:
        """Puts the record of the job. An error of the store is no reason for the work to fail."""
        record = msgspec.structs.replace(self._record, beat=self._repository.clock.wall())
        with suppress(LochanError):
            await self._repository.store.put(job_files.path_of(record.id), job_files.encode(record))
