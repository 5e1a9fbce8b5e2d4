"""Single rows of a pool change, and nothing else does: not a kind, not a missing field, not the text of a time."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import ConcurrentCommit, Conflict, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.job_commit import LandResult, land
from lochan.jobs.messages import RowCounts, TaskFailed, TaskMessage
from lochan.jobs.row_change_columns import CHANGE_COLUMNS, DELETE, INSERT, UPDATE
from lochan.jobs.row_changes import ChangeTarget
from lochan.jobs.write import ChangeRequest, WriteRequest, begin
from lochan.versioning.uri import Uri
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

pytestmark = pytest.mark.thorough
SETTINGS = PoolSettings((PoolKey(("k",)),), times=(("ts",),))
# Each differs from what a frame makes of it.
ROWS: list[dict[str, Any]] = [
    {"k": 0, "ts": "2026-11-01T00:00:00.123456789Z", "x": 1},
    {"k": 1, "ts": "2026-11-01T02:00:00+02:00", "x": "1"},
    {"k": 2, "ts": "no time", "x": None},
    {"k": 3, "ts": "2026-11-01", "x": 1.5, "o": {"a": 1}},
    {"k": 4, "x": [1, "two", {"three": 3}], "o": {"a": None, "b": "2026-11-01T00:00:00Z"}},
    {"x": Decimal("1.10000000000000000000000000001"), "k": 5, "list": [1, 2]},
    {"k": 6, "big": 1 << 80, "o": {}, "list": []},
    {"k": 7, "at": datetime(2026, 11, 1, 1, 2, 3, tzinfo=UTC), "day": date(2026, 11, 1)},
    {"k": 8, "at": "2026-11-01T01:02:03Z", "day": "2026-11-01"},
    {"k": 9, "on": [date(2026, 11, 1)], "when": [datetime(2026, 11, 1, tzinfo=UTC)]},
]
SCHEMA = pa.schema(
    [
        ("#operation", pa.int32()),
        ("#object", pa.string()),
        ("#row", pa.int64()),
        ("#fields", pa.list_(pa.int32())),
        ("k", pa.int64()),
        ("x", pa.string()),
    ]
)
Change = tuple[int, str | None, int | None, list[int] | None, int | None, str | None]


class ChangedPool:
    def __init__(self, lake: QueryLake) -> None:
        self.lake = lake

    async def texts(self) -> list[str]:
        """Rows as JSON, with the kinds of their fields, in the order of the key."""
        rows = await self.lake.rows(
            "from logs | sort k | put kinds := [typeof(at), typeof(day), typeof(ts), typeof(x)]"
        )
        return [json.dumps(row, default=str) for row in rows]

    async def objects(self) -> list[str]:
        return [f"{row['id']}.parquet" for row in await self.lake.rows("from logs:objects")]

    async def target(self) -> ChangeTarget:
        request = WriteRequest(Uri("logs", "main", ""), ANN, change=ChangeRequest("update", "main"))
        made = (await begin(self.lake.lake, request)).target
        assert isinstance(made, ChangeTarget)
        sent: ChangeTarget = pickle.loads(pickle.dumps(made))
        return sent

    async def task(self, target: ChangeTarget, changes: Iterable[Change]) -> list[TaskMessage]:
        columns = list(zip(*changes, strict=True))
        batch = pa.RecordBatch.from_arrays(
            [pa.array(each, field.type) for each, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
        )
        return await asyncio.to_thread(lambda: list(target.write([batch])))

    async def land(self, messages: Iterable[TaskMessage]) -> LandResult:
        repository = await self.lake.lake.open_repository("logs")
        try:
            return await land(repository, "main", messages, actor=ANN, why="update")
        finally:
            await repository.close()

    async def change(self, *changes: Change) -> LandResult:
        return await self.land(await self.task(await self.target(), changes))


def play(folder: Path, scene: Callable[[ChangedPool], Awaitable[None]], *loads: list[dict[str, Any]]) -> None:
    async def played() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", *(loads or [ROWS]), settings=SETTINGS)
            await scene(ChangedPool(lake))

    run(played())


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_deleted_row_takes_nothing_with_it(tmp_path: Path, number: int) -> None:
    async def scene(pool: ChangedPool) -> None:
        before, [object] = await pool.texts(), await pool.objects()
        done = await pool.change((DELETE, object, number, None, None, None))
        assert done.changed == RowCounts(deleted=1)
        assert await pool.texts() == before[:number] + before[number + 1 :]

    play(tmp_path, scene)


def test_an_update_changes_the_fields_that_it_names_and_no_other(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        before, [object] = await pool.texts(), await pool.objects()
        changes: list[Change] = [(UPDATE, object, number, [0], number + 100, "?") for number in range(len(ROWS))]
        done = await pool.change(*changes)
        assert done.changed == RowCounts(updated=len(ROWS))
        assert [text.replace('"k": 10', '"k": ') for text in await pool.texts()] == before
        assert "Update rows: 10 updated" in str(await pool.lake.rows("from logs:log | head 1"))

    play(tmp_path, scene)


def test_updates_beside_rows_that_stay(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        before, [object] = await pool.texts(), await pool.objects()
        await pool.change((UPDATE, object, 4, [1], 4, "new"), (UPDATE, object, 5, [], 99, "not named"))
        after = await pool.texts()
        assert after[:4] + after[5:] == before[:4] + before[5:]
        [row] = await pool.lake.rows("from logs | where k == 4 | drop k")
        assert row == {"x": "new", "o": {"a": None, "b": "2026-11-01T00:00:00Z"}}

    play(tmp_path, scene)


def test_rows_that_others_add_meanwhile_stay(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        target, [object] = await pool.target(), await pool.objects()
        messages = await pool.task(target, [(DELETE, object, 0, None, None, None), (INSERT, None, None, None, 30, "n")])
        await pool.lake.load("logs", [{"k": 20}])
        done = await pool.land(messages)
        assert (done.changed, done.rows) == (RowCounts(deleted=1, inserted=1), 2)
        assert [row["k"] for row in await pool.lake.rows("from logs | sort k")] == [*range(1, 10), 20, 30]

    play(tmp_path, scene)


def test_a_change_of_the_same_object_is_a_conflict(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        target, [object] = await pool.target(), await pool.objects()
        messages = await pool.task(target, [(UPDATE, object, 0, [1], 0, "late")])
        await pool.change((UPDATE, object, 1, [1], 1, "first"))
        before = await pool.texts()
        with pytest.raises(ConcurrentCommit, match="no longer on the branch"):
            await pool.land(messages)
        assert await pool.texts() == before

    play(tmp_path, scene)


def test_changes_of_several_objects_are_one_commit(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        objects = sorted(await pool.objects())
        await pool.change(*((DELETE, each, 0, None, None, None) for each in objects))
        assert len(await pool.texts()) == len(ROWS) - 2
        assert len(await pool.lake.rows("from logs:log")) == 4

    play(tmp_path, scene, ROWS[:5], ROWS[5:])


def test_an_object_of_which_nothing_is_left(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        [object] = await pool.objects()
        await pool.change(*((DELETE, object, row, None, None, None) for row in range(len(ROWS))))
        assert await pool.objects() == []

    play(tmp_path, scene)


def test_a_row_that_is_matched_twice(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        [object] = await pool.objects()
        with pytest.raises(TaskFailed, match="changed twice"):
            await pool.change((UPDATE, object, 0, [1], 0, "a"), (UPDATE, object, 0, [1], 0, "b"))

    play(tmp_path, scene)


def test_two_tasks_never_replace_one_object(tmp_path: Path) -> None:
    async def scene(pool: ChangedPool) -> None:
        target, [object] = await pool.target(), await pool.objects()
        messages = [
            message for row in (0, 1) for message in await pool.task(target, [(DELETE, object, row, None, None, None)])
        ]
        with pytest.raises(Conflict, match="two tasks"):
            await pool.land(messages)

    play(tmp_path, scene)


def test_rows_that_are_kept_as_text(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"k": 1, "a": 1, "A": 2}, {"k": 2, "a": "x", "A": [1]}, {"k": 3, "a": None, "A": 0}]

    async def scene(pool: ChangedPool) -> None:
        [object] = await pool.objects()
        await pool.change((DELETE, object, 0, None, None, None), (UPDATE, object, 1, [1], 2, "new"))
        assert await pool.lake.rows("from logs | sort k") == [{"k": 2, "a": "x", "A": [1], "x": "new"}, rows[2]]

    play(tmp_path, scene, rows)


def test_names_of_the_columns_in_front() -> None:
    assert tuple(SCHEMA.names[: len(CHANGE_COLUMNS)]) == CHANGE_COLUMNS


def test_files_have_no_rows_that_change(tmp_path: Path) -> None:
    async def played() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("files", actor=ANN)
            request = WriteRequest(Uri("files", "main", "a/"), ANN, change=ChangeRequest("update", "main"))
            with pytest.raises(Refused, match="rows do not change"):
                await begin(lake.lake, request)

    run(played())
