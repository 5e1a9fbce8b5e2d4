"""Compaction behind the writers: nobody sees a difference, and the journal's state stays small."""

import asyncio
from collections.abc import AsyncIterator

from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.staging.compaction import Limits
from lochan.store.memory import MemoryStore
from lochan.versioning import branching, objects
from lochan.versioning.commit import Wish, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.upkeep import Upkeep, compact
from tests.run import run

ANN = Actor("ann", "test", "here")
SMALL = Limits(inline_count=8, inline_bytes=1 << 20, runs=3)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened() -> OpenRepository:
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo")


async def paths(repository: OpenRepository, ref: str = "main") -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, ref)).entries]


def test_what_is_staged_looks_the_same_after_every_step() -> None:
    async def play() -> None:
        repository = await opened()
        for round_ in range(6):
            for number in range(10):
                await objects.put(repository, "main", f"{number}-{round_}", once(b"x"), actor=ANN)
            await objects.delete(repository, "main", [f"{number}-{round_}" for number in range(5)], actor=ANN)
            before = await paths(repository)
            while await compact(repository, "main", SMALL):
                assert await paths(repository) == before
        layers = repository.folded().branch("main").layers
        assert layers.inline_count == 0
        assert len(layers.runs) <= 4
        assert sum(run.tombstones for run in layers.runs) == 0, "nothing lies below them"
        await commit(repository, "main", Wish("c"), actor=ANN)
        assert await paths(repository, "main@") == before
        await repository.close()

    run(play())


def test_a_tombstone_over_a_committed_path_stays() -> None:
    async def play() -> None:
        repository = await opened()
        await objects.put(repository, "main", "kept", once(b"x"), actor=ANN)
        await commit(repository, "main", Wish("c"), actor=ANN)
        await objects.delete(repository, "main", ["kept"], actor=ANN)
        for number in range(8):
            await objects.put(repository, "main", f"more-{number}", once(b"x"), actor=ANN)
        assert await compact(repository, "main", SMALL)
        assert "kept" not in await paths(repository)
        await repository.close()

    run(play())


def test_in_the_background_beside_writers_commits_and_a_reset() -> None:
    async def play() -> None:
        repository = await opened()
        upkeep = Upkeep(repository, SMALL)

        async def write(name: str) -> None:
            for number in range(40):
                await objects.put(repository, "main", f"{name}/{number:02d}", once(b"x"), actor=ANN)
                upkeep.touched("main")

        async def commit_now_and_then() -> None:
            for number in range(4):
                for _ in range(40):
                    await asyncio.sleep(0)
                if not repository.folded().branch("main").layers.empty:
                    await commit(repository, "main", Wish(f"c{number}"), actor=ANN)

        await asyncio.gather(write("a"), write("b"), commit_now_and_then())
        await upkeep.close()
        assert await paths(repository) == [f"{name}/{number:02d}" for name in "ab" for number in range(40)]
        await branching.hard_reset(repository, "main", "main", actor=ANN)
        upkeep.touched("main")
        await upkeep.close()
        assert await paths(repository) == await paths(repository, "main@")
        await repository.close()

    run(play())
