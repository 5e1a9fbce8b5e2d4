"""The mirror, over a journal in memory that stands for the database. Groups of four: records 1–3, 4–7, 8–11 …"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from lochan import failpoints
from lochan.errors import Corrupt, LochanError, NotFound, Transient
from lochan.formats import segment as segments
from lochan.formats.record import SealedRecord
from lochan.journal.journal import Journal, Settings
from lochan.journal.mirror import Mirror, Mirroring, MirrorResult, read_mirror
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema, State
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories
from tests.journal_place import CLOCK, IDS, JOURNAL, create, fill, names
from tests.run import run
from tests.until import until

GROUP = 4


@dataclass
class World:
    database: MemoryStore = field(default_factory=MemoryStore)
    bucket: Store = field(default_factory=MemoryStore)
    alarms: list[str] = field(default_factory=list)

    @property
    def slots(self) -> ObjectSlots:
        return ObjectSlots(self.database, JOURNAL, aged=False, group=GROUP)

    def mirror(self) -> Mirror:
        """The mirror as another process has it."""
        return Mirror(self.slots, self.bucket, JOURNAL, CLOCK)

    async def journal(self, behind: Mirroring | None = None) -> Journal:
        schema = Schema(Repositories, alarm=self.alarms.append)
        settings = Settings(checkpoint_every=1_000_000)
        return await Journal.open(JOURNAL, schema, self.slots, self.database, CLOCK, IDS, settings, behind=behind)

    async def files(self) -> list[str]:
        folder = f"{JOURNAL}/journal/"
        return [_short(stat.path.removeprefix(folder)) async for stat in self.bucket.list(folder)]

    async def read(self) -> list[SealedRecord]:
        return [sealed async for sealed in read_mirror(self.bucket, JOURNAL, group=GROUP)]

    async def has(self, records: int) -> bool:
        return len(await self.read()) == records

    async def rebuilt(self) -> State:
        state = Schema(Repositories, alarm=self.alarms.append).empty(JOURNAL)
        for sealed in await self.read():
            state.fold(sealed)
        return state


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm(None)


class Killed(BaseException):
    """The process ended here."""


def kill_at(name: str) -> None:
    def action(passed: str) -> None:
        if passed == name:
            failpoints.arm(None)
            raise Killed

    failpoints.arm(action)


@pytest.mark.parametrize(
    "count, files, mirrored",
    [
        pytest.param(0, [], MirrorResult(0, 0, 0), id="nothing"),
        pytest.param(2, ["mirror/1-2"], MirrorResult(0, 2, 2), id="a tail only"),
        pytest.param(3, ["seg/0"], MirrorResult(1, 3, 3), id="a full group only"),
        pytest.param(9, ["mirror/8-9", "seg/0", "seg/1"], MirrorResult(2, 9, 9), id="full groups and a tail"),
    ],
)
def test_what_is_mirrored(count: int, files: list[str], mirrored: MirrorResult) -> None:
    async def play() -> None:
        world = World()
        journal = await world.journal()
        await fill(journal, count)
        mirror = world.mirror()
        assert await mirror.mirror() == mirrored
        assert await world.files() == files
        assert await mirror.mirror() == MirrorResult(0, 0, count), "a second time there is nothing to do"
        assert await world.mirror().mirror() == MirrorResult(0, 0, count), "nor for another process"
        assert await world.files() == files
        assert [s.data for s in await world.read()] == [s.data async for s in journal.records()]
        assert (await world.rebuilt()).checkpoint() == journal.tail.state.checkpoint()

    run(play())


def test_segments_are_the_bytes_that_a_trimmer_packs() -> None:
    async def play() -> None:
        world = World()
        journal = await world.journal()
        await fill(journal, 9)
        await world.mirror().mirror()
        await journal.trim()
        for group in range(2):
            path = world.slots.segment_path(group)
            assert await world.bucket.get(path) == await world.database.get(path)

    run(play())


def test_the_tail_grows_by_batches_until_its_group_is_full() -> None:
    async def play() -> None:
        world = World()
        journal, mirror = await world.journal(), world.mirror()
        seen = []
        for index in range(8):
            await fill(journal, 1, f"repo-{index}")
            await mirror.mirror()
            seen.append(await world.files())
            assert len(await world.read()) == index + 1
        assert seen == [
            ["mirror/1-1"],
            ["mirror/1-1", "mirror/2-2"],
            ["seg/0"],
            ["mirror/4-4", "seg/0"],
            ["mirror/4-4", "mirror/5-5", "seg/0"],
            ["mirror/4-4", "mirror/5-5", "mirror/6-6", "seg/0"],
            ["seg/0", "seg/1"],
            ["mirror/8-8", "seg/0", "seg/1"],
        ]

    run(play())


def test_it_goes_on_where_the_journal_was_trimmed() -> None:
    async def play() -> None:
        world = World()
        journal, behind = await world.journal(), world.mirror()
        await fill(journal, 2)
        await behind.mirror()
        await fill(journal, 8, "later")
        await journal.trim()
        assert await behind.mirror() == MirrorResult(2, 8, 10)
        assert await world.mirror().mirror() == MirrorResult(0, 0, 10)
        assert (await world.rebuilt()).checkpoint() == journal.tail.state.checkpoint()

    run(play())


def test_many_mirrors_beside_writers_and_a_trimmer() -> None:
    async def play() -> None:
        world = World()
        writers, trimmer = [await world.journal() for _ in range(2)], await world.journal()
        background: list[Mirror | Journal] = [world.mirror(), world.mirror(), world.mirror(), trimmer]
        done = False

        async def again(work: Mirror | Journal) -> None:
            while not done:
                await (work.mirror() if isinstance(work, Mirror) else work.trim())
                await asyncio.sleep(0)

        busy = [asyncio.create_task(again(one)) for one in background]
        await asyncio.gather(*(fill(writer, 40, f"writer-{index}") for index, writer in enumerate(writers)))
        done = True
        await asyncio.gather(*busy)
        await world.mirror().mirror()
        assert len(await world.read()) == 80
        assert (await world.rebuilt()).checkpoint() == (await writers[0].fresh()).checkpoint()
        assert not [
            name for name in await world.files() if name.startswith("mirror/") and int(name[7:].split("-")[0]) < 80
        ]

    run(play())


@pytest.mark.parametrize(
    "where",
    [
        "mirror.before_batch",
        "mirror.after_batch",
        "mirror.before_segment",
        "mirror.after_segment",
        "mirror.deleted_batch",
    ],
)
def test_killed_at_any_step(where: str) -> None:
    """Nothing that was mirrored is ever missing, and the next mirror tidies up."""

    async def play() -> None:
        world = World()
        journal = await world.journal()
        whole: list[bytes] = []
        killed = 0
        for index in range(20):
            await fill(journal, 1, f"repo-{index}")
            whole = [sealed.data async for sealed in journal.records()]
            before = len(await world.read())
            kill_at(where)
            try:
                await world.mirror().mirror()
            except Killed:
                killed += 1
            failpoints.arm(None)
            read = [sealed.data for sealed in await world.read()]
            assert len(read) >= before
            assert read == whole[: len(read)]
        assert killed
        await world.mirror().mirror()
        assert [sealed.data for sealed in await world.read()] == whole
        batches = [name for name in await world.files() if name.startswith("mirror/")]
        assert all(int(name.removeprefix("mirror/").split("-")[0]) >= 20 for name in batches)

    run(play())


def test_a_mirror_that_is_behind_gives_all_up_to_where_it_was() -> None:
    async def play() -> None:
        world = World()
        journal = await world.journal()
        await fill(journal, 6)
        await world.mirror().mirror()
        then = journal.tail.state.checkpoint()
        await fill(journal, 5, "later")
        world.database = MemoryStore()  # gone
        assert (await world.rebuilt()).checkpoint() == then

    run(play())


# --- two histories ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mirrored", [2, 3, 6, 9])
@pytest.mark.parametrize("forgotten", [1, 2, 3])
def test_a_database_that_forgot_what_the_mirror_holds(mirrored: int, forgotten: int) -> None:
    if forgotten > mirrored:
        pytest.skip("there are not so many")

    async def play() -> None:
        world = World()
        journal = await world.journal()
        await fill(journal, mirrored)
        same = world.mirror()
        await same.mirror()
        kept = await world.files()
        for number in range(mirrored - forgotten + 1, mirrored + 1):
            await world.slots.delete_many([number])
        for mirror in (same, world.mirror()):
            with pytest.raises(Corrupt, match="forgotten"):
                await mirror.mirror()
        other = await world.journal()
        await fill(other, forgotten + 1, "another-history")
        for mirror in (same, world.mirror()):
            with pytest.raises(Corrupt):
                await mirror.mirror()
        assert await world.files() == kept, "what was mirrored stays"
        assert len(await world.read()) == mirrored

    run(play())


# --- damage ----------------------------------------------------------------------------------------------------------
def test_damage_in_the_bucket_is_seen() -> None:
    async def play() -> None:
        world = World()
        await fill(await world.journal(), 9)
        await world.mirror().mirror()
        for name in ("seg/00000000000000000001", f"mirror/{8:020d}-{9:020d}"):
            path = f"{JOURNAL}/journal/{name}"
            good = await world.bucket.get(path)
            packed = segments.decode(good, "")
            swapped = segments.encode(segments.Segment(packed.group, packed.first, packed.records[::-1]))
            for bad in (good[:-1], good[:50] + b"!" + good[51:], swapped):
                await world.bucket.put(path, bad)
                with pytest.raises(Corrupt):
                    await world.read()
            await world.bucket.put(path, good)
        await world.bucket.delete(world.slots.segment_path(1))
        with pytest.raises(Corrupt, match="record 4 is missing"):
            await world.read()

    run(play())


def test_a_damaged_batch_is_mirrored_again() -> None:
    async def play() -> None:
        world = World()
        journal, mirror = await world.journal(), world.mirror()
        await fill(journal, 4)
        await mirror.mirror()
        await fill(journal, 1, "later")
        await world.bucket.put(f"{JOURNAL}/journal/mirror/{4:020d}-{4:020d}", b"damaged")
        await world.mirror().mirror()
        assert await world.files() == ["mirror/4-4", "mirror/4-5", "seg/0"]
        assert len(await world.read()) == 5

    run(play())


# --- behind a writer -------------------------------------------------------------------------------------------------
class Refusing:
    """A bucket that cannot be reached for a while."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.error: LochanError | None = None

    def __getattr__(self, name: str) -> object:
        if self.error is not None and hasattr(Store, name) and name != "url":
            raise self.error
        return getattr(self.store, name)


def test_it_runs_after_so_many_records() -> None:
    async def play() -> None:
        world = World()
        journal = await world.journal(Mirroring(world.mirror(), world.alarms.append, every_records=5, every_s=60))
        await fill(journal, 4)
        await asyncio.sleep(0.01)  # nothing may come meanwhile
        assert await world.files() == []
        await fill(journal, 1, "fifth")
        await until(lambda: world.has(5), "a mirrored record")
        await fill(journal, 1, "sixth")
        await journal.close()
        assert len(await world.read()) == 6, "and at the end"

    run(play())


def test_it_runs_after_so_many_seconds() -> None:
    async def play() -> None:
        world = World()
        journal = await world.journal(Mirroring(world.mirror(), world.alarms.append, every_records=100, every_s=0.02))
        await fill(journal, 1)
        await until(lambda: world.has(1), "a mirrored record")
        await journal.close()

    run(play())


def test_a_journal_that_only_reads_mirrors_nothing() -> None:
    async def play() -> None:
        world = World()
        await fill(await world.journal(), 3)
        reader = await world.journal(Mirroring(world.mirror(), world.alarms.append, every_records=1, every_s=0))
        await reader.fresh()
        await reader.close()
        assert await world.files() == []

    run(play())


def test_a_failed_mirror_is_an_alarm_and_never_a_failed_request() -> None:
    async def play() -> None:
        bucket = Refusing()
        world = World(bucket=bucket)  # type: ignore[arg-type]
        bucket.error = Transient("the bucket does not answer")
        journal = await world.journal(Mirroring(world.mirror(), world.alarms.append, every_records=2, every_s=0.01))
        await fill(journal, 6)
        await until(lambda: bool(world.alarms), "an alarm")
        assert all("the bucket does not answer" in alarm for alarm in world.alarms)
        bucket.error = NotFound("there is no bucket")
        await journal.close()
        assert "there is no bucket" in world.alarms[-1]
        bucket.error = None
        await journal.close()
        assert len(await world.read()) == 6, "made up for"
        await journal.submit(create("after-all"))
        assert "after-all" in names(await journal.fresh())

    run(play())


def _short(name: str) -> str:
    """seg/00000000000000000001 is seg/1."""
    folder, _, numbers = name.partition("/")
    return f"{folder}/{'-'.join(str(int(number)) for number in numbers.split('-'))}"
