"""Streams out of a pool: new rows commit by commit, each once, into any sink; and what ends a stream."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lochan
import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.spark.test_spark_stream import fine, forget_last, rows

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
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
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


def test_columns_stay_those_of_the_start(spark: SparkSession, tmp_path: Path) -> None:
    """A field of several kinds is JSON text in every batch, also in one that has one kind alone."""
    sink = Sink(spark, tmp_path)
    load(1, mixed="a", deep={"b": 1, "a": "x"})
    load(2, mixed=7)
    sink.follow(stream(spark))
    load(0, mixed="b", deep={"a": "y", "b": 2})
    sink.follow(stream(spark))
    assert {(row.k, row.mixed) for row in sink.read().collect()} == {(1, '"a"'), (2, "7"), (0, '"b"')}
    assert {row.k: row.deep and (row.deep.a, row.deep.b) for row in sink.read().collect()}[0] == ("y", 2)
    chosen = Sink(spark, tmp_path / "chosen")
    chosen.follow(stream(spark, columns="k,text"))
    running = sink.start(stream(spark), processingTime="100 milliseconds")
    try:
        load(3, mixed="c", more=True)
        text = fails(lambda: running.awaitTermination(120))
    finally:
        running.stop()
    assert "have a field `more`, which the stream has no column for" in text
    assert "start the stream again with the same checkpoint" in text
    chosen.follow(stream(spark, columns="k,text"))
    assert chosen.keys() == [0, 1, 2, 3], "a field that is not wanted does not matter"
    sink.follow(stream(spark))
    assert sink.keys() == [0, 1, 2, 3], "the batch that failed is played again, with another column"
    running = sink.start(stream(spark), processingTime="100 milliseconds")
    try:
        load(4, text=5)
        text = fails(lambda: running.awaitTermination(120))
    finally:
        running.stop()
    assert "hold values of another kind in `text`" in text


def test_limits_where_and_a_start(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(6):
        load(number)
    ids = commits()[::-1]  # with the empty first one
    sink = Sink(spark, tmp_path)
    limited = stream(spark, startingVersion="earliest", maxCommitsPerTrigger="2", where="k != 3")
    query = sink.start(limited, processingTime="0 seconds")
    try:
        query.processAllAvailable()
        load(6)
        query.processAllAvailable()
    finally:
        query.stop()
    assert sink.keys() == [0, 1, 2, 4, 5, 6]
    assert [end for _, end in sink.batches()][:3] == [ids[2], ids[4], ids[6]]
    later = Sink(spark, tmp_path / "later")
    later.follow(lochan.spark.read_stream(spark, "logs", starting_version=ids[5], columns=["k"]))
    assert later.keys() == [4, 5, 6] and later.read().columns == ["k"]
    none = Sink(spark, tmp_path / "none")
    none.follow(lochan.spark.read_stream(spark, "logs@main", starting_version="latest"))
    load(7)
    none.follow(lochan.spark.read_stream(spark, "logs@main", starting_version="latest"))
    assert none.keys() == [7], "the checkpoint tells where it goes on, not the option"


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path)
    assert "has no rows yet" in fails(lambda: sink.follow(stream(spark)))
    load(1)
    fine("repo", "create", "files")

    def start(options: Mapping[str, str]) -> None:
        sink.follow(stream(spark, **options))

    for options, text in (
        ({"startingVersion": "latest", "startingTimestamp": "now"}, "both say where to begin"),
        ({"maxCommitsPerTrigger": "many"}, "is no number from 1 on"),
        ({"ignoreDeletes": "yes"}, "is neither true nor false"),
        ({"endingVersion": "main"}, "a stream has no end"),
        ({"from": "1"}, "a stream is read without it"),
    ):
        assert text in fails(partial(start, options)), options
    lake = {"lake": os.environ["LOCHAN_LAKE"]}
    reader = spark.read.format("lochan").options(**lake)
    assert "an option of streams" in fails(lambda: reader.options(startingVersion="earliest").load("logs").collect())
    assert "where readChangeFeed is to begin" in fails(
        lambda: spark.read.format("lochan").options(**lake, readChangeFeed="true").load("logs").collect()
    )
    assert "is a repository of files" in fails(lambda: sink.follow(stream(spark, "files@main")))


def test_changes(spark: SparkSession, tmp_path: Path) -> None:
    load(1, 2, 3)
    first = commits()[0]
    fine("delete", "logs", "--where", "k == 2")
    load(4, more=True)
    fine("compact", "logs")
    fine("revert", "logs@main", "main~1")
    frame = lochan.spark.changes(spark, "logs@main")
    found = [
        (row._change_type, row.k, row.more) for row in frame.orderBy("_commit_time", "_change_type", "k").collect()
    ]
    assert found == [
        ("insert", 1, None),
        ("insert", 2, None),
        ("insert", 3, None),
        ("delete", 2, None),
        ("insert", 4, True),
        ("delete", 4, True),
    ], "rows that stay are no change, however often they were written anew"
    log = {each["id"]: each for each in json.loads(fine("log", "logs", "-f", "json"))}
    assert {row._commit for row in frame.collect()} <= log.keys()
    since = lochan.spark.changes(spark, "logs@main", since=first, until="main~2", where="k != 4", columns=["k"])
    assert [(row._change_type, row.k) for row in since.collect()] == [("delete", 2)]
    assert since.columns == ["k", "_change_type", "_commit", "_commit_time"]

    sink = Sink(spark, tmp_path)
    options = {"readChangeFeed": "true", "startingVersion": first}
    sink.follow(stream(spark, **options))
    fine("delete", "logs", "--where", "k == 1")
    sink.follow(stream(spark, **options))
    assert sorted((row._change_type, row.k) for row in sink.read().collect()) == [
        ("delete", 1), ("delete", 2), ("delete", 4),
        ("insert", 1), ("insert", 2), ("insert", 3), ("insert", 4),
    ]  # fmt: skip


def test_a_function_writes_each_batch_into_several_pools_once(spark: SparkSession, tmp_path: Path) -> None:
    fine("create", "even", "--key", "k")
    fine("create", "counts", "--key", "n")
    checkpoint = tmp_path / "checkpoint"
    hurt = True

    def handle(rows: DataFrame, batch: Any) -> None:
        batch.write(rows.where("k % 2 == 0"), "even", message=f"batch {batch.number}")
        if hurt:
            raise RuntimeError("between two writes")
        batch.write(rows.groupBy().count().toDF("n"), "counts@main", metadata={"by": "ada"})
        batch.write(rows.groupBy().count().toDF("n"), "counts", name="again")
        with pytest.raises(Exception, match="was written to counts@main before"):
            batch.write(rows.groupBy().count().toDF("n"), "counts", name="again")

    def go() -> None:
        frame = lochan.spark.read_stream(spark, "logs")
        query = lochan.spark.foreach_batch(frame, handle, checkpoint=checkpoint, available_now=True)
        assert query.awaitTermination(120)

    load(1, 2, 3, 4)
    assert "between two writes" in fails(go)
    hurt = False
    go()
    assert rows("from even | sort k | cut k") == [{"k": 2}, {"k": 4}]
    assert rows("from counts") == [{"n": 4}, {"n": 4}]
    forget_last(checkpoint)
    load(5, 6)
    go()
    assert rows("from even | sort k | cut k") == [{"k": 2}, {"k": 4}, {"k": 6}]
    assert rows("from counts | sort n") == [{"n": 2}, {"n": 2}, {"n": 4}, {"n": 4}]
