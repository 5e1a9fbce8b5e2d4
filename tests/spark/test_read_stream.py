"""Streams out of a pool: new rows commit by commit, each once, into any sink; and what ends a stream."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lochan
import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.spark.test_spark_stream import fine, forget_last

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    found.createDataFrame([(1,)], "a int")
    lochan.spark.register(found)
    found.conf.set("spark.sql.streaming.triggerAvailableNowWrapper.enabled", "true")
    yield found
    session.stop()


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("LOCHAN_SPARK__MASTER", HERE.master)
    monkeypatch.chdir(tmp_path)
    fine("init")
    fine("create", "logs", "--key", "k")


def load(*numbers: int, pool: str = "logs", **more: Any) -> None:
    text = "".join(json.dumps({"k": number, "text": f"row {number}", **more}) + "\n" for number in numbers)
    Path("rows.ndjson").write_text(text)
    fine("load", pool, "rows.ndjson")


def stream(spark: SparkSession, uri: str = "logs@main", **options: str) -> DataFrame:
    reader = spark.readStream.format("lochan").option("lake", os.environ["LOCHAN_LAKE"])
    return reader.options(**options).load(uri)


class Sink:
    """Follows a stream into Parquet files, which are exactly once, as far as it goes now."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self.folder, self.checkpoint = spark, folder / "out", folder / "checkpoint"

    def start(self, frame: DataFrame, **trigger: Any) -> StreamingQuery:
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return writer.option("path", str(self.folder)).trigger(**(trigger or {"availableNow": True})).start()

    def follow(self, frame: DataFrame) -> None:
        query = self.start(frame)
        assert query.awaitTermination(120)

    def read(self) -> DataFrame:
        return self._spark.read.parquet(str(self.folder))

    def keys(self) -> list[int]:
        return sorted(row.k for row in self.read().collect())

    def batches(self) -> list[tuple[str, str]]:
        """The span of each."""
        paths = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        ends = [json.loads(path.read_text().splitlines()[2])["commit"] for path in paths]
        return list(zip(["", *ends], ends, strict=False))


def fails(query: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:
        query()
    return str(caught.value)


def commits() -> list[str]:
    """Newest first."""
    return [each["id"] for each in json.loads(fine("log", "logs", "-f", "json"))]


def test_new_rows_come_once_though_the_branch_moves_and_is_compacted(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path)
    load(1, 2)
    load(3)
    sink.follow(stream(spark))
    assert sink.keys() == [1, 2, 3], "all that is there first"
    load(5)
    load(4)
    fine("compact", "logs")
    load(6)
    sink.follow(stream(spark))
    assert sink.keys() == [1, 2, 3, 4, 5, 6], "the compaction has brought nothing"
    load(7)
    sink.follow(stream(spark))
    forget_last(sink.checkpoint)
    load(8)
    fine("compact", "logs")
    sink.follow(stream(spark))
    assert sink.keys() == list(range(1, 9)), "the last batch was played again, up to where it went before"
    assert {(row.k, row.text) for row in sink.read().collect()} == {(n, f"row {n}") for n in range(1, 9)}
    assert sink.batches()[-1] == (commits()[2], commits()[0])
    sink.follow(stream(spark))
    assert len(sink.batches()) == 4, "there was nothing new"


def test_a_merge_brings_rows_and_a_delete_ends_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path)
    load(1, 2)
    load(3)
    fine("branch", "create", "logs@dev", "--from", "main")
    sink.follow(stream(spark))
    load(10, pool="logs@dev")
    load(4)
    fine("merge", "logs@dev", "logs@main")
    sink.follow(stream(spark))
    assert sink.keys() == [1, 2, 3, 4, 10]
    fine("revert", "logs@main", json.loads(fine("log", "logs@dev", "-n", "1", "-f", "json"))[0]["id"])
    load(5)
    text = fails(lambda: sink.follow(stream(spark)))
    assert "deleted rows of logs@main" in text and "ignoreDeletes" in text
    assert sink.keys() == [1, 2, 3, 4, 10]
    sink.follow(stream(spark, ignoreDeletes="true"))
    assert sink.keys() == [1, 2, 3, 4, 5, 10]


def test_rows_that_were_written_anew(spark: SparkSession, tmp_path: Path) -> None:
    sinks = {name: Sink(spark, tmp_path / name) for name in ("fails", "ignoreChanges", "skipChangeCommits")}
    load(1, 2, 3)
    for sink in sinks.values():
        sink.follow(stream(spark))
    fine("delete", "logs", "--where", "k == 2")
    load(4)
    text = fails(lambda: sinks["fails"].follow(stream(spark)))
    assert "wrote rows of logs@main anew" in text and "skipChangeCommits" in text and "readChangeFeed" in text
    assert sinks["fails"].keys() == [1, 2, 3]
    sinks["skipChangeCommits"].follow(stream(spark, skipChangeCommits="true"))
    assert sinks["skipChangeCommits"].keys() == [1, 2, 3, 4]
    sinks["ignoreChanges"].follow(stream(spark, ignoreChanges="true"))
    assert sinks["ignoreChanges"].keys() == [1, 1, 2, 3, 3, 4], "what was written anew comes again"


def test_a_branch_that_was_moved_ends_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path)
    load(1)
    fine("branch", "create", "logs@dev", "--from", "main")
    load(2, pool="logs@dev")
    sink.follow(stream(spark, "logs@dev"))
    fine("branch", "delete", "logs@dev")
    fine("branch", "create", "logs@dev", "--from", "main")
    load(3, pool="logs@dev")
    text = fails(lambda: sink.follow(stream(spark, "logs@dev")))
    assert "logs@dev was moved" in text and "another checkpoint" in text
    assert sink.keys() == [1, 2]
