"""A pool gets its name only when its rows have landed."""

from pathlib import Path

import pytest

from lochan.errors import AlreadyExists, Invalid, NotFound
from tests.run import run
from tests.unit.engines.lake import ANN, BY_K, QueryLake, query_lake
from tests.unit.jobs.place import JobPool


async def filled(lake: QueryLake, name: str = "logs") -> JobPool:
    """A pool that cannot be found yet, with a commit."""
    pool = JobPool(lake, await lake.lake.prepare_pool(name, BY_K, actor=ANN))
    await pool.land(await pool.write([{"k": 2}, {"k": 1}]))
    return pool


def test_it_is_there_at_once_with_all_its_rows(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            pool = await filled(lake)
            assert await lake.lake.repositories() == []
            with pytest.raises(NotFound):
                await lake.lake.open_repository("logs")
            await lake.lake.name_pool(pool.repository, actor=ANN)
            await pool.repository.close()
            assert await lake.rows("from logs") == [{"k": 1}, {"k": 2}]
            (there,) = await lake.lake.repositories()
            assert (there.name, there.kind, there.default_branch, there.created_by) == ("logs", "pool", "main", "ann")
            assert there.pool == BY_K
            await lake.load("logs", [{"k": 0}])
            assert await lake.rows("from logs:log | cut message") == [
                {"message": "Load 1 row"},
                {"message": "Load 2 rows"},
                {"message": "Repository created"},
            ]

    run(play())


def test_given_up_it_leaves_the_name_free(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            pool = await filled(lake)
            await pool.repository.close()
            await lake.pool("logs", [{"k": 7}])
            assert await lake.rows("from logs") == [{"k": 7}]

    run(play())


def test_who_has_taken_the_name_meanwhile_keeps_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            pool = await filled(lake)
            await lake.pool("logs", [{"k": 7}])
            with pytest.raises(AlreadyExists, match="'logs' already"):
                await lake.lake.name_pool(pool.repository, actor=ANN)
            await pool.repository.close()
            assert await lake.rows("from logs") == [{"k": 7}]
            with pytest.raises(AlreadyExists):
                await lake.lake.prepare_pool("logs", BY_K, actor=ANN)
            with pytest.raises(Invalid):
                await lake.lake.prepare_pool("no name", BY_K, actor=ANN)

    run(play())
