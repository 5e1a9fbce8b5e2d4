"""A plan lands at the first try beside writers of every kind, and lists nothing that any of them may still name."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress

import msgspec
import pytest

from lochan.errors import Corrupt, LochanError
from lochan.formats.collection_events import PlanBegun, Planned
from lochan.formats.repository_events import Staged
from lochan.journal.feed import events_after
from lochan.versioning import branches, copy, objects, stash, uploads
from lochan.versioning.collection.embedded import EmbeddedCollection
from lochan.versioning.collection.engine import CollectedFiles
from lochan.versioning.collection.marks import CollectionLook
from lochan.versioning.collection.plan import look_at, plan
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write as workspace_write
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ALL, ANN, Lakeside, lakeside, once


class Slow(EmbeddedCollection):
    """Others act after the plan has begun, before anything is marked."""

    def __init__(self, repository: OpenRepository, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(repository)
        self._meanwhile = meanwhile

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        await self._meanwhile()
        return await super().collect(look, write=write)


class SlowAndLate(Slow):
    """Planted: it marks a state after the beginning."""

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        await self._meanwhile()
        late = await look_at(self._repository, look.cut)
        return await EmbeddedCollection.collect(self, late._replace(marked=look.marked), write=write)


@pytest.mark.parametrize("engine", [Slow, SlowAndLate])
def test_what_was_read_after_the_beginning_and_deleted_since_is_not_listed(engine: type[Slow]) -> None:
    """The copy has read the object after the plan began. It lands when the object is long gone, and the plan too. Where
    a later state is marked, the tripwire must find it."""

    async def play() -> None:
        there = await lakeside()
        repository = there.repository
        await there.history.stage("main", "a=1 b=2")
        await there.round()
        held: list[Staged] = []

        async def meanwhile() -> None:
            _, number = await repository.refs()
            entry = await objects.stat(repository, "main", "a")
            held.append(Staged("main", (msgspec.structs.replace(entry, path="copy"),), read_at=number))
            await objects.delete(repository, "main", ["a"], actor=ANN)

        there.clock.skip_day()
        await plan(repository, there.lake.id, ALL, actor=ANN, engine=engine(repository, meanwhile))
        await repository.submit(ANN, *held)
        with nullcontext() if engine is Slow else pytest.raises(Corrupt, match="are named again"):
            await there.sweep()
        assert await there.history.read("main") == "b=2 copy=1"

    run(play())


async def plan_records(there: Lakeside) -> list[str]:
    """The events of plans, in order."""
    lines = [line async for line in events_after(there.repository.journal, 0)]
    return [line.type for line in lines if line.type in (PlanBegun.type, Planned.type)]


@pytest.mark.thorough
def test_a_plan_lands_at_the_first_try_beside_64_writers_of_all_kinds() -> None:
    asyncio.run(_play())


async def _play() -> None:
    there = await lakeside()
    repository = there.repository
    await there.history.write("main", "keep/a=1 keep/b=2")
    await there.history.stage("main", "keep/a=3")
    await there.history.stage("main", "keep/a=4")
    await there.round()
    for number in range(8):
        await there.history.branch(f"w{number}")
    stop, begun, all_wrote, done = False, asyncio.Barrier(65), asyncio.Event(), [0] * 64

    async def put(number: int, turn: int) -> None:
        await objects.put(repository, f"w{number % 8}", f"p/{number}", once(b"%d" % turn), actor=ANN)

    async def committing(number: int, turn: int) -> None:
        await put(number, turn)
        await commit(repository, f"w{number % 8}", CommitRequest("w"), actor=ANN)

    async def copying(number: int, turn: int) -> None:
        await copy.copy(repository, "main", "keep/b", f"w{number % 8}", f"c/{number}", actor=ANN)

    async def deleting(number: int, turn: int) -> None:
        await put(number, turn)
        await objects.delete(repository, f"w{number % 8}", [f"p/{number}"], actor=ANN)

    async def branching(number: int, turn: int) -> None:
        await branches.create_branch(repository, f"b{number}-{turn}", "main", actor=ANN)
        await branches.delete_branch(repository, f"b{number}-{turn}", "main", actor=ANN)

    async def uploading(number: int, turn: int) -> None:
        upload = await uploads.open_upload(repository, f"w{number % 8}", f"u/{number}", actor=ANN)
        await uploads.put_part(repository, upload, 1, once(b"part"), actor=ANN)

    async def working(number: int, turn: int) -> None:
        opened = (await workspace_write.open_workspace(repository, f"w{number % 8}", actor=ANN)).id
        await workspace_write.put(repository, opened, f"ws/{number}", once(b"w"), actor=ANN)
        await workspace_commit.commit(repository, opened, CommitRequest("w"), actor=ANN, everything=True)

    async def stashing(number: int, turn: int) -> None:
        await put(number, turn)
        await stash.push(repository, f"w{number % 8}", actor=ANN)

    kinds = (put, committing, copying, deleting, branching, uploading, working, stashing)

    async def write(number: int) -> None:
        await begun.wait()
        while not stop:
            with suppress(LochanError):  # others were first
                await kinds[number // 8](number, done[number])
            await asyncio.sleep(0)  # what is refused may not have waited for anything
            done[number] += 1
            if min(done):
                all_wrote.set()

    writers = [asyncio.create_task(write(number)) for number in range(64)]
    await begun.wait()
    await all_wrote.wait()
    before = await plan_records(there)
    made = await asyncio.wait_for(there.plan(), 120)
    assert (await plan_records(there))[len(before) :] == [PlanBegun.type, Planned.type]
    stop = True
    await asyncio.gather(*writers)
    assert made.head.dead_files >= 1
    assert (await there.sweep()).files == made.head.dead_files
    for number in range(8):
        await there.history.read(f"w{number}")  # every byte that is named is there
    assert (await there.history.read("main")).startswith("keep/a=4 keep/b=2")
