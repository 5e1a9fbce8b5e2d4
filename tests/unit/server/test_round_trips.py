"""The number of requests to the store: a PUT is its data and one append."""

import asyncio

from lochan.access.users import NewAccessKey, ensure_admin
from lochan.lake import Lake
from lochan.server.settings import S3Settings
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.versioning.branches import create_branch, delete_branch
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Place, signed


class Far:
    """A served lake on a store whose requests are counted, and another process on it."""

    async def begin(self) -> "Far":
        store, self.counts = MemoryStore(), RequestCounts()
        self.other = await Lake.create(store)
        made = await ensure_admin(self.other.open_access(), actor=ACTOR)
        assert made is not None
        self.admin: NewAccessKey = made
        await self.other.create_repository("demo", actor=ACTOR)
        lake = await Lake.open(CountingStore(store, self.counts))
        self.place = Place(lake, fastpath=False, settings=S3Settings())
        self.place.app.__rsgi_init__(asyncio.get_running_loop())
        assert (await self.put("main/warm"))[0] == 200
        return self

    async def put(self, key: str, body: bytes = b"x", **headers: str) -> tuple[int, int]:
        """The status, and how many requests it took of the store."""
        before = self.counts.total.requests
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.place.ask(signed(self.admin, "PUT", f"/demo/{key}", headers=given, body=body))
        return answer.status, self.counts.total.requests - before


def test_a_put_is_its_data_and_one_append() -> None:
    async def work() -> None:
        far = await Far().begin()
        for size in (1, 1_000, 100_000, 3 << 20):
            assert await far.put(f"main/{size}", b"x" * size) == (200, 2), size

    run(work())


def test_a_branch_that_another_process_made_is_found_and_one_that_it_deleted_is_not_written_to() -> None:
    async def work() -> None:
        far = await Far().begin()
        repository = await far.other.open_repository("demo")
        await create_branch(repository, "dev", "main", actor=ACTOR)
        assert (await far.put("dev/a"))[0] == 200
        await delete_branch(repository, "dev", "main", actor=ACTOR)
        assert (await far.put("dev/b"))[0] == 404
        assert (await far.put("nowhere/b"))[0] == 404

    run(work())


def test_a_condition_is_still_judged_by_what_is_there() -> None:
    async def work() -> None:
        far = await Far().begin()
        assert (await far.put("main/warm", if_none_match="*"))[0] == 412
        assert (await far.put("main/cold", if_none_match="*"))[0] == 200

    run(work())
