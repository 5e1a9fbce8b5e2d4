"""The tasks of dedupe on Spark, played in this process, find what the embedded engine finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lochan.jobs.collection import dedupe_tasks, spark_dedupe
from lochan.jobs.collection.dedupe_tasks import EqualMessage
from lochan.jobs.collection.spark_dedupe import SparkDedupe
from lochan.jobs.collection.tasks import CollectionTarget
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning.collection.dedupe import EmbeddedDedupe
from lochan.versioning.collection.equal_blocks import EqualBlocks, duplicate_blocks
from tests.run import run
from tests.unit.collection.test_dedupe import three_times_the_same
from tests.unit.collection.test_plan_and_sweep import ANN, DaysClock, Lakeside
from tests.unit.versioning.history import History

pytestmark = pytest.mark.thorough
SHARDS = ("data/00000000000000000002", "data/00000000000000000005", "metaranges/")


def played(
    monkeypatch: pytest.MonkeyPatch, target: CollectionTarget, rows: pa.Table, read: Sequence[bytes]
) -> list[EqualMessage]:
    """As Spark does it, each task twice: the second time is the one that counts."""
    shards = len(SHARDS) + 1
    batches = rows.to_batches()
    for task in read:
        given = pa.RecordBatch.from_pydict({"task": pa.array([task], pa.binary())})
        for _ in range(2):
            made = list(dedupe_tasks.read_blocks(target, SHARDS, [given]))
        batches += made
    known = []
    for shard in range(shards):
        monkeypatch.setattr(dedupe_tasks, "partition_of_task", lambda shard=shard: shard)
        for _ in range(2):
            made = list(dedupe_tasks.list_shard(target, SHARDS, of_shard(batches, shard)))
        known += made
    found = [each for shard in range(shards) for each in dedupe_tasks.find_equal(of_shard(known, shard))]
    return [msgspec.msgpack.decode(data, type=EqualMessage) for each in found for data in each["result"].to_pylist()]


def of_shard(batches: Sequence[pa.RecordBatch], shard: int) -> list[pa.RecordBatch]:
    return [each.filter(pc.equal(each["shard"], shard)) for each in batches]


def test_tasks_find_what_the_embedded_engine_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find(lake: Lake, at: Lakeside) -> EqualBlocks:
        spark: Any = None
        engine = SparkDedupe(spark, at.repository, lake.place, tag="")

        async def here(work: Any) -> Any:
            return work()

        monkeypatch.setattr(engine._metadata, "run", here)
        monkeypatch.setattr(spark_dedupe, "bounds_of", lambda *given: SHARDS)
        monkeypatch.setattr(spark_dedupe, "parallelism", lambda spark: 2)
        seen: list[Any] = []

        def find_equal(*given: Any) -> list[Any]:
            seen.append(given)
            return []

        monkeypatch.setattr(spark_dedupe, "find_equal", find_equal)
        empty = await engine.find()
        _, target, _, rows, read = seen[0]
        found = await asyncio.to_thread(played, monkeypatch, target, rows, read)
        equal = pa.concat_tables([empty.equal, *(pa.ipc.open_stream(each.equal).read_all() for each in found)])
        return empty._replace(
            blocks=sum(each.blocks for each in found), bytes=sum(each.size_bytes for each in found), equal=equal
        )

    async def story() -> None:
        lake = await Lake.create(open_store(str(tmp_path / "lake"), create=True))
        await lake.create_repository("demo-repo", actor=ANN)
        at = Lakeside(lake, History(await lake.open_repository("demo-repo")), DaysClock())
        await three_times_the_same(at)
        there, here = (
            duplicate_blocks(await find(lake, at)),
            duplicate_blocks(await EmbeddedDedupe(at.repository).find()),
        )
        assert len(here.aliases) == 3
        assert there.aliases.equals(here.aliases)
        assert there._replace(aliases=here.aliases) == here

    run(story())
