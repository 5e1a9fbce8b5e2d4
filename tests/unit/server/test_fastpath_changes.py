"""Reads on the fast path between changes of every kind: each answer is what the general path says at that moment."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lochan.access.policies import attach, detach
from lochan.errors import LochanError
from lochan.formats.collection_events import Expired
from lochan.formats.entry import Entry
from lochan.lake import Lake
from lochan.server.gateway.fastpath import engine
from lochan.server.gateway.fastpath.engine import ObjectCache
from lochan.staging.compaction import CompactionLimits
from lochan.store.local import LocalStore
from lochan.versioning import objects, stash
from lochan.versioning.branches import (
    create_branch,
    delete_branch,
    hard_reset,
    rename_branch,
    reset_staged,
    restore_branch,
)
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.moves import merge
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.upkeep import compact, cover
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, signed
from tests.unit.server.two_paths import World, chunks, opened

PATHS = tuple(f"{folder}{number}" for folder in ("", "d/", "secret/") for number in range(6))
BRANCHES = ("main", "other", "third")
SOON = CompactionLimits(inline_count=1, inline_bytes=1, runs=1, tombstones=1)


class Changes:
    """What somebody does to the repository between two reads, by this process or by another."""

    def __init__(self, world: World, ours: OpenRepository, theirs: OpenRepository, chance: random.Random) -> None:
        self._world = world
        self._repositories = ours, theirs
        self._chance = chance
        self._count = 0

    async def one(self) -> str:
        """Its name. One that is refused has changed nothing, which is as good."""
        change = self._chance.choice(self._all())
        with suppress(LochanError):
            await change()
        return change.__name__

    def _all(self) -> tuple[Callable[[], Awaitable[object]], ...]:
        often = (self.put, self.delete, self.put_by_request, self.delete_by_request)
        return (
            *(4 * often),
            *(self.commit, self.compact, self.cover, self.merge, self.reset, self.hard_reset, self.stash, self.unstash),
            *(self.create_branch, self.delete_branch, self.restore_branch, self.rename_branch),
            *(self.expire, self.take_rights, self.give_rights),
        )

    @property
    def _branch(self) -> str:
        return self._chance.choice(BRANCHES)

    @property
    def _path(self) -> str:
        return self._chance.choice(PATHS)

    @property
    def _repository(self) -> OpenRepository:
        return self._chance.choice(self._repositories)

    def _body(self) -> bytes:
        self._count += 1
        return f"body {self._count}".encode()

    async def put(self) -> None:
        more = self._chance.choice(({}, {"metadata": {"colour": "blau"}}, {"content_type": "text/x"}))
        await objects.put(self._repository, self._branch, self._path, chunks(self._body()), actor=ACTOR, **more)

    async def delete(self) -> None:
        await objects.delete(self._repository, self._branch, [self._path], actor=ACTOR)

    async def put_by_request(self) -> None:
        asked = signed(self._world.people.admin, "PUT", f"/bucket/{self._branch}/{self._path}", body=self._body())
        await self._chance.choice((self._world.short, self._world.general)).ask(asked)

    async def delete_by_request(self) -> None:
        await self._world.short.ask(signed(self._world.people.admin, "DELETE", f"/bucket/{self._branch}/{self._path}"))

    async def commit(self) -> None:
        await commit(self._repository, self._branch, CommitRequest("some"), actor=ACTOR)

    async def compact(self) -> None:
        await compact(self._repository, self._branch, SOON)

    async def cover(self) -> None:
        await cover(self._repository, self._branch, SOON)

    async def merge(self) -> None:
        await merge(self._repository, self._branch, self._branch, actor=ACTOR, commit_first=CommitRequest("first"))

    async def reset(self) -> None:
        await reset_staged(self._repository, self._branch, actor=ACTOR)

    async def hard_reset(self) -> None:
        branch = self._branch
        await hard_reset(self._repository, branch, self._chance.choice((f"{branch}~1", "main", "v1")), actor=ACTOR)

    async def stash(self) -> None:
        await stash.push(self._repository, self._branch, actor=ACTOR)

    async def unstash(self) -> None:
        await stash.pop(self._repository, self._branch, actor=ACTOR)

    async def create_branch(self) -> None:
        await create_branch(self._repository, self._branch, self._branch, actor=ACTOR)

    async def delete_branch(self) -> None:
        await delete_branch(self._repository, self._branch, "main", actor=ACTOR)

    async def restore_branch(self) -> None:
        await restore_branch(self._repository, self._branch, actor=ACTOR)

    async def rename_branch(self) -> None:
        await rename_branch(self._repository, self._branch, self._branch, "main", actor=ACTOR)

    async def expire(self) -> None:
        """A commit, even one that a branch stands on."""
        repository = self._repository
        found = await repository.resolve(f"{self._branch}{self._chance.choice(('', '~1'))}")
        if self._chance.random() < 0.1:
            await repository.submit(ACTOR, Expired((found.commit_id,)))

    async def take_rights(self) -> None:
        await detach(self._world.lake.open_access(), "readers", "user/reader", actor=ACTOR)

    async def give_rights(self) -> None:
        await attach(self._world.lake.open_access(), "readers", "user/reader", actor=ACTOR)


async def _play(folder: Path, seed: int, steps: int, bytes_max: int) -> set[tuple[str, int]]:
    world, chance = await opened(folder), random.Random(seed)
    another = await Lake.open(LocalStore(str(folder / "lake")))
    ours, theirs = await world.lake.open_repository("bucket"), await another.open_repository("bucket")
    changes = Changes(world, ours, theirs, chance)
    for who in world.people:
        await world.both(signed(who, "GET", "/bucket/main/small"))
    assert world.short.app._reads is not None
    cache = world.short.app._reads._objects = ObjectCache(bytes_max)
    seen = set[tuple[str, int]]()
    for _ in range(steps):
        name = await changes.one()
        for _ in range(6):
            who, method = chance.choice(world.people), chance.choice(("HEAD", "GET"))
            path = f"/bucket/{chance.choice(BRANCHES)}/{chance.choice((*PATHS, 'small', 'sum', 'told'))}"
            before = world.short.short
            status = (await world.both(signed(who, method, path))).status
            assert world.short.short - before == (status == 200), "what is there is answered by the fast path"
            assert cache.bytes <= bytes_max
            seen.add((name, status))
    await another.close()
    return seen


@pytest.mark.parametrize("bytes_max", [1 << 20, 5_000], ids=["all of them are kept", "three or four are kept"])
def test_every_answer_is_that_of_the_general_path(tmp_path: Path, bytes_max: int) -> None:
    assert {status for _, status in run(_play(tmp_path, 7, 60, bytes_max))} >= {200, 403, 404}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_through_long_histories(tmp_path: Path, seed: int) -> None:
    seen = run(_play(tmp_path, seed, 200, chance_bytes(seed)))
    names = {name for name, status in seen if status == 200}
    assert {"put", "delete", "put_by_request", "commit", "compact", "merge", "reset", "hard_reset"} <= names


def chance_bytes(seed: int) -> int:
    return (2_000, 5_000, 20_000, 1 << 20)[seed % 4]


def test_a_write_makes_the_answer_of_one_path_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(_one_path(tmp_path, monkeypatch))


async def _one_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await opened(folder)
    repository = await world.lake.open_repository("bucket")
    await world.both(signed(world.people.admin, "GET", "/bucket/main/small"))  # its signature is known from here on
    made, make = list[str](), engine._cached_object

    def counted(*given):  # type: ignore[no-untyped-def]
        found = given[2]
        made.append(found.path if isinstance(found, Entry) else found[0].path(found[1]).decode())
        return make(*given)

    monkeypatch.setattr(engine, "_cached_object", counted)

    async def asked() -> list[str]:
        made.clear()
        for method in ("HEAD", "GET"):
            for path in ("small", "d/small", "staged"):
                assert (await world.short.ask(signed(world.people.admin, method, f"/bucket/main/{path}"))).status == 200
        return sorted(made)

    await asked()
    assert await asked() == []
    await objects.put(repository, "main", "another", chunks(b"x"), actor=ACTOR)
    assert await asked() == [], "a write elsewhere on the branch"
    await objects.put(repository, "main", "small", chunks(b"x"), actor=ACTOR)
    assert await asked() == ["small"], "the change itself is at hand, with its block"
    await create_branch(repository, "more", "main", actor=ACTOR)
    assert await asked() == []
    await compact(repository, "main", SOON)
    assert set(await asked()) == {"d/small", "small", "staged"}, "other layers are below"


def test_a_full_cache_keeps_what_is_asked_for_again(tmp_path: Path) -> None:
    run(_full(tmp_path))


async def _full(folder: Path) -> None:
    world = await opened(folder)
    await world.both(signed(world.people.admin, "GET", "/bucket/main/small"))  # its signature is known from here on
    world.short.app._reads._objects = cache = engine.ObjectCache(2_000)  # type: ignore[union-attr]

    async def ask(path: str) -> list[str]:
        answer = await world.both(signed(world.people.admin, "GET", f"/bucket/main/{path}"))
        assert answer.body == f"body of {path}".encode()
        return cache._objects.keys()

    assert await ask("small") == ["/bucket/main/small"]
    assert await ask("d/small") == ["/bucket/main/small"], "it would drop another"
    assert await ask("d/small") == ["/bucket/main/d/small"]
    assert await ask("d/small") == ["/bucket/main/d/small"]


def test_reads_beside_writes_of_many(tmp_path: Path) -> None:
    run(_beside(tmp_path))


async def _beside(folder: Path) -> None:
    """Whoever reads after a write was answered gets it, or a later one."""
    world = await opened(folder)
    admin, latest = world.people.admin, 0
    await world.both(signed(admin, "GET", "/bucket/main/small"))

    async def write() -> None:
        nonlocal latest
        for number in range(1, 60):
            asked = signed(admin, "PUT", "/bucket/main/small", body=f"{number}".encode())
            assert (await world.short.ask(asked)).status == 200
            latest = number

    async def read() -> None:
        while latest < 59:
            before = latest
            answer = await world.short.ask(signed(admin, "GET", "/bucket/main/small"))
            assert int(answer.body.decode().replace("body of small", "0")) >= before

    await asyncio.gather(write(), *(read() for _ in range(4)))
