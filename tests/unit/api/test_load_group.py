"""Small loads that share commits: each has its own rows, its own key, its own error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.api.lake import Lake
from lochan.api.load import LoadOptions
from lochan.api.options import CommitOptions
from lochan.api.pool import Pool
from lochan.api.results import LoadResult
from lochan.api.session import server_session
from lochan.errors import Invalid, KeyReused, NotFound, NothingToDo
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore

pytestmark = pytest.mark.thorough

Story = Callable[[Lake, Pool], Awaitable[None]]


def played(folder: Path, story: Story) -> None:
    async def work() -> None:
        lake = Lake(server_session(await OpenLake.create(LocalStore(str(folder / "lake"), create=True))))
        try:
            await story(lake, await lake.create_pool("logs", key="k"))
        finally:
            await lake.close()

    asyncio.run(work())


def post(pool: Pool, data: bytes, key: str = "", **options: Any) -> Awaitable[LoadResult]:
    return pool.load(data, options=CommitOptions(key=key, **options), shared=True)


async def rows(lake: Lake) -> list[Any]:
    with await lake.query("from logs | sort k") as result:
        return [row["k"] for row in result.rows()]


async def commits(pool: Pool) -> list[str]:
    return [each.message async for each in pool.branch("main").log()]


def test_loads_of_one_moment_share_commits(tmp_path: Path) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        done = await asyncio.gather(*(post(pool, b'{"k":%d}\n{"k":%d}' % (n, n + 100), f"key-{n}") for n in range(50)))
        assert {each.rows for each in done} == {2}
        assert len(await commits(pool)) - 1 == len({each.commit for each in done}) <= 25
        again = await asyncio.gather(*(post(pool, b'{"k":%d}\n{"k":%d}' % (n, n + 100), f"key-{n}") for n in range(50)))
        assert again == done
        assert await rows(lake) == [*range(50), *range(100, 150)]

    played(tmp_path, story)


def test_a_bad_load_does_not_spoil_the_others(tmp_path: Path) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        bodies = [b'{"k":0}', b'{"k"', b"  \n", b'[{"k":1},\n{"k":2}]', b"\x00nothing", b'{"k":3}']
        done = await asyncio.gather(*(post(pool, body) for body in bodies), return_exceptions=True)
        kinds = [LoadResult, Invalid, NothingToDo, LoadResult, Invalid, LoadResult]
        assert [type(each) for each in done] == kinds
        assert str(done[1]).startswith("the body:1:"), "and its error names its own line"
        assert await rows(lake) == [0, 1, 2, 3]

    played(tmp_path, story)


def test_what_differs_has_a_commit_of_its_own(tmp_path: Path) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        await pool.create_branch("dev")
        done = await asyncio.gather(
            post(pool, b'{"k":1}'),
            post(pool, b'{"k":2}', message="two"),
            pool.load(b'{"k":3}', branch="dev", shared=True),
            pool.load(b"k\n4\n", load_options=LoadOptions(format="csv"), shared=True),
            pool.load(b'{"k":5}\n' * 10_000, shared=True),
            pool.load(b'{"k":6}\nbad\n', load_options=LoadOptions(on_error="skip"), shared=True),
        )
        assert len({each.commit for each in done}) == 6
        assert [each.rows for each in done] == [1, 1, 1, 1, 10_000, 1]
        assert sorted(await commits(pool))[-1] == "two"

    played(tmp_path, story)


def test_keys_of_loads_that_share_a_commit(tmp_path: Path) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        one, two = b'{"k":1}', b'{"k":2}'
        given = (one, "a"), (one, "a"), (two, "a"), (two, "b"), (two, "b" * 300)
        done = await asyncio.gather(*(post(pool, *each) for each in given), return_exceptions=True)
        assert done[0] == done[1], "the same request twice at once"
        assert [type(each) for each in done[2:]] == [KeyReused, LoadResult, Invalid]
        assert await rows(lake) == [1, 2]
        assert (await post(pool, two, "b")).rows == 1
        with pytest.raises(KeyReused):
            await post(pool, one, "b")

    played(tmp_path, story)


def test_keys_are_known_to_whoever_folds_the_journal(tmp_path: Path) -> None:
    """Another process, or this one after a crash, does not load a second time what one of several loads did."""

    async def story(lake: Lake, pool: Pool) -> None:
        first = await asyncio.gather(*(post(pool, b'{"k":%d}' % n, f"key-{n}") for n in range(3)))
        other = Lake(server_session(await OpenLake.open(LocalStore(str(tmp_path / "lake")))))
        again = [await post(other.pool("logs"), b'{"k":%d}' % n, f"key-{n}") for n in range(3)]
        assert again == first
        journal = await other._session.lake.journal((await other.pool("logs").show()).id)
        await journal.checkpoint()
        await other.close()
        third = Lake(server_session(await OpenLake.open(LocalStore(str(tmp_path / "lake")))))
        assert await post(third.pool("logs"), b'{"k":2}', "key-2") == first[2]
        await third.close()

    played(tmp_path, story)


def test_two_processes_with_the_same_loads_load_each_once(tmp_path: Path) -> None:
    async def story(lake: Lake, pool: Pool) -> None:
        other = Lake(server_session(await OpenLake.open(LocalStore(str(tmp_path / "lake")))))
        twin = other.pool("logs")
        done = await asyncio.gather(
            *(post(pool, b'{"k":%d}' % n, f"key-{n}") for n in range(20)),
            *(post(twin, b'{"k":%d}' % n, f"key-{n}") for n in range(10, 30)),
        )
        assert await rows(lake) == list(range(30))
        assert [done[n].commit for n in range(10, 20)] == [done[n].commit for n in range(20, 30)]
        await other.close()

    played(tmp_path, story)


def test_bytes_that_break_off_load_nothing(tmp_path: Path) -> None:
    async def breaking(pieces: int) -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield b'{"k":1}\n' * 1_000
        raise ConnectionResetError("gone")

    async def story(lake: Lake, pool: Pool) -> None:
        for pieces in (1, 100):
            for shared in (False, True):
                with pytest.raises(ConnectionResetError):
                    await pool.load(breaking(pieces), shared=shared)
        with pytest.raises(NotFound):
            await pool.load(b'{"k":1}', branch="never", shared=True)
        assert await commits(pool) == ["Repository created"]

    played(tmp_path, story)
