"""Conditional writes: of many at once, exactly one finds its condition true."""

import asyncio

import pytest

from lochan.errors import PreconditionFailed
from lochan.formats.entry import Entry
from lochan.formats.repository_events import Staged
from lochan.versioning import objects
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.objects import submit_if
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.versioning.folded_events import entry
from tests.unit.versioning.test_at_once import ANN, once, two_servers


def absent(there: Entry | None) -> None:
    if there is not None:
        raise PreconditionFailed("there is one")


def has(etag: str) -> "object":
    def check(there: Entry | None) -> None:
        if there is None or there.etag != etag:
            raise PreconditionFailed("it is another")

    return check


async def put_if(repository: OpenRepository, path: str, check: object, data: bytes = b"x") -> None:
    _, mint = await repository.refs()
    made = await repository.bodies.write(path, once(data), mint=mint)
    await submit_if(repository, "main", path, check, (Staged("main", (made,)),), actor=ANN)  # type: ignore[arg-type]


def test_of_many_at_once_one_wins() -> None:
    async def play() -> None:
        servers = await two_servers()
        tries = (put_if(servers[n % 2], "key", absent, str(n).encode()) for n in range(16))
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert done.count(None) == 1
        assert sum(isinstance(each, PreconditionFailed) for each in done) == 15

    run(play())


@pytest.mark.parametrize("where", ["staged", "committed", "in a run"])
def test_what_is_there_is_seen_wherever_it_lies(where: str) -> None:
    async def play() -> None:
        one, other = await two_servers()
        there = await objects.put(one, "main", "key", once(b"first"), actor=ANN)
        if where == "committed":
            await commit(one, "main", CommitRequest("c"), actor=ANN)
        if where == "in a run":
            from lochan.staging.compaction import LIMITS
            from lochan.versioning.upkeep import compact

            assert await compact(one, "main", LIMITS._replace(inline_count=1))
        with pytest.raises(PreconditionFailed):
            await put_if(other, "key", absent)
        with pytest.raises(PreconditionFailed):
            await put_if(other, "key", has("0" * 32))
        await put_if(other, "key", has(there.etag), b"second")
        await objects.delete(one, "main", ["key"], actor=ANN)
        await put_if(other, "key", absent)

    run(play())


def test_the_branch_may_change_between_the_look_and_the_append() -> None:
    """A commit takes the inline changes away; the object stays the same, and so does the answer."""

    async def play() -> None:
        one, other = await two_servers()
        await objects.put(one, "main", "key", once(b"x"), actor=ANN)
        looks = 0

        def check(there: Entry | None) -> None:
            nonlocal looks
            looks += 1
            assert there is not None

        view_of = one.view_of

        async def slow(*given: object) -> object:
            view = await view_of(*given)  # type: ignore[arg-type]
            if not looks:
                await commit(other, "main", CommitRequest("meanwhile"), actor=ANN)
                await one.refs()
            return view

        one.view_of = slow  # type: ignore[method-assign,assignment]
        await submit_if(one, "main", "key", check, (Staged("main", (entry("key"),)),), actor=ANN)
        assert looks >= 3, "once before, once in vain, and again"

    run(play())
