"""The tasks of a compaction on Spark, run here: no row changes, and no two objects overlap."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.rewrite import RewriteResult
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compaction import bounds_of, land_swap, number_groups, removed_entries
from lochan.jobs.compaction import merge_groups as merged_round_by_round
from lochan.jobs.compaction_plan import CompactRequest, PoolCompactionPlan, plan_compaction, rehearse
from lochan.jobs.compaction_tasks import (
    MergeGroup,
    MergeTask,
    PartForms,
    alone,
    cut,
    groups_of,
    merge_alone,
    merge_part,
    sample,
    split,
)
from lochan.jobs.job_entries import all_entries
from lochan.jobs.messages import PoolTarget, TaskMessage, together
from lochan.pools.facts import Facts, ShapeFacts
from lochan.pools.keys import bounds
from lochan.pools.kinds import INT
from lochan.pools.shape import Object
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.jobs.load.local_load import records_in

pytestmark = pytest.mark.thorough

Rows = list[dict[str, Any]]
TWO_KEYS = PoolSettings((PoolKey(("k",), True), PoolKey(("v",))), size_bytes=4 << 10)
SMALL = PoolSettings((PoolKey(("k",)),), size_bytes=4 << 10)


def packed(tasks: list[MergeTask]) -> list[pa.RecordBatch]:
    """Objects as Spark gives them to a task."""
    return [pa.record_batch({"task": [msgspec.msgpack.encode(task)]}) for task in tasks]


def merged(target: PoolTarget, groups: list[MergeGroup]) -> Iterator[TaskMessage]:
    """Like `compact.merged`, without Spark."""
    several = split(groups)
    found = list(sample(target, packed(several)))
    if found:
        groups = list(number_groups(groups, pa.Table.from_batches(found)))
    yield from merge_alone(target, packed(alone(groups)))
    by_part: dict[int, list[pa.RecordBatch]] = {}
    for part, record in records_in(cut(target, packed(split(groups)))):
        by_part.setdefault(part, []).append(record)
    for records in by_part.values():
        yield from merge_part(target, PartForms.of(groups), records)


async def compacted(lake: QueryLake, repository: OpenRepository, request: CompactRequest) -> int:
    """Returns how many groups were split in the first round."""
    plan = await plan_compaction(repository, "main", request)
    limits = Limits(memory_bytes=64 << 20, threads=1)
    target = PoolTarget(lake.lake.place, repository.repository.id, plan.snapshot.settings, plan.mint, limits)

    async def merge(plan: PoolCompactionPlan) -> RewriteResult:
        made = await asyncio.to_thread(lambda: together(merged(target, list(groups_of(plan)))))
        assert made.rows == plan.rows
        return RewriteResult(removed_entries(plan), await all_entries(repository, [made]))

    await land_swap(repository, "main", await merged_round_by_round(plan, merge), actor=ANN)
    return sum(not group.alone for group in groups_of(plan))


def texts(rows: Rows) -> Counter[str]:
    return Counter(json.dumps(row) for row in rows)


def many(count: int, step: int = 7) -> Rows:
    """With values that do not compress to nothing."""
    return [{"k": number * step % count, "v": f"{number * 2654435761 % (1 << 32):x}" * 4} for number in range(count)]


PLAIN = [many(600), many(600, 11), many(300, 13)]
WORDS = [row["v"] for row in many(300)]
MIXED: list[Rows] = [
    [{"k": number, "o": {"a": number, "l": [number, None]}, "t": WORDS[number]} for number in range(300)],
    [{"o": {"a": 1.5, "b": None}, "k": number + 0.5, "t": WORDS[number]} for number in range(200)],
    [{"k": f"{number}", "x": 2**53 + number} for number in range(200)],
    [{"v": number} for number in range(50)] + [{"k": None, "v": [1, "x", {"y": number}]} for number in range(50)],
]
HEAVY: list[Rows] = [[{"k": min(row["k"], 20), "v": row["v"]} for row in many(900)]]
# Loads here and there, many of which overlap others: merged, they are small side by side, and merged again.
SCATTERED: list[Rows] = [
    [{"k": 3_571 * load % 10_000 + 17 * row % 300, "v": "x" * (row % 40)} for row in range(1 + load * 7 % 60)]
    for load in range(60)
]
TEXT: list[Rows] = [[{"k": number, "a": 1, "A": 2, "p": "q" * 50} for number in range(100)] for _ in range(3)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "loads, settings, several",
    [
        pytest.param(PLAIN, SMALL, 1, id="one shape"),
        pytest.param(MIXED, SMALL, 1, id="shapes and kinds of keys"),
        pytest.param(TEXT, SMALL, 0, id="rows that are text"),
        pytest.param(PLAIN + TEXT, SMALL, 1, id="both"),
        pytest.param(
            PLAIN, PoolSettings((PoolKey(("k",), True), PoolKey(("v",))), size_bytes=4 << 10), 1, id="two keys"
        ),
        pytest.param(PLAIN, PoolSettings((PoolKey(("k",)),)), 0, id="into one"),
        pytest.param(MIXED, PoolSettings((PoolKey(("k",)),), True, size_bytes=2 << 10), 1, id="nulls first"),
        pytest.param(HEAVY * 2, SMALL, 1, id="one key alone"),
        pytest.param(SCATTERED, PoolSettings((PoolKey(("k",)),), size_bytes=8 << 10), 0, id="many that overlap"),
    ],
)
def test_no_row_changes_and_no_objects_overlap(
    tmp_path: Path, loads: list[Rows], settings: PoolSettings, several: int
) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *loads, settings=settings)
            before = await lake.rows("from logs")
            repository = await lake.lake.open_repository("logs")
            assert await compacted(lake, repository, CompactRequest()) == several
            assert await rehearse(repository, "main") == []
            await repository.close()
            assert texts(await lake.rows("from logs")) == texts(before)
            assert [row.get("k") for row in await lake.rows("from logs")] == [row.get("k") for row in before]

    run(scenario())


@pytest.mark.thorough
def test_only_what_meets_a_span(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            far = [{"k": row["k"] + 10_000, "v": row["v"]} for row in many(600)]
            await lake.pool("logs", many(600), many(600, 11), far, far, settings=SMALL)
            repository = await lake.lake.open_repository("logs")
            files = set(await lake.files("logs"))
            [near, _] = [group.paths for group in await rehearse(repository, "main")]
            assert await compacted(lake, repository, CompactRequest(within=bounds(500, 9_999, SMALL))) == 1
            left = [group.paths for group in await rehearse(repository, "main")]
            assert len(left) == 1 and not set(left[0]) & set(near)
            assert files & set(await lake.files("logs"))
            await repository.close()

    run(scenario())


def test_bounds_cut_rows_into_parts_of_one_size() -> None:
    keys = [bytes([number]) for number in range(100)]
    assert bounds_of(keys, [1.0] * 100, 4) == (b"\x19", b"\x32", b"\x4b")
    assert bounds_of(keys, [*[1.0] * 99, 1_000.0], 2) == (b"\x63",)
    assert bounds_of([b"a"] * 10, [1.0] * 10, 3) == ()
    assert bounds_of([], [], 3) == ()


def test_what_goes_to_every_task_hardly_grows_with_the_groups() -> None:
    """Each group has its own bounds and entries: these go to its own tasks."""
    form = Facts(0, 0, b"", b"", (ShapeFacts(1, Object((("k", INT),)), 1),))
    text = msgspec.structs.replace(form, body=True)

    def groups(count: int) -> list[MergeGroup]:
        bounds = (b"x" * 1_000,) * 3
        return [MergeGroup((), (form,), 100, 4, bounds, 4 * number) for number in range(count)]

    few, many = [PartForms.of([*groups(count), MergeGroup((), (text,), 1, 1)]) for count in (10, 1_000)]
    assert [many.of_part(part) for part in (0, 3, 4, 3_999)] == [[form]] * 4
    assert many.forms == (form,)
    assert len(pickle.dumps(many)) < len(pickle.dumps(few)) + 1_000 * 8


def test_objects_that_are_told_of_by_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lochan.jobs.entry_runs.INLINE_BYTES", 0)

    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", many(600), many(600, 11), settings=SMALL)
            before = await lake.rows("from logs")
            repository = await lake.lake.open_repository("logs")
            assert await compacted(lake, repository, CompactRequest()) == 1
            assert await rehearse(repository, "main") == []
            await repository.close()
            assert texts(await lake.rows("from logs")) == texts(before)

    run(scenario())
    assert len([*(tmp_path / "lake").glob("*/runs/*")]) > 1
