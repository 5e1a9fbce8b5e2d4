"""Upkeep by schedule: which tasks are due, and their runs.

A run is noted in the lake's journal when it begins, so that other servers leave the task alone until it is due again,
and has a job record, which `lochan jobs` shows. The record of a run by schedule that found nothing to do is dropped,
because a day of quiet runs would push out those that people look for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment
from lochan.api.upkeep_tasks import STANDARD_OPTIONS, TASKS, TaskStep, UpkeepOptions, UpkeepTask
from lochan.config.schedule import Schedule, parse_schedule
from lochan.errors import Invalid, LochanError, NotFound
from lochan.versioning.upkeep_turns import last_turn, take_turn

if TYPE_CHECKING:
    from lochan.api.session import Session

JOB_KIND = "upkeep"
_JOBS_READ = 200  # how many of the newest are searched for the last run of a task


class TaskStatus(Result, frozen=True, kw_only=True):
    task: str
    about: str
    schedule: str  # such as 1h, 03:00 or off
    last: datetime | None  # when it last began; None if it never did
    due: datetime | None  # None if it is off
    state: str  # of the last run: running, done, failed, lost; empty if there was none, or it had nothing to do
    error: str
    job: str  # the id of that run's record


def schedule_of(task: UpkeepTask, options: UpkeepOptions) -> tuple[str, Schedule]:
    """Returns the schedule of a task, as text and parsed. Raises Invalid."""
    text = options.schedule.get(task.name, task.when)
    try:
        return text, parse_schedule(text)
    except ValueError:
        raise Invalid(f"upkeep.{task.name}: {text!r} is not a schedule", hint="such as 1h, 03:00 or off") from None


def find_tasks(names: Sequence[str]) -> list[UpkeepTask]:
    """Returns the tasks with these names. Raises NotFound."""
    for name in names:
        if name not in TASKS:
            raise NotFound(f"there is no upkeep task {name!r}", hint=f"the tasks are {', '.join(TASKS)}")
    return [TASKS[name] for name in dict.fromkeys(names)]


async def status(session: Session, options: UpkeepOptions = STANDARD_OPTIONS) -> list[TaskStatus]:
    from lochan.jobs.record import jobs

    now = session.lake.clock.wall()
    journal = await session.lake.journal()
    records = [each for each in await jobs(session.lake.store, now, _JOBS_READ) if each.kind == JOB_KIND]
    found = []
    for task in TASKS.values():
        text, schedule = schedule_of(task, options)
        turn = await last_turn(journal, task.name, now)
        due = schedule.due(turn.time, now) if turn is not None else now
        record = next((each for each in records if each.about == task.name), None)
        if record is not None and turn is not None and record.started < turn.time:
            record = None  # a later run had nothing to do
        found.append(
            TaskStatus(
                task=task.name,
                about=task.about,
                schedule=text,
                last=moment(turn.time) if turn is not None else None,
                due=moment(due) if schedule.is_on else None,
                state=record.state if record is not None else "",
                error=record.error if record is not None else "",
                job=record.id if record is not None else "",
            )
        )
    return found


async def run_due(session: Session, options: UpkeepOptions = STANDARD_OPTIONS) -> AsyncIterator[TaskStep]:
    """Runs every task that is on and due, one after the other."""
    for task in TASKS.values():
        _, schedule = schedule_of(task, options)
        if schedule.is_on:
            async for step in run_if_due(session, task, schedule, options):
                yield step


async def seconds_until_due(session: Session, task: UpkeepTask, schedule: Schedule, started: int) -> float:
    """Returns the seconds until a task is due. A task that was never done is not overdue: its first run is one period
    after the start of the server, or at the time of day."""
    now = session.lake.clock.wall()
    turn = await last_turn(await session.lake.journal(), task.name, now)
    return (schedule.due(turn.time if turn is not None else started, now) - now) / 1e6


async def run_if_due(
    session: Session, task: UpkeepTask, schedule: Schedule, options: UpkeepOptions
) -> AsyncIterator[TaskStep]:
    now = session.lake.clock.wall()
    journal = await session.lake.journal()
    if await take_turn(journal, task.name, schedule.before(now), now, actor=session.actor):
        async for step in _run(session, task, options, keep_idle=False):
            yield step


async def run_now(session: Session, task: UpkeepTask, options: UpkeepOptions) -> AsyncIterator[TaskStep]:
    """Runs a task, whether it is due or not. Other servers treat it as done, and leave it alone until it is due
    again."""
    journal = await session.lake.journal()
    await take_turn(journal, task.name, None, session.lake.clock.wall(), actor=session.actor)
    async for step in _run(session, task, options, keep_idle=True):
        yield step


async def _run(
    session: Session, task: UpkeepTask, options: UpkeepOptions, *, keep_idle: bool
) -> AsyncIterator[TaskStep]:
    """Runs a task, and yields its steps. An error of the whole task is its last step: a caller that repeats tasks
    continues with the next."""
    import asyncio

    from lochan.formats.job import FAILED, path_of
    from lochan.jobs.record import JobReporter, why

    run = JobReporter(session.lake, JOB_KIND, task.name, session.actor, "")
    steps = failures = 0
    first = ""
    try:
        try:
            async for did in task.act(session, options):
                steps += 1
                if did.error is not None:
                    failures += 1
                    first = first or f"{did.where}: {why(did.error)}"
                run.log(f"{did.where}: {did.outcome if did.error is None else why(did.error)}")
                run.progress(steps - failures, steps)
                yield TaskStep(
                    task=task.name,
                    where=did.where,
                    outcome=did.outcome if did.error is None else "failed",
                    error="" if did.error is None else str(did.error),
                )
        except (LochanError, OSError) as error:
            failures += 1
            steps += 1
            first = first or why(error)
            yield TaskStep(task=task.name, where="lake", outcome="failed", error=str(error))
    except BaseException as error:
        await asyncio.to_thread(run.failed, error)
        raise
    await asyncio.to_thread(run.end, *((FAILED, first) if failures else ()))
    if not steps and not keep_idle:
        await session.lake.store.delete(path_of(run.id))
