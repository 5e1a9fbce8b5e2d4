"""Plans list exactly what nothing names, and sweeps delete exactly what plans list."""

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from lochan.clock import SystemClock
from lochan.errors import Corrupt, Gone, NotFound, Refused
from lochan.formats.collection_events import Expired
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.staging.compaction import CompactionLimits
from lochan.store.memory import MemoryStore
from lochan.versioning import branches, copy, links, objects, stash, upkeep, uploads
from lochan.versioning.collection.engine import read_part
from lochan.versioning.collection.plan import CollectionLimits, CollectionPlan, abandon, plan, preview
from lochan.versioning.collection.sweep import SweepReport, report_of, sweep
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write as workspace_write
from tests.run import run
from tests.unit.versioning.history import History

pytestmark = pytest.mark.thorough

ANN = Actor("ann", "test", "here")
ALL = CollectionLimits(share_max=1)  # tests delete most of what there is


class DaysClock(SystemClock):
    def __init__(self) -> None:
        self._days = 0

    def skip_day(self) -> None:
        self._days += 1

    def wall(self) -> int:
        return super().wall() + self._days * 86_400_000_000

    def boot(self) -> float:
        return super().boot() + self._days * 86_400


class Lakeside(NamedTuple):
    lake: Lake
    history: History
    clock: DaysClock

    @property
    def repository(self) -> OpenRepository:
        return self.history.repository

    async def round(self) -> int:
        """A plan and its sweep; the number of files that went."""
        await self.plan()
        return (await self.sweep()).files

    async def plan(self) -> CollectionPlan:
        self.clock.skip_day()
        return await plan(self.repository, self.lake.id, ALL, actor=ANN)

    async def sweep(self, limits: CollectionLimits = ALL) -> SweepReport:
        self.clock.skip_day()
        return await sweep(self.repository, self.lake.id, limits, actor=ANN)

    async def listed(self, made: CollectionPlan) -> list[str]:
        """The files of its list."""
        parts = [
            await read_part(self.repository.store, self.repository.repository.id, each) for each in made.head.parts
        ]
        return [path for part in parts for path in part["path"].to_pylist()]

    async def rounds(self) -> int:
        """The first plan draws the line, the second lists what was written before."""
        return await self.round() + await self.round()

    async def files(self) -> set[str]:
        prefix = f"{self.repository.repository.id}/"
        found = {stat.path.removeprefix(prefix) async for stat in self.repository.store.list(prefix)}
        return {path for path in found if path.split("/")[0] not in ("journal", "plans", "checkpoints")}


async def lakeside() -> Lakeside:
    clock = DaysClock()
    lake = await Lake.create(MemoryStore(clock=clock), clock=clock)
    await lake.create_repository("demo-repo", actor=ANN)
    return Lakeside(lake, History(await lake.open_repository("demo-repo")), clock)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def test_what_was_overwritten_and_never_committed_goes() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2 b=3")
        before = await there.files()
        assert await there.round() == 0, "the first plan only draws the line"
        assert await there.round() == 1
        assert len(before - await there.files()) == 1
        assert await there.history.read("main") == "a=2 b=3"
        await there.history.write("main", "c=4")
        assert await there.history.read("main") == "a=2 b=3 c=4"

    run(play())


def test_everything_that_a_state_can_name_stays() -> None:
    async def play() -> None:
        there = await lakeside()
        history, repository = there.history, there.repository
        first = await history.write("main", "a=1 b=2")
        await branches.create_tag(repository, "v1", first, actor=ANN)
        await history.write("main", "a=3 -b")
        await history.branch("dev")
        await history.stage("dev", "x=stashed")
        pushed = await stash.push(repository, "dev", actor=ANN)
        await history.branch("gone")
        await history.stage("gone", "y=staged")
        await branches.delete_branch(repository, "gone", "main", actor=ANN)
        upload = await uploads.open_upload(repository, "main", "big", actor=ANN)
        await uploads.put_part(repository, upload, 1, once(b"part"), actor=ANN)
        token = await links.physical_address(repository, "main", "linked", actor=ANN)
        await repository.store.put(token.address, b"by a client")
        opened = await workspace_open(repository)
        await workspace_write.put(repository, opened, "w", once(b"of a workspace"), actor=ANN)
        before = await there.files()
        assert await there.rounds() == 0
        assert await there.files() == before
        assert await history.read("v1") == "a=1 b=2"
        await stash.pop(repository, "dev", pushed, actor=ANN)
        await branches.restore_branch(repository, "gone", actor=ANN)
        assert (await history.read("dev"), await history.read("gone")) == ("a=3 x=stashed", "a=3 y=staged")
        assert await repository.store.get(token.address) == b"by a client"

    run(play())


async def workspace_open(repository: OpenRepository) -> str:
    return (await workspace_write.open_workspace(repository, "main", actor=ANN)).id


def test_an_expired_commit_goes_with_what_only_it_had() -> None:
    async def play() -> None:
        there = await lakeside()
        first = await there.history.write("main", "a=1 b=2")
        await there.history.write("main", "a=3")
        await there.repository.submit(ANN, Expired((first,)))
        assert await there.rounds() == 3, "one body, one range and one metarange"
        assert await there.history.read("main") == "a=3 b=2"
        with pytest.raises(Gone, match="has expired"):
            await there.history.read(first)

    run(play())


def test_a_copy_keeps_the_bytes() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await copy.copy(there.repository, "main", "a", "main", "b", actor=ANN)
        await objects.delete(there.repository, "main", ["a"], actor=ANN)
        assert await there.rounds() == 0
        assert await there.history.read("main") == "b=1"

    run(play())


def test_a_dropped_workspace_goes_and_a_committed_one_stays() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1")
        repository = there.repository
        kept, dropped = await workspace_open(repository), await workspace_open(repository)
        for each in (kept, dropped):
            await workspace_write.put(repository, each, "w", once(each.encode()), actor=ANN)
        await workspace_commit.commit(repository, kept, CommitRequest("w"), actor=ANN, everything=True)
        await workspace_write.drop(repository, dropped, actor=ANN)
        assert await there.rounds() == 1
        assert await there.history.read("main") == f"a=1 w={kept}"
        lock = repository.folder(kept).lock
        assert await repository.store.get(lock), "a program that writes to the folder looks for it"
        head = (await repository.resolve("main")).commit_id
        await there.history.write("main", "a=2")
        await repository.submit(ANN, Expired((head,)))
        assert await there.rounds() > 0
        with pytest.raises(NotFound):
            await repository.store.get(lock)

    run(play())


def test_a_plan_waits_for_the_grace_of_the_one_before() -> None:
    async def play() -> None:
        there = await lakeside()
        given = there.repository, there.lake.id
        await plan(*given, actor=ANN)
        with pytest.raises(Refused, match="neither swept nor abandoned"):
            await plan(*given, actor=ANN)
        with pytest.raises(Refused, match=r"a grace of 24\.0 hours"):
            await sweep(*given, actor=ANN)
        await abandon(there.repository, actor=ANN)
        with pytest.raises(Refused, match=r"the grace between two is 24\.0 hours"):
            await plan(*given, actor=ANN)
        with pytest.raises(Refused, match="no plan is under way"):
            await sweep(*given, actor=ANN)

    run(play())


def test_an_abandoned_plan_is_listed_again() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        await there.round()
        listed = await there.plan()
        await abandon(there.repository, actor=ANN)
        again = await there.plan()
        assert await there.listed(listed) == await there.listed(again)
        assert (await there.sweep()).files == 1
        assert (await report_of(there.repository, again.number)).files == 1
        with pytest.raises(NotFound):
            await report_of(there.repository, listed.number)

    run(play())


def test_too_much_needs_to_be_confirmed() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=" + "1" * 100)
        await there.history.stage("main", "a=2")
        await there.round()
        await there.plan()
        few = CollectionLimits(share_max=0.5)
        with pytest.raises(Refused, match=r"99\.0% of the repository's bytes"):
            await there.sweep(few)
        assert (await there.sweep(few._replace(confirmed=True))).files == 1

    run(play())


def test_a_list_that_is_damaged_or_names_what_is_alive_deletes_nothing() -> None:
    async def play() -> None:
        there = await lakeside()
        repository = there.repository
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        await there.round()
        made = await there.plan()
        before = await there.files()
        path = f"{repository.repository.id}/{made.file}"
        data = await repository.store.get(path)
        await repository.store.put(path, data[:-20] + bytes(20))
        with pytest.raises(Corrupt, match="fails its checksum"):
            await there.sweep()
        await repository.store.put(path, data)
        with pytest.raises(Corrupt, match="of another lake"):
            await sweep(repository, "another", ALL, actor=ANN)
        assert await there.files() == before

    run(play())


def test_a_list_of_one_file_is_swept_as_before() -> None:
    """As older versions wrote it: the head is in the footer."""
    import io
    from hashlib import sha256

    import msgspec
    import pyarrow.parquet as pq

    from lochan.formats.collection_events import PlanBegun, Planned
    from lochan.formats.plan_list import PLAN_SCHEMA

    async def play() -> None:
        there = await lakeside()
        repository, id = there.repository, there.repository.repository.id
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        await there.round()
        made = await there.plan()
        [part] = made.head.parts
        rows = (await read_part(repository.store, id, part)).select(PLAN_SCHEMA.names)
        old = {"format": 1, "lake": there.lake.id, "repository": id, "cut": 1, "marked": 9, "files": 2, "bytes": 2}
        sink = io.BytesIO()
        pq.write_table(rows.replace_schema_metadata({b"lochan.plan": msgspec.json.encode(old)}), sink)
        file = f"plans/{9:020d}-{sha256(sink.getvalue()).hexdigest()}.parquet"
        await repository.store.put(f"{id}/{file}", sink.getvalue())
        await abandon(repository, actor=ANN)
        begun = await repository.submit(ANN, PlanBegun(made.number))
        await repository.submit(ANN, Planned(made.number, begun, file, begun))
        assert (await there.sweep()).files == 1
        assert await there.history.read("main") == "a=2"

    run(play())


def test_a_part_that_is_missing_or_damaged_deletes_nothing() -> None:
    async def play() -> None:
        there = await lakeside()
        repository, id = there.repository, there.repository.repository.id
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        await there.round()
        made = await there.plan()
        before, path = await there.files(), f"{id}/{made.head.parts[0].file}"
        data = await repository.store.get(path)
        await repository.store.put(path, data[:-20] + bytes(20))
        with pytest.raises(Corrupt, match="fails its checksum"):
            await there.sweep()
        await repository.store.delete(path)
        with pytest.raises(Corrupt, match="is gone"):
            await there.sweep()
        assert await there.files() == before
        await repository.store.put(path, data)
        assert (await there.sweep()).files == 1

    run(play())


def test_the_tripwire(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that lists what is alive cannot come about by the rules: here it is made so."""
    from lochan.versioning.collection.marks import LiveMarks

    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await there.round()
        with monkeypatch.context() as patch:
            patch.setattr(LiveMarks, "dead", lambda self, files: files)
            await there.plan()
        with pytest.raises(Corrupt, match="are named again"):
            await there.sweep()
        assert await there.history.read("main") == "a=1"

    run(play())


@pytest.mark.parametrize("how", ["damaged", "gone"])
@pytest.mark.parametrize("kind", ["ranges", "metaranges", "runs"])
def test_what_cannot_be_read_stops_a_plan(kind: str, how: str) -> None:
    """What it names is not known, so nothing may be listed, let alone deleted."""

    async def play() -> None:
        there = await lakeside()
        store, id = there.repository.store, there.repository.repository.id
        await there.history.write("main", "a=1")
        await there.history.stage("main", "a=2 b=3 c=4")
        await upkeep.compact(there.repository, "main", CompactionLimits(inline_count=1))
        await there.round()
        there.clock.skip_day()
        [file] = [path for path in await there.files() if path.startswith(f"{kind}/")]
        data = await store.get(f"{id}/{file}")
        await store.delete(f"{id}/{file}")
        if how == "damaged":
            await store.put(f"{id}/{file}", data[:20] + bytes(4) + data[24:])
        left = await there.files()
        lake = await Lake.open(store, clock=there.clock)
        fresh = await lake.open_repository("demo-repo")
        with pytest.raises(Corrupt if how == "damaged" else Gone):
            await plan(fresh, there.lake.id, actor=ANN)
        refs, _ = await fresh.refs()
        assert not refs.collection.running and await there.files() == left
        await fresh.close()

    run(play())


def test_a_preview_changes_nothing() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        found = await preview(there.repository, there.lake.id, CollectionLimits(grace_s=-1))
        assert (found.head.dead_files, found.head.dead_bytes, found.head.files) == (1, 1, 2)
        none = await preview(there.repository, there.lake.id)
        assert none.head.dead_files == 0, "what was written within the grace may be a write that is under way"
        refs, _ = await there.repository.refs()
        assert refs.collection.plan == 0

    run(play())


def test_a_plan_lands_beside_writers() -> None:
    import asyncio

    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        await there.round()
        stop, begun = False, asyncio.Barrier(65)

        async def write(number: int) -> None:
            await begun.wait()
            while not stop:
                await objects.put(there.repository, "main", f"w/{number}", once(b"x"), actor=ANN)

        writers = [asyncio.create_task(write(number)) for number in range(64)]
        await begun.wait()
        made = await asyncio.wait_for(there.plan(), 20)
        stop = True
        await asyncio.gather(*writers)
        assert made.head.dead_files == 1
        assert (await there.sweep()).files == 1
        assert (await there.history.read("main")).count("w/") == 64

    asyncio.run(play())
