"""A frame whose rows are spread by the key of a pool: how often it is computed, and with how much memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.engines.spark.executors import TASK_MEMORY_BYTES, task_memory
from lochan.engines.spark.place import TASK_MEMORY
from lochan.errors import Invalid
from lochan.jobs.tasks import run_tasks
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.cli.invoke import lochan as command

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    yield session.session_at(HERE, STANDARD)
    session.stop()


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / "lake"))
    assert command("init").exit_code == 0
    assert command("create", "logs", "--key", "k").exit_code == 0
    return str(tmp_path / "lake")


def counted(spark: SparkSession, folder: Path) -> DataFrame:
    """Each time that one of its four partitions is computed, there is another file."""
    folder.mkdir()

    def computed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        (folder / uuid.uuid4().hex).touch()
        yield from batches

    return spark.range(0, 1_000, 1, 4).withColumnRenamed("id", "k").mapInArrow(computed, "k long")


def test_a_cached_frame_is_computed_once(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    twice, once, own = (tmp_path / name for name in ("twice", "once", "own"))
    assert lochan.spark.write(counted(spark, twice), "logs@main", parts=3, lake=lake).rows == 1_000
    assert len(list(twice.iterdir())) == 8, "Spark samples first; if it does not any more, `cache` is not needed"
    frame = counted(spark, once)
    assert lochan.spark.write(frame, "logs@main", parts=3, cache=True, lake=lake).rows == 1_000
    assert len(list(once.iterdir())) == 4
    assert not frame.storageLevel.useDisk, "it is not kept any longer"
    mine = counted(spark, own).persist()
    assert lochan.spark.write(mine, "logs@main", parts=3, cache=True, lake=lake).rows == 1_000
    assert len(list(own.iterdir())) == 4
    assert mine.storageLevel.useMemory, "whoever cached it still has it"
    mine.unpersist()
    assert lochan.spark.read(spark, "logs", lake=lake).count() == 3_000


def test_the_memory_of_a_task_is_a_setting(spark: SparkSession, lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def spied(rows: DataFrame, work: Any) -> Any:
        seen.append(work.__self__.target.limits.memory_bytes)
        return run_tasks(rows, work)

    monkeypatch.setattr("lochan.jobs.tasks.run_tasks", spied)
    frame = spark.range(10).withColumnRenamed("id", "k")
    for text, size in (("100m", 100 << 20), ("2g", 2 << 30), ("134217728", 128 << 20)):
        spark.conf.set(TASK_MEMORY, text)
        assert task_memory(spark) == size
    for text in ("much", "63m", "-1g", "1.5g"):
        spark.conf.set(TASK_MEMORY, text)
        with pytest.raises(Invalid, match="64m or more"):
            lochan.spark.write(frame, "logs@main", lake=lake)
    spark.conf.set(TASK_MEMORY, "100m")
    try:
        lochan.spark.write(frame, "logs@main", parts=1, lake=lake)
    finally:
        spark.conf.unset(TASK_MEMORY)
    assert task_memory(spark) is None
    lochan.spark.write(frame, "logs@main", parts=1, lake=lake)
    assert seen == [100 << 20, TASK_MEMORY_BYTES]
