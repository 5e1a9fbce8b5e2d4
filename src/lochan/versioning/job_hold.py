"""Files that a job writes for long are held open, so that garbage collection spares them until they are named (G3).

A load is refused if two plans came since its first byte: the second one's cut has passed its mint number. So it must be
held open before that plan. Work that runs on other machines for hours opens a job at once. Work in this process looks
now and then whether a first plan has come, and opens one only then: a load of some seconds pays nothing for it.

    mint ──── bytes ────▶ plan ──▶ job opened ──▶ plan, whose cut has passed the mint ──▶ moved, which closes the job

An open job holds all files with its mint number. Whoever dies leaves it open; upkeep abandons it by an event. If its
process wakes up after that, its commit is refused, since what it would close is not open any more.
"""

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

LOOK_S = 10.0  # the heartbeat of a job that was opened; a minute without one, and it counts as lost
_RUNS = "/runs"


def hold_ids(job: str) -> tuple[str, ...]:
    """What the event that names the job's files closes."""
    return (job, f"{job}{_RUNS}") if job else ()


def job_of(id: str) -> str:
    """The job that something is held open by."""
    return id.removesuffix(_RUNS)


def run_prefix(mint: int) -> str:
    """How the names of a job's runs begin, which its driver reads before it commits."""
    return f"{mint:020d}"


async def open_job(repository: OpenRepository, job: str, mint: int, branch: str = "", *, actor: Actor) -> None:
    """Raises Gone if the files may have been collected already."""
    id = repository.repository.id
    data, runs = hold_ids(job)
    await repository.submit(
        without_key(actor),
        Opened(data, JOB, f"{id}/data/{mint:020d}-", branch),
        Opened(runs, JOB, f"{id}/runs/{run_prefix(mint)}", branch),
    )


async def give_up(repository: OpenRepository, job: str, *, actor: Actor) -> None:
    """Nothing will name its files any more. Does nothing if the job is not open."""
    with suppress(LochanError):  # upkeep abandons it later
        refs, _ = await repository.refs()
        left = tuple(id for id in hold_ids(job) if refs.collection.held(id) is not None)
        if left:
            await repository.submit(without_key(actor), Abandoned(left))


@asynccontextmanager
async def held_open(
    repository: OpenRepository, job: str, mint: int, branch: str = "", *, actor: Actor
) -> AsyncIterator[tuple[str, ...]]:
    """Opened at once. Gives what the commit closes; what is left open after it is given up."""
    await open_job(repository, job, mint, branch, actor=actor)
    try:
        yield hold_ids(job)
    finally:
        await give_up(repository, job, actor=actor)


@asynccontextmanager
async def held_if_long(
    repository: OpenRepository, kind: str, branch: str, mint: int, *, actor: Actor
) -> AsyncIterator[JobHold]:
    """For work in this process: opened when a plan has come since the mint. Then the lake's list of jobs shows it."""
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
        """For the event that names the files. Looks a last time before."""
        await self.look()
        return hold_ids(self._record.id) if self._is_open else ()

    async def look(self) -> None:
        """Raises Gone if this is too late."""
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
            with suppress(LochanError):  # the commit will say it
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
        """Its record. What the store has against it is no reason for the work to fail."""
        record = msgspec.structs.replace(self._record, beat=self._repository.clock.wall())
        with suppress(LochanError):
            await self._repository.store.put(job_files.path_of(record.id), job_files.encode(record))
