"""Tasks of upkeep: who does what is due, what is recorded of a run, and what a task does when part of it fails."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lochan.api.lake import Lake
from lochan.api.schedule import run_due
from lochan.api.session import Session
from lochan.api.upkeep_tasks import DAY_US, TASKS, Did, UpkeepOptions, UpkeepTask
from lochan.clock import SystemClock
from lochan.errors import NotFound, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake as EngineLake
from lochan.lake import LakeOptions
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import open_store
from lochan.versioning.upkeep_turns import SKEW_US
from tests.run import run

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")
ONLY_TRIM = UpkeepOptions(schedule=dict.fromkeys(TASKS, "off") | {"trim": "1h"})


class Wall(SystemClock):
    """A wall clock that a test moves."""

    ahead = 0

    def wall(self) -> int:
        return super().wall() + self.ahead


async def works(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    yield Did("shop", "tidied")
    yield Did("shop", error=Refused("it is locked"))


async def idle(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    return
    yield Did("")


async def breaks(session: Session, options: UpkeepOptions) -> AsyncIterator[Did]:
    yield Did("shop", "tidied")
    raise OSError("the disk is gone")


def replace(monkeypatch: pytest.MonkeyPatch, act: object) -> None:
    monkeypatch.setattr("lochan.api.upkeep_tasks.TASKS", TASKS)
    monkeypatch.setitem(TASKS, "trim", UpkeepTask("trim", "as a test likes", "1h", act))  # type: ignore[arg-type]


def test_of_several_servers_one_does_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, works)

    async def play() -> None:
        clock, store = Wall(), MemoryStore()
        lakes = [await EngineLake.create(store, clock=clock)]
        lakes += [await EngineLake.open(store, clock=clock) for _ in range(3)]

        async def due(lake: EngineLake) -> int:
            return len([step async for step in run_due(Session(lake, ANN), ONLY_TRIM)])

        assert sorted(await asyncio.gather(*map(due, lakes))) == [0, 0, 0, 2]
        assert await due(lakes[1]) == 0
        clock.ahead = DAY_US // 12
        assert sorted(await asyncio.gather(*map(due, lakes))) == [0, 0, 0, 2]
        for each in lakes:
            await each.close()

    run(play())


def test_a_turn_from_the_future_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, works)

    async def play() -> None:
        clock = Wall()
        lake = await EngineLake.create(MemoryStore(), clock=clock)
        clock.ahead = 365 * DAY_US
        assert len([step async for step in run_due(Session(lake, ANN), ONLY_TRIM)]) == 2
        clock.ahead = 365 * DAY_US - SKEW_US // 2
        assert not [step async for step in run_due(Session(lake, ANN), ONLY_TRIM)]
        clock.ahead = 0
        assert len([step async for step in run_due(Session(lake, ANN), ONLY_TRIM)]) == 2
        await lake.close()

    run(play())


def test_a_run_has_a_record_and_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, works)

    async def play() -> None:
        lake = Lake(Session(await EngineLake.create(MemoryStore()), ANN))
        steps = [step async for step in lake.run_upkeep(["trim"], ONLY_TRIM)]
        assert [(step.where, step.outcome, step.error) for step in steps] == [
            ("shop", "tidied", ""),
            ("shop", "failed", "it is locked"),
        ]
        [job] = await lake.jobs()
        assert (job.kind, job.about, job.state, job.error, job.done, job.total) == (
            "upkeep",
            "trim",
            "failed",
            "shop: refused",
            1,
            2,
        )
        assert [line.text for line in job.log] == ["shop: tidied", "shop: refused"]
        assert [line.text async for line in lake.events()] == ["began upkeep: trim"]
        trim = next(each for each in await lake.upkeep_status(ONLY_TRIM) if each.task == "trim")
        assert (trim.state, trim.error, trim.job) == ("failed", "shop: refused", job.id)
        assert trim.due is not None
        assert trim.last is not None
        assert (trim.due - trim.last).total_seconds() == 3_600
        await lake.close()

    run(play())


def test_a_run_by_schedule_without_work_leaves_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, idle)

    async def play() -> None:
        lake = Lake(Session(await EngineLake.create(MemoryStore()), ANN))
        assert not [step async for step in lake.run_upkeep((), ONLY_TRIM)]
        assert await lake.jobs() == []
        assert not [step async for step in lake.run_upkeep(["trim"], ONLY_TRIM)]
        [job] = await lake.jobs()
        assert job.state == "done"
        await lake.close()

    run(play())


def test_a_task_that_breaks_is_a_failed_step(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, breaks)

    async def play() -> None:
        lake = Lake(Session(await EngineLake.create(MemoryStore()), ANN))
        steps = [step async for step in lake.run_upkeep(["trim"], ONLY_TRIM)]
        assert [step.outcome for step in steps] == ["tidied", "failed"]
        assert (await lake.jobs())[0].state == "failed"
        with pytest.raises(NotFound, match="no upkeep task 'prune'"):
            [step async for step in lake.run_upkeep(["trim", "prune"])]
        await lake.close()

    run(play())


def test_every_task_runs_on_a_lake_with_files_and_a_pool() -> None:
    async def play() -> None:
        lake = Lake(Session(await EngineLake.create(MemoryStore()), ANN))
        await lake.create_repository("shop")
        await lake.create_pool("logs", key="n")
        steps = [step async for step in lake.run_upkeep(list(TASKS), UpkeepOptions(grace_hours=0))]
        assert [step for step in steps if step.error] == []
        assert {step.task for step in steps} >= {"gc"}
        assert all(each.last is not None for each in await lake.upkeep_status())
        await lake.close()

    run(play())


def test_turns_are_in_checkpoints() -> None:
    async def play() -> None:
        store = MemoryStore()
        first = await EngineLake.create(store)
        lake = Lake(Session(first, ANN))
        [step async for step in lake.run_upkeep(["trim"])]
        await (await first.journal()).checkpoint()
        await lake.close()
        again = Lake(Session(await EngineLake.open(store), ANN))
        assert next(each for each in await again.upkeep_status() if each.task == "trim").last is not None
        await again.close()

    run(play())


def test_a_branch_follows_a_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.csv").write_bytes(b"1,2\n")

    async def play() -> None:
        world = LakeOptions(open_store=open_store)
        lake = Lake(Session(await EngineLake.create(LocalStore(str(tmp_path / "lake"), create=True), world=world), ANN))
        await lake.create_repository("shop")
        sources = f"shop@main/in/=file://{tmp_path}/outside/ nothing shop@nope/=file://{tmp_path}/outside/"
        options = UpkeepOptions(ingest_sources=sources)
        steps = [step async for step in lake.run_upkeep(["ingest"], options)]
        assert [(step.where, step.outcome) for step in steps] == [
            ("shop@main/in/", "added 1, changed 0, removed 0 objects"),
            ("nothing", "failed"),
            ("shop@nope/", "failed"),
        ]
        assert "names no source" in steps[1].error
        again = [step async for step in lake.run_upkeep(["ingest"], options)]
        assert [step.where for step in again] == ["nothing", "shop@nope/"]
        await lake.close()

    run(play())
