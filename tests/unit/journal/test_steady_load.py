"""A lake under steady load keeps its metadata bounded: slots and checkpoints do not pile up.

What grows is the history itself, once: every record is in one segment, for ever. Beside the segments stand the records
of the group that is not full, those that came since the last trim, and a few checkpoints.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from lochan.formats.record import Actor
from lochan.formats.repository_events import RepositoryOpened, Staged, TagCreated, TagDeleted
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import CHECKPOINT_EVERY, Journal, Settings
from lochan.journal.slots import GROUP, ObjectSlots
from lochan.journal.state import Schema
from lochan.lake import LAKE_JOURNAL, Lake
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.versioning.state.refs import Refs
from tests.run import run
from tests.unit.versioning.folded_events import FIRST

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "")
ID = "repo"
HOUR, DAY = 3_600.0, 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def wall(self) -> int:
        return 1_767_225_600_000_000 + round(self.now * 1e6)

    def boot(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Metadata(NamedTuple):
    slots: int
    slot_bytes: int
    segments: int
    segment_bytes: int
    checkpoints: int
    checkpoint_bytes: int


async def measured(store: MemoryStore) -> Metadata:
    parts: dict[str, list[int]] = {"journal": [], "seg": [], "checkpoints": []}
    async for stat in store.list(f"{ID}/"):
        parts[stat.path.split("/")[-2]].append(stat.size)
    slots, segments, checkpoints = parts["journal"], parts["seg"], parts["checkpoints"]
    return Metadata(len(slots), sum(slots), len(segments), sum(segments), len(checkpoints), sum(checkpoints))


async def open_journal(store: MemoryStore, clock: Clock, *, aged: bool, group: int = GROUP) -> Journal:
    def alarm(text: str) -> None:
        raise AssertionError(text)

    slots = ObjectSlots(store, ID, aged=aged, group=group)
    settings = Settings("test", checkpoint_every=group)
    return await Journal.open(ID, Schema(Refs, alarm=alarm), slots, store, clock, Ids(), settings)


async def append(journal: Journal, number: int) -> None:
    """A record with something that goes again: the state stays as large as it is, the history grows."""
    name = f"tag-{number}"
    await journal.submit(AppendRequest(ANN, lambda state: [TagCreated(name, FIRST.id), TagDeleted(name)]))


async def steady(journal: Journal, clock: Clock, count: int, pause_s: float) -> AsyncIterator[int]:
    await journal.submit(AppendRequest(ANN, lambda state: [RepositoryOpened("files", "main", FIRST)]))
    for number in range(count):
        clock.now += pause_s
        await append(journal, number)
        await asyncio.gather(*journal._background)  # a disk is quicker than a second
        yield number


@pytest.mark.thorough
def test_an_hour_of_a_record_a_second_on_a_disk() -> None:
    async def play() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        journal = await open_journal(store, clock, aged=False)
        async for number in steady(journal, clock, 3_600, 1.0):
            if number % 50 == 0:
                now = await measured(store)
                assert now.slots <= GROUP + 1  # and the file that a checkpoint syncs
                assert now.checkpoints <= 4
        last = journal.tail.state.checkpoint()
        now = await measured(store)
        assert now.segments == 3_601 // GROUP
        assert now.checkpoint_bytes <= 4 * 2 * sum(map(len, last.parts.values()))
        assert now.segment_bytes + now.slot_bytes <= 600 * 3_601, "each record is there once"

    run(play())


def test_slots_of_a_burst_go_with_the_next_checkpoint() -> None:
    """Too quick for a trim behind every checkpoint: a thousand records in the same second."""

    async def play() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        journal = await open_journal(store, clock, aged=False)
        async for _ in steady(journal, clock, 1_000, 0.0):
            pass
        assert (await measured(store)).checkpoints <= 4
        clock.now += 10
        for number in range(CHECKPOINT_EVERY):
            await append(journal, 1_000 + number)
        await journal.close()
        assert (await measured(store)).slots <= GROUP + 1

    run(play())


@pytest.mark.thorough
def test_three_days_in_a_bucket() -> None:
    """There a slot stays for a day after a checkpoint past it, and one checkpoint an hour stays for two."""

    async def play() -> None:
        clock, group, pause_s = Clock(), 16, 120.0
        store = MemoryStore(clock=clock)
        journal = await open_journal(store, clock, aged=True, group=group)
        a_day = round(DAY / pause_s)
        async for number in steady(journal, clock, 3 * a_day, pause_s):
            if number % 100 == 0:
                now = await measured(store)
                assert now.slots <= a_day + round(HOUR / pause_s) + 3 * group
                assert now.checkpoints <= 4 + 49
        assert (await measured(store)).segments == (3 * a_day + 1) // group
        assert [stat.path async for stat in store.list(f"{ID}/journal/trim/")] == []

    run(play())


@pytest.mark.thorough
def test_a_cold_start_after_trimming_reads_one_checkpoint_and_what_came_since() -> None:
    async def play() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        journal = await open_journal(store, clock, aged=False)
        async for _ in steady(journal, clock, 1_500, 1.0):
            pass
        counts = RequestCounts()
        cold = await open_journal(CountingStore(store, counts), clock, aged=False)  # type: ignore[arg-type]
        assert (await cold.fresh()).checkpoint() == journal.tail.state.checkpoint()
        since = 1_501 % CHECKPOINT_EVERY
        assert counts.list.requests <= 2
        assert counts.get.requests <= 3 * since, "a look at slots and segments after the newest checkpoint, no more"

    run(play())


@pytest.mark.thorough
def test_a_reader_whose_checkpoints_have_gone_reads_on() -> None:
    """It has listed them, and before it reads one they are all replaced by newer ones."""

    async def play() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        journal = await open_journal(store, clock, aged=False)
        old = await open_journal(store, clock, aged=False)  # opened at the beginning, and never refreshed
        async for _ in steady(journal, clock, 600, 1.0):
            pass
        reader = await open_journal(store, clock, aged=False)
        listed, found = await reader.checkpoints.found(), reader.checkpoints.found
        async for _ in _more(journal, clock, 1_500):
            pass
        assert {each.number for each in listed}.isdisjoint({each.number for each in await found()})
        answers = [listed]

        async def stale() -> object:
            return answers.pop() if answers else await found()

        reader.checkpoints.found = stale  # type: ignore[assignment,method-assign]
        state = await reader.checkpoints.newest_state(reader.schema, ID)
        assert state.number >= 2_048
        assert (await old.fresh()).checkpoint() == journal.tail.state.checkpoint()

    run(play())


async def _more(journal: Journal, clock: Clock, count: int) -> AsyncIterator[int]:
    for number in range(count):
        clock.now += 1
        await append(journal, 10_000 + number)
        yield number
    await journal.close()


@pytest.mark.thorough
def test_commands_that_append_one_record_each_trim_too(tmp_path: Path) -> None:
    """A lake that no server ever opens: every append is a process of its own."""

    async def play() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path), create=True))
        await lake.create_repository("demo-repo", actor=ANN)
        id = (await lake.repository("demo-repo")).id
        await lake.close()
        for number in range(2 * GROUP + 20):
            lake = await Lake.open(LocalStore(str(tmp_path)))
            journal = await lake.journal(id)
            await journal.submit(AppendRequest(ANN, _stage(number)))
            await journal.close()
            await lake.close()
        slots = [path for path in (tmp_path / id / "journal").iterdir() if path.name.isdigit()]
        assert len(slots) <= GROUP
        assert len(list((tmp_path / id / "journal" / "seg").iterdir())) == 2

    run(play())


def _stage(number: int) -> Callable[[object], list[Staged]]:
    return lambda state: [Staged("main", deletes=(f"path-{number}",))]


def test_what_nobody_trimmed_is_trimmed_for_the_whole_lake() -> None:
    """As a server and `lochan manage` do it; and where there is nothing to do, nothing is folded."""

    async def play() -> None:
        clock, counts = Clock(), RequestCounts()
        store = MemoryStore(clock=clock)
        lake = await Lake.create(CountingStore(store, counts), clock=clock)
        await lake.create_repository("demo-repo", actor=ANN)
        journal = await lake.journal((await lake.repository("demo-repo")).id)
        journal._settings = Settings("test", checkpoint_every=10_000)
        for number in range(GROUP + 5):
            await journal.submit(AppendRequest(ANN, _stage(number)))
        await journal.checkpoint()
        first = [(each.name, *each.trimmed, each.error) async for each in lake.trim()]
        clock.now += 2 * DAY
        second = [(each.name, *each.trimmed, each.error) async for each in lake.trim()]
        assert [name for name, *_ in first] == [LAKE_JOURNAL, "demo-repo"]
        assert first[1][1:] == (1, 0, None)
        assert second[1][1:] == (0, GROUP - 1, None)
        counts.get.requests = 0
        assert [each.trimmed async for each in lake.trim("demo-repo")] == [(0, 0)]
        assert counts.get.requests <= 2
        await lake.close()

    run(play())
