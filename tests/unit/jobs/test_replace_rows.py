"""Rows that pass a test are replaced by a job of tasks in this process, on whatever head it lands."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import AlreadyExists
from lochan.jobs.job_commit import LandResult, ReplaceGuard
from lochan.jobs.messages import TaskFailed
from lochan.jobs.replace_rows import ReplaceTest, replaced_rows
from tests.run import run
from tests.unit.jobs.place import JobPool, job_pool, task

TEST = ReplaceTest("k >= 2 and k < 4", 0)


async def written(pool: JobPool, rows: list[dict[str, Any]]) -> LandResult:
    target = replace(await pool.target(), must=TEST)
    messages = await task(target, [pa.Table.from_pylist(rows)])

    async def removal(on: Any, tree: Any) -> Any:
        return await replaced_rows(pool.repository, on, tree, TEST, pool.lake.lake.queries().files)

    return await pool.land(messages, replace=True, removal=removal)


async def keys(pool: JobPool) -> list[Any]:
    return [(row["k"], row.get("v")) for row in await pool.lake.rows("from logs")]


def test_rows_go_and_come_by_one_commit(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            await pool.lake.load("logs", [{"k": k} for k in range(6)])
            before = await pool.head()
            landed = await written(pool, [{"k": 3, "v": "new"}])
            commit = (await pool.repository.resolve("main")).commit
            assert (commit.parents, landed.rows) == ((before,), 1)
            assert await keys(pool) == [(0, None), (1, None), (3, "new"), (4, None), (5, None)]

    run(play())


def test_a_row_that_does_not_pass_is_never_put(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = replace(await pool.target(), must=TEST)
            for row in ({"k": 4}, {"k": None}, {"k": "3"}):
                with pytest.raises(TaskFailed, match="1 of the rows to be written do not pass"):
                    await task(target, [pa.Table.from_pylist([row])])
            assert not list((tmp_path / "lake").glob("*/data/*/*"))

    run(play())


def test_nothing_may_be_there(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            land = partial(pool.land, replace=True, guard=ReplaceGuard(empty=True))
            await land(await pool.write([{"k": 1}]))
            with pytest.raises(AlreadyExists, match="there are rows at logs@main already"):
                await land(await pool.write([{"k": 2}]))
            assert await keys(pool) == [(1, None)]

    run(play())
