"""Unfinished uploads are aborted when they are old, and only those."""

from collections.abc import AsyncIterator

from lochan.api.session import Session
from lochan.api.upkeep_tasks import DAY_US, TASKS, UpkeepOptions
from lochan.clock import SystemClock
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.uploads import PartRequest, complete, open_upload, put_part, uploads
from tests.run import run

ANN = Actor("ann", "test", "here")


class Wall(SystemClock):
    """A wall clock that a test moves."""

    days = 0

    def wall(self) -> int:
        return super().wall() + self.days * DAY_US


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def expire(lake: Lake) -> list[str]:
    options = UpkeepOptions(upload_days=7)
    return [f"{did.where}: {did.outcome}" async for did in TASKS["uploads"].act(Session(lake, ANN), options)]


def test_old_uploads_are_aborted_in_every_repository() -> None:
    async def play() -> None:
        clock = Wall()
        lake = await Lake.create(MemoryStore(), clock=clock)
        ids: dict[str, list[str]] = {}
        for name in ("one", "two"):
            await lake.create_repository(name, actor=ANN)
        for day in (0, 5):
            clock.days = day
            for name in ("one", "two"):
                repository = await lake.open_repository(name)
                ids.setdefault(name, []).append(await open_upload(repository, "main", f"day {day}", actor=ANN))
                await repository.close()
        clock.days = 8
        assert await expire(lake) == ["one: aborted 1 uploads", "two: aborted 1 uploads"]
        assert await expire(lake) == []
        for name in ("one", "two"):
            repository = await lake.open_repository(name)
            [left] = await uploads(repository)
            assert left.id == ids[name][1]
            part = await put_part(repository, left.id, 1, once(b"x"), actor=ANN)
            assert (await complete(repository, left.id, [PartRequest(1, part.etag)], actor=ANN)).size == 1
            await repository.close()
        await lake.close()

    run(play())


def test_several_servers_at_once_abort_each_upload_once() -> None:
    async def play() -> None:
        import asyncio

        clock, store = Wall(), MemoryStore()
        lake = await Lake.create(store, clock=clock)
        await lake.create_repository("one", actor=ANN)
        repository = await lake.open_repository("one")
        for number in range(5):
            await open_upload(repository, "main", f"{number}", actor=ANN)
        others = [await Lake.open(store, clock=clock) for _ in range(3)]
        clock.days = 8
        said = await asyncio.gather(*map(expire, others))
        assert sum(int(line.split()[2]) for lines in said for line in lines) == 5
        assert await uploads(repository) == []
        for each in (*others, lake):
            await each.close()

    run(play())
