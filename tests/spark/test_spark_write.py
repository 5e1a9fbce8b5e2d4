"""A frame becomes one commit, or nothing, whatever fails and however often."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions

import lochan.spark
from lochan.api.pool import load_rows
from lochan.clock import SystemClock
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import AlreadyExists, Invalid, KeyReused, NotFound, PreconditionFailed, Unknown
from lochan.formats.job import PREFIX, JobRecord
from lochan.jobs.record import jobs
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning.branches import set_read_only
from tests.lost_answer import lost_answer
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
RETRYING = HERE._replace(master="local[2,3]")  # a task may fail twice
TYPES = (
    "k int, t tinyint, d date, ts timestamp, n timestamp_ntz, f float, dec decimal(30,3), b binary, "
    "m map<string,int>, o struct<x:smallint,y:array<string>>, l array<long>, s string"
)
ROWS: list[tuple[Any, ...]] = [
    (
        3,
        1,
        date(2026, 11, 1),
        datetime(2026, 11, 1, 10, 0, 0, 5),
        datetime(2026, 11, 1, 10),
        0.5,
        Decimal("12345678901234567890.125"),
        bytearray(b"\x00\xff"),
        {"p": 1},
        (1, ["a", None]),
        [1, 2],
        "text",
    ),
    (1, None, None, None, None, None, Decimal("1.5"), None, None, None, None, None),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(RETRYING, STANDARD)
    found.conf.set("spark.sql.shuffle.partitions", "4")
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")  # which makes it the active one: Spark looks for data sources in that
    yield found
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool")
            await lake.pool("same")

    run(made())
    return str(tmp_path / "lake")


def query_rows(lake: str, text: str) -> list[Any]:
    async def ask() -> list[Any]:
        opened = await Lake.open(LocalStore(lake))
        try:
            return await QueryLake(opened).rows(text)
        finally:
            await opened.close()

    return run(ask())


def save(frame: DataFrame, lake: str, uri: str = "pool", mode: str = "append", **options: str) -> None:
    frame.write.format("lochan").option("lake", lake).options(**options).mode(mode).save(uri)


def numbers(spark: SparkSession, count: int, parts: int = 4) -> DataFrame:
    return spark.range(count).withColumnRenamed("id", "k").repartition(parts)


def commits(lake: str) -> list[Any]:
    return query_rows(lake, "from pool:log")


def recorded(lake: str) -> list[JobRecord]:
    """The newest first."""
    return run(jobs(LocalStore(lake), SystemClock().wall(), 10))


def sizes(lake: str) -> dict[str, int]:
    """The sizes of all files except records of jobs."""
    found = {str(path.relative_to(lake)): path for path in Path(lake).rglob("*") if path.is_file()}
    return {name: path.stat().st_size for name, path in found.items() if not name.startswith(PREFIX)}


def files(lake: str) -> int:
    """The files on the store, including those that nothing names."""
    return sum(1 for each in Path(lake).glob("*/data/*/*") if each.is_file())


def test_rows_are_those_of_an_embedded_load_of_the_same_table(spark: SparkSession, lake: str) -> None:
    frame = spark.createDataFrame(ROWS, TYPES)
    save(frame, lake, message="types", **{"metadata.run": "7", "metadata.Owner": "Ann"})
    table = frame.toArrow()

    async def load() -> None:
        opened = await Lake.open(LocalStore(lake))
        await load_rows(opened, "same", table, actor=ANN)
        await opened.close()

    run(load())
    assert query_rows(lake, "from pool") == query_rows(lake, "from same")
    assert query_rows(lake, "from pool | cut k, dec, b, m, ts")[1] == {
        "k": 3,
        "dec": Decimal("12345678901234567890.125"),
        "b": "AP8=",
        "m": {"p": 1},
        "ts": "2026-11-01T10:00:00.000005Z",
    }
    commit = commits(lake)[0]
    assert (commit["message"], commit["metadata"]["run"], commit["metadata"]["Owner"]) == ("types", "7", "Ann")
    back = lochan.spark.read(spark, "pool", lake=lake)
    assert dict(back.dtypes)["d"] == "date"


def test_decimals_come_back_as_decimals(spark: SparkSession, lake: str) -> None:
    """As doubles, ten times 0.10 would be 0.9999999999999999."""
    save(spark.sql("SELECT id AS k, CAST('0.10' AS DECIMAL(10, 2)) AS price FROM RANGE(10)"), lake)
    assert query_rows(lake, "from pool | sum(price)") == [{"sum": 1}]
    frame = spark.read.format("lochan").option("lake", lake).load("pool")
    assert frame.schema["price"].dataType.simpleString() == "decimal(38,1)"
    assert frame.selectExpr("SUM(price) = 1 AS exact").collect()[0].exact


def test_append_append_overwrite(spark: SparkSession, lake: str) -> None:
    save(numbers(spark, 10), lake)
    save(numbers(spark, 5), lake)
    assert query_rows(lake, "from pool | count()") == [{"count": 15}]
    save(numbers(spark, 3), lake, mode="overwrite")
    assert query_rows(lake, "from pool | cut k") == [{"k": 0}, {"k": 1}, {"k": 2}]
    assert len(commits(lake)) == 4  # with the one that made the pool
    assert query_rows(lake, "from pool@main~1 | count()") == [{"count": 15}]
    save(numbers(spark, 0), lake)
    assert len(commits(lake)) == 4  # nothing came, and nothing is said


def by_python(frame: DataFrame, lake: str, mode: str) -> None:
    """As without the jar: Spark refuses the default mode of a source in Python, and so that is an option."""
    by = {"append": "append", "overwrite": "overwrite"}.get(mode, "append")
    options = {} if by == mode else {"saveMode": mode}
    frame.write.format("lochan.spark.PythonSource").options(lake=lake, **options).mode(by).save("pool")


def by_function(frame: DataFrame, lake: str, mode: str) -> None:
    lochan.spark.write(frame, "pool", mode=mode, lake=lake)


def by_jvm(frame: DataFrame, lake: str, mode: str) -> None:
    save(frame, lake, mode=mode)


@pytest.mark.parametrize("write", [by_jvm, by_python, by_function])
def test_all_modes(spark: SparkSession, lake: str, write: Callable[[DataFrame, str, str], None]) -> None:
    write(numbers(spark, 3), lake, "ignore")
    write(numbers(spark, 5), lake, "ignore")
    assert query_rows(lake, "from pool | count()") == [{"count": 3}]
    with pytest.raises(Exception, match="there are rows at pool@main already"):
        write(numbers(spark, 5), lake, "errorifexists")
    write(numbers(spark, 2), lake, "append")
    assert query_rows(lake, "from pool | count()") == [{"count": 5}]
    write(numbers(spark, 0), lake, "overwrite")
    write(numbers(spark, 4), lake, "errorifexists")
    assert query_rows(lake, "from pool | count()") == [{"count": 4}]


def test_the_default_mode_is_that_of_spark(spark: SparkSession, lake: str) -> None:
    numbers(spark, 1).write.format("lochan").option("lake", lake).save("pool")
    with pytest.raises(AnalysisException, match="LOCHAN_ALREADY_EXISTS"):
        numbers(spark, 1).write.format("lochan").option("lake", lake).save("pool")
    with pytest.raises(Exception, match="SAVE_MODE"):
        numbers(spark, 1).write.format("lochan.spark.PythonSource").option("lake", lake).save("pool")


def test_a_mode_that_needs_an_empty_branch_looks_again_when_it_lands(spark: SparkSession, lake: str) -> None:
    """Somebody else writes while the tasks run."""

    def others(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        asyncio.run(_load(lake, [{"k": 77}]))

    frame = numbers(spark, 3, 1).mapInArrow(others, "k long")
    with pytest.raises(AlreadyExists):
        lochan.spark.write(frame, "pool", mode="errorifexists", spread=False, lake=lake)
    assert query_rows(lake, "from pool") == [{"k": 77}]
    save(numbers(spark, 0), lake, mode="overwrite")
    assert lochan.spark.write(frame, "pool", mode="ignore", spread=False, lake=lake).commit == ""
    assert query_rows(lake, "from pool") == [{"k": 77}]


async def _load(lake: str, rows: list[dict[str, Any]]) -> None:
    opened = await Lake.open(LocalStore(lake))
    await load_rows(opened, "pool", rows, actor=ANN)
    await opened.close()


def test_rows_that_pass_a_test_are_replaced_in_one_commit(spark: SparkSession, lake: str) -> None:
    save(numbers(spark, 10).selectExpr("k", "'old' AS v"), lake)
    before = len(commits(lake))
    new = spark.range(3, 5).selectExpr("id AS k", "'new' AS v")
    save(new, lake, mode="overwrite", replaceWhere="k >= 3 and k < 6")
    assert len(commits(lake)) == before + 1
    assert [row["k"] for row in query_rows(lake, "from pool | v == 'new'")] == [3, 4]
    assert [row["k"] for row in query_rows(lake, "from pool")] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    lochan.spark.write(new.where("k > 99"), "pool", mode="overwrite", replace_where="v == 'new'", lake=lake)
    assert [row["k"] for row in query_rows(lake, "from pool")] == [0, 1, 2, 6, 7, 8, 9]
    assert query_rows(lake, "from pool@main~1 | count()") == [{"count": 9}]


def test_rows_that_do_not_pass_the_test_are_not_written(spark: SparkSession, lake: str) -> None:
    save(numbers(spark, 10), lake)
    before = commits(lake)
    for rows in (numbers(spark, 5), spark.sql("select cast(null as long) k"), spark.sql("select 1 other")):
        with pytest.raises(Invalid, match="do not pass the test 'k < 3'"):
            lochan.spark.write(rows, "pool", mode="overwrite", replace_where="k < 3", lake=lake)
    with pytest.raises(Exception, match="do not pass the test 'k < 3'"):
        save(numbers(spark, 5), lake, mode="overwrite", replaceWhere="k < 3")
    with pytest.raises(Exception, match="nothing"):
        save(numbers(spark, 1), lake, mode="overwrite", replaceWhere="nothing > 1")
    with pytest.raises(Exception, match="needs mode 'overwrite'"):
        save(numbers(spark, 1), lake, replaceWhere="k < 3")
    assert commits(lake) == before


def test_what_comes_meanwhile_is_replaced_by_the_same_test(spark: SparkSession, lake: str) -> None:
    """A delete is computed on the head that it lands on."""
    save(numbers(spark, 6), lake)

    def others(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        asyncio.run(_load(lake, [{"k": 2}, {"k": 50}]))

    frame = spark.sql("select 1L k").repartition(1).mapInArrow(others, "k long")
    save(frame, lake, mode="overwrite", replaceWhere="k < 4")
    assert [row["k"] for row in query_rows(lake, "from pool")] == [1, 4, 5, 50]


def test_an_overwrite_by_a_test_of_what_was_read_drops_nothing_that_came_since(spark: SparkSession, lake: str) -> None:
    save(numbers(spark, 6), lake)
    read = lochan.spark.read(spark, "pool", lake=lake).where("k < 3")
    save(numbers(spark, 1), lake, message="late news")
    with pytest.raises(PreconditionFailed, match="late news"):
        lochan.spark.write(read, "pool", mode="overwrite", replace_where="k < 3", lake=lake)


def test_options_that_a_pool_has_not(spark: SparkSession, lake: str) -> None:
    for options, words in (
        ({"mergeSchema": "false"}, "it takes rows of any shape"),
        ({"partitionBy": "k"}, "has no partitions"),
        ({"where": "k > 1"}, "a write has no such option"),
        ({"mesage": "typing"}, "did you mean message"),
        ({"colour": "red"}, "takes no options, but was given colour"),
    ):
        for source in ("lochan", "lochan.spark.PythonSource"):
            with pytest.raises(Exception, match=words):
                numbers(spark, 1).write.format(source).options(lake=lake, **options).mode("append").save("pool")
    save(numbers(spark, 1), lake, mergeSchema="true")
    with pytest.raises(Exception, match="has no partitions"):
        numbers(spark, 1).write.format("lochan").partitionBy("k").mode("append").options(lake=lake).save("pool")
    assert query_rows(lake, "from pool | count()") == [{"count": 1}]


def test_an_overwrite_by_what_was_read_drops_nothing_that_came_since(spark: SparkSession, lake: str) -> None:
    """However the rows were read, and whatever was made of them."""
    save(numbers(spark, 4), lake)
    by_source = spark.read.format("lochan").option("lake", lake).load("pool")
    read = lochan.spark.read(spark, "pool", lake=lake)
    read.createOrReplaceTempView("was_read")
    made = [
        read,
        by_source.where("k > 1").withColumn("more", functions.lit(1)),
        numbers(spark, 1).union(read.groupBy().agg(functions.max("k").alias("k"))).cache(),
        spark.sql("select max(k) k from was_read"),
    ]
    same = lochan.spark.read(spark, "pool", lake=lake)
    lochan.spark.write(same.where("k < 3"), "pool", mode="overwrite", lake=lake)  # nothing came since
    assert query_rows(lake, "from pool | count()") == [{"count": 3}]
    save(numbers(spark, 2), lake, message="late news")
    for frame in made:
        with pytest.raises(PreconditionFailed, match="would drop what came since: 'late news'"):
            lochan.spark.write(frame, "pool", mode="overwrite", lake=lake)
    for frame in made[:2]:  # the data source is told of columns alone
        with pytest.raises(Exception, match="would drop what came since: 'late news'"):
            save(frame, lake, mode="overwrite")
    assert query_rows(lake, "from pool | count()") == [{"count": 5}]
    with pytest.raises(Exception, match="only an overwrite expects a head"):
        save(read, lake, ifHead="main")
    save(read, lake, mode="overwrite", ifHead="main")
    assert query_rows(lake, "from pool | count()") == [{"count": 4}]
    with pytest.raises(PreconditionFailed, match="is not at"):
        lochan.spark.write(numbers(spark, 1), "pool", mode="overwrite", expect="main~1", lake=lake)
    lochan.spark.write(read, "same", mode="overwrite", lake=lake)  # which is another pool
    lochan.spark.write(numbers(spark, 1), "pool", mode="overwrite", lake=lake)


def test_columns_of_any_name_and_maps_of_any_key(spark: SparkSession, lake: str) -> None:
    frame = spark.sql(
        "select 1 k, 1 `a.b`, 2 `c``d`, named_struct('e.f', 3, 'g`h', 4) `o.p`, double('nan') y, "
        "map('m', 1) m, map(7, 'seven') numbers"
    )
    row = {"k": 1, "a.b": 1, "c`d": 2, "o.p": {"e.f": 3, "g`h": 4}, "y": None, "m": {"m": 1}, "numbers": [[7, "seven"]]}
    lochan.spark.write(frame, "pool", lake=lake)
    save(frame, lake)
    assert query_rows(lake, "from pool") == [row, row]
    source = spark.read.format("lochan").option("lake", lake)
    for found in (lochan.spark.read(spark, "pool", lake=lake), source.load("pool")):
        assert found.columns == list(row)
        first = found.collect()[0].asDict(recursive=True)
        assert math.isnan(first.pop("y"))
        assert first == {name: value for name, value in row.items() if name != "y"} | {"numbers": '[[7,"seven"]]'}
    chosen = source.schema("`c``d` long, `a.b` long").load("pool")
    assert [tuple(each) for each in chosen.collect()] == [(2, 1)] * 2


def test_columns_that_differ_in_case_alone(spark: SparkSession, lake: str) -> None:
    """In a session that treats x and X as one, as most do."""
    spark.conf.set("spark.sql.caseSensitive", "false")
    try:
        lochan.spark.write(spark.sql("select 1 k, 5 x, 6 X"), "pool", lake=lake)
        back = lochan.spark.read(spark, "pool", columns=["x", "X"], lake=lake)
        assert [tuple(each) for each in back.collect()] == [(5, 6)]
    finally:
        spark.conf.set("spark.sql.caseSensitive", "true")
    assert query_rows(lake, "from pool") == [{"k": 1, "x": 5, "X": 6}]


def test_a_frame_is_saved_from_any_thread(spark: SparkSession, lake: str) -> None:
    """Spark knows of an active session only on threads that have one."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(save, numbers(spark, 3), lake).result()
    assert query_rows(lake, "from pool | count()") == [{"count": 3}]


def test_the_source_is_registered_in_each_session(spark: SparkSession, lake: str) -> None:
    other = spark.newSession()
    for each in (other, other, spark):
        lochan.spark.register(each)
    for each in (other, spark):
        save(numbers(each, 3), lake)
        assert each.read.format("lochan").option("lake", lake).load("pool").count() > 0
    assert query_rows(lake, "from pool | count()") == [{"count": 6}]


def test_written_again_with_its_key_nothing_comes_twice(spark: SparkSession, lake: str) -> None:
    """From Python, where the answer of each append is lost in turn, and as a data source."""
    count = 0
    for number in (1, 2, 3):
        key = f"write-{number}"
        with lost_answer(number) as appends, suppress(Unknown):
            lochan.spark.write(numbers(spark, 5), "pool", lake=lake, key=key)
        first = lochan.spark.write(numbers(spark, 5), "pool", lake=lake, key=key)
        count += 5
        assert query_rows(lake, "from pool | count()") == [{"count": count}], (number, len(appends))
        assert lochan.spark.write(numbers(spark, 5), "pool", lake=lake, key=key).commit == first.commit
        with pytest.raises(KeyReused):
            lochan.spark.write(numbers(spark, 5), "pool", mode="overwrite", lake=lake, key=key)
    for _ in range(2):
        save(numbers(spark, 2), lake, request_key="as-a-source")
    assert query_rows(lake, "from pool | count()") == [{"count": count + 2}]


def test_writes_are_jobs_that_count_what_is_put(spark: SparkSession, lake: str) -> None:
    """Tasks count to the byte. The driver counts everything that is there, and the job's own record as often as it was
    put before the last time. Notes of what was read are no part of a job."""
    before = sizes(lake)
    save(numbers(spark, 2_000), lake)
    between = sizes(lake)
    landed = lochan.spark.write(numbers(spark, 1_000), "pool", lake=lake)
    after = sizes(lake)
    one, other = recorded(lake)
    assert [(each.kind, each.about, each.state, each.rows) for each in (one, other)] == [
        ("write", "pool@main", "done", 1_000),
        ("write", "pool@main", "done", 2_000),
    ]
    assert landed.put_bytes == landed.size_bytes
    for job, (then, now) in ((other, (before, between)), (one, (between, after))):
        new = {path: size for path, size in now.items() if path not in then}
        data = sum(size for path, size in new.items() if "/data/" in path)
        assert job.executor_bytes == data > 0
        others = ("/data/", "_lake/jobs/", "_lake/usage/")
        rest = sum(size for path, size in new.items() if not any(each in path for each in others))
        assert job.driver_bytes is not None
        opened = 600  # the event that holds the job's files open may come before the driver begins to count
        assert rest - opened <= job.driver_bytes < rest + 4_000
    assert (one.where, one.silent, other.silent) == (RETRYING.master, False, True)
    assert one.stages and one.done == one.total > 0


def test_written_by_ranges_of_the_key_objects_do_not_overlap(spark: SparkSession, lake: str) -> None:
    landed = lochan.spark.write(numbers(spark, 4_000).sample(1.0, 7), "pool@main", message="all", lake=lake)
    spans = query_rows(lake, "from pool:objects | cut min, max, count, size")
    assert (landed.rows, sum(each["count"] for each in spans), len(spans)) == (4_000, 4_000, landed.objects)
    assert len(spans) > 1
    assert all(low["max"] < high["min"] for low, high in pairwise(spans))
    assert landed.size_bytes == sum(each["size"] for each in spans)
    assert commits(lake)[0]["message"] == "all"
    lochan.spark.write(numbers(spark, 2), "pool", mode="overwrite", spread=False, lake=lake)
    assert query_rows(lake, "from pool | count()") == [{"count": 2}]


def failing(times: int, folder: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task with row 0 fails behind its first rows, so often."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mine = False
        for batch in batches:
            mine = mine or 0 in batch.column(0).to_pylist()
            yield batch
        if mine and len(os.listdir(folder)) < times:  # noqa: PTH208
            Path(folder, str(time.monotonic_ns())).touch()
            os._exit(1) if times == 1 else None
            raise RuntimeError("on purpose")

    return work


def test_a_worker_that_dies_once_is_tried_again(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "failed").mkdir()
    frame = numbers(spark, 100).mapInArrow(failing(1, str(tmp_path / "failed")), "k long")
    save(frame, lake)
    assert len(list((tmp_path / "failed").iterdir())) == 1
    assert query_rows(lake, "from pool | count(), sum(k)") == [{"count": 100, "sum": 4_950}]


def test_a_task_that_always_fails_leaves_nothing_to_be_seen(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "failed").mkdir()
    before = commits(lake)
    frame = numbers(spark, 100).mapInArrow(failing(99, str(tmp_path / "failed")), "k long")
    with pytest.raises(Exception, match="on purpose"):
        save(frame, lake)
    assert commits(lake) == before
    assert query_rows(lake, "from pool | count()") == [{"count": 0}]
    with pytest.raises(Exception, match="on purpose"):
        lochan.spark.write(frame, "pool", lake=lake)
    assert commits(lake) == before
    found = [(each.state, each.error) for each in recorded(lake)]
    assert found == [("failed", "refused"), ("failed", "TaskFailed")]


def test_a_commit_that_fails_leaves_nothing_to_be_seen(spark: SparkSession, lake: str) -> None:
    def close_the_pool(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """While tasks run, and so behind all that is looked at before."""
        yield from batches
        asyncio.run(_read_only(lake))

    before = commits(lake)
    with pytest.raises(Exception, match="read-only"):
        save(numbers(spark, 10, 1).mapInArrow(close_the_pool, "k long"), lake)
    assert commits(lake) == before
    assert [each.state for each in recorded(lake)] == ["failed"]
    assert files(lake) == 1  # which is garbage now: whether a commit landed is not for `abort` to know


async def _read_only(lake: str) -> None:
    opened = await Lake.open(LocalStore(lake))
    repository = await opened.open_repository("pool")
    await set_read_only(repository, True, actor=ANN)
    await repository.close()
    await opened.close()


@pytest.mark.parametrize("write", [by_jvm, by_python, by_function])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_protected_branch_is_not_written(
    spark: SparkSession, lake: str, write: Callable[[DataFrame, str, str], None], mode: str
) -> None:
    _protect(lake, ["commit"])
    before = commits(lake)
    with pytest.raises(Exception, match="branch 'main' is protected"):
        write(numbers(spark, 3), lake, mode)
    assert commits(lake) == before
    _protect(lake, [])
    write(numbers(spark, 3), lake, mode)
    assert query_rows(lake, "from pool | count()") == [{"count": 3}]


def test_a_branch_that_is_protected_while_tasks_run_is_not_written(spark: SparkSession, lake: str) -> None:
    def protect(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        _protect(lake, ["commit"])

    before = commits(lake)
    with pytest.raises(Exception, match="branch 'main' is protected"):
        save(numbers(spark, 10, 1).mapInArrow(protect, "k long"), lake)
    assert commits(lake) == before


def _protect(lake: str, blocked: list[str]) -> None:
    with lochan.connect(lake) as opened:
        if blocked:
            opened.repository("pool").protect("main", blocked=blocked)
        else:
            opened.repository("pool").unprotect("main")


def test_a_driver_that_is_killed_leaves_nothing_to_be_seen(spark: SparkSession, lake: str) -> None:
    before = commits(lake)
    command = [sys.executable, "-m", "tests.spark.run_write", lake]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as driver:
        deadline = time.monotonic() + 120
        while files(lake) < 2 and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        written = files(lake)
        os.killpg(driver.pid, signal.SIGKILL)
    assert written >= 2
    assert commits(lake) == before
    save(numbers(spark, 2_000), lake)
    assert query_rows(lake, "from pool | count(), sum(k)") == [{"count": 2_000, "sum": 1_999_000}]


def test_what_cannot_be_written_is_said_before(spark: SparkSession, lake: str) -> None:
    with pytest.raises(Exception, match="m holds an interval of months"):
        save(spark.sql("select 1 k, interval '1' month m"), lake)
    with pytest.raises(Invalid, match=r"o\.v holds a variant"):
        lochan.spark.write(spark.sql("select named_struct('v', parse_json('1')) o"), "pool", lake=lake)
    with pytest.raises(Exception, match="no repository 'nowhere'"):
        save(numbers(spark, 1), lake, "nowhere")
    with pytest.raises(Exception, match="nowhere"):
        save(numbers(spark, 1), lake, "pool@nowhere")
    with pytest.raises(Exception, match="only branches can be changed"):
        save(numbers(spark, 1), lake, "pool@main~1")
    with pytest.raises(Invalid, match="is no way to write"):
        lochan.spark.write(numbers(spark, 1), "pool", mode="replace", lake=lake)
    with pytest.raises(NotFound):
        lochan.spark.write(numbers(spark, 1), "pool@nowhere", lake=lake)
    with pytest.raises(Invalid, match="NaN"):
        lochan.spark.write(spark.sql("select double('nan') k"), "pool", lake=lake)
    assert files(lake) == 0
