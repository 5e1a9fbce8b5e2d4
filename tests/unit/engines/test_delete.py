"""Deletes rows by a condition: exactly these, and the others stay unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lochan.engines.duckdb.data_objects import store_objects
from lochan.engines.duckdb.delete import DeleteCommit, delete_where
from lochan.errors import NothingToDo
from lochan.query.errors import QueryError
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

ROWS: list[list[Any]] = [
    [{"k": 1, "x": 1}, {"k": 2, "x": 2}, {"k": 3, "x": None}],
    [{"k": 4, "x": "a"}, {"k": 5, "x": {"y": 1}}, {"k": 6, "l": [1, "b"]}],
    [{"k": 7, "a": 1, "A": 2}, {"k": 8, "x": 2.0}],  # the first is kept as text
    [{"x": 2}],
]


async def delete(lake: QueryLake, where: str) -> DeleteCommit:
    repository = await lake.lake.open_repository("logs")
    try:
        return await delete_where(repository, "main", where, lake.lake.queries().files, actor=ANN)
    finally:
        await repository.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "where, gone, rewritten",
    [
        ("x == 2", [2, 8, None], 3),
        ("k == 4", [4], 1),
        ("k <= 3", [1, 2, 3], 1),
        ("x == null", [3], 1),
        ("x.y == 1 or A == 2", [5, 7], 2),
        ("missing(x)", [6, 7], 2),
        ("has(l)", [6], 1),
        ("missing(k)", [None], 1),
        ("k >= 1 or missing(k)", [1, 2, 3, 4, 5, 6, 7, 8, None], 5),
    ],
)
def test_rows_go(tmp_path: Path, where: str, gone: list[int | None], rewritten: int) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *ROWS)
            before = await lake.rows("from logs:objects | cut id")
            deleted = await delete(lake, where)
            assert deleted.rows == len(gone)
            assert deleted.objects == rewritten
            left = [row for rows in ROWS for row in rows if row.get("k") not in gone]
            assert sorted(map(str, await lake.rows("from logs"))) == sorted(map(str, left))
            after = await lake.rows("from logs:objects | cut id")
            assert len([row for row in before if row in after]) == len(before) - rewritten  # the others are untouched
            assert len(await lake.rows("from logs@main~1")) == 9
            [commit, *_] = await lake.rows("from logs:log")
            assert where in commit["message"]

    run(play())


def test_nothing_to_delete_and_mistakes(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *ROWS[:2])
            with pytest.raises(NothingToDo):
                await delete(lake, "k == 1000")
            with pytest.raises(QueryError, match="unknown field"):
                await delete(lake, "kk == 1")
            with pytest.raises(QueryError):
                await delete(lake, "k == ")
            assert len(await lake.rows("from logs:log")) == 3

    run(play())


def test_rows_that_come_meanwhile_are_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a lost race, the delete starts over on the new head."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", ROWS[0])
            tries = 0

            async def slowly(*arguments: Any) -> Any:
                nonlocal tries
                tries += 1
                made = await store_objects(*arguments)
                if tries == 1:
                    await lake.load("logs", [{"k": 10, "x": 2}, {"k": 11, "x": 3}])
                return made

            monkeypatch.setattr("lochan.engines.duckdb.delete.store_objects", slowly)
            deleted = await delete(lake, "x == 2")
            assert (tries, deleted.rows) == (2, 2)
            assert [row["k"] for row in await lake.rows("from logs")] == [1, 3, 11]

    run(play())
