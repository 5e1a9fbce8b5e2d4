"""Finds jobs that hold files open although their process is gone. They are abandoned by an event, and their files
become garbage.

Whether a job is dead is judged by its record: how it ended, or when it last gave a sign of life, by the store's clock.
A mistake costs work, never data: a job that comes back is refused, because the record that it would close is not open
any more."""

from collections.abc import Sequence
from typing import NamedTuple

from lochan.errors import Corrupt, NotFound, Refused
from lochan.formats import job as job_files
from lochan.formats.collection_events import Abandoned
from lochan.formats.job import RUNNING, JobRecord
from lochan.formats.record import Actor
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.job_hold import job_of
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import JOB, HeldFile

DEAD_S = 86_400.0  # without a sign of life; jobs give one every few seconds
SILENT_S = 7 * DEAD_S  # since it was opened, for a job that gives none, or has no record
ENDED_S = 3_600.0  # since its end: its last event may still be under way


class HeldJob(NamedTuple):
    """A job that holds files open."""

    id: str
    kind: str  # load, compact, write …; empty if it has no record
    about: str
    state: str  # the last state that it reported; empty if it has no record
    held_s: float  # how long it has been open
    silent_s: float  # the time since its last sign of life
    is_dead: bool


async def held_jobs(repository: OpenRepository) -> list[HeldJob]:
    refs, _ = await repository.refs()
    held = {job_of(id): each for id, each in refs.collection.all_held() if each.kind == JOB}
    if not held:
        return []
    now = await store_time(repository.store, repository.repository.id)
    return [await _look(repository.store, id, each, now) for id, each in sorted(held.items())]


async def abandon_jobs(repository: OpenRepository, jobs: Sequence[str] = (), *, actor: Actor) -> list[HeldJob]:
    """Abandons the named jobs, dead or not; without names, those that are dead. Raises NotFound if a named job is not
    open."""
    held = {each.id: each for each in await held_jobs(repository)}
    for id in jobs:
        if id not in held:
            hint = "`lochan gc jobs REPO` shows those that are"
            raise NotFound(f"no job {id!r} holds files open", hint=hint).named(id, lambda: list(held))
    dead = {id: each for id, each in held.items() if (id in jobs if jobs else each.is_dead)}
    refs, _ = await repository.refs()
    ids = tuple(id for id, each in refs.collection.all_held() if each.kind == JOB and job_of(id) in dead)
    if ids:
        try:
            await repository.submit(actor, Abandoned(ids))
        except Refused:  # one of them has just ended; the rest can wait for the next round
            return []
    return list(dead.values())


async def _look(store: Store, id: str, held: HeldFile, now: float) -> HeldJob:
    held_s = now - held.opened / 1e6
    path = job_files.path_of(id)
    try:
        record = await get_decoded(store, path, lambda data: job_files.decode(data, path))
        silent_s = now - (await store.head(path)).modified
    except (NotFound, Corrupt):
        return HeldJob(id, "", "", "", held_s, held_s, held_s > SILENT_S)
    return HeldJob(id, record.kind, record.about, record.state, held_s, silent_s, _is_dead(record, held_s, silent_s))


def _is_dead(record: JobRecord, held_s: float, silent_s: float) -> bool:
    if record.state != RUNNING:
        return silent_s > ENDED_S
    return silent_s > DEAD_S and (not record.silent or held_s > SILENT_S)
