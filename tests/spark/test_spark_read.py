"""A pool as a frame: its types, what is read of it, and that it does not change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lochan.spark
from lochan.api.pool import load_rows
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import Gone, Invalid, NotFound, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.query.errors import QueryError
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.spark.times_in_zones import check_times
from tests.unit.engines.lake import ANN, query_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
SOURCES = ["lochan", "lochan.spark.PythonSource"]  # in the JVM, and in Python, as it is where the jar is missing
BY_TS = PoolSettings((PoolKey(("ts",)),), times=(("ts",), ("day",)))
ODD: list[dict[str, Any]] = [
    {"k": 1, "x": "s", "o": {"a": None}, "n": 1},
    {"k": 5, "x": 2, "o": {"a": 1}, "n": 2.5, "b c": True},
    {"k": 6, "x": None, "t": [1, None], "z": None, "e": {}},
    {"k": 7, "x": {"y": 1}, "o": {"a": "text"}},
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    lochan.spark.register(found)
    found.createDataFrame([(1,)], "a int")  # which makes it the active one: Spark looks for data sources in that
    yield found
    session.stop()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One lake for all tests that do not change it."""
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("odd", ODD[:2], ODD[2:])
            times = [
                {"ts": f"2026-11-{day:02}T00:00:00Z", "day": f"2026-11-{day:02}", "n": day, "host": f"h{day % 3}"}
                for day in range(1, 31)
            ]
            await lake.pool("logs", times[:10], times[10:20], times[20:], settings=BY_TS)
            await lake.pool("bodies", [{"k": n, f"f{n}": n} for n in range(1_100)])
            await lake.pool("none")
            await lake.pool("own", [{"k": 1, "_path": "mine"}])
            numbers = [9007199254740993, 9007199254740992, -0.1, 1.5e-9]
            ids: list[dict[str, Any]] = [{"k": k, "id": each, "o": {"id": each}} for k, each in enumerate(numbers)]
            await lake.pool("ids", ids[:2], ids[2:], [{"k": 4}])
            await lake.pool("long", [{"k": 1, "id": 9007199254740993}, {"k": 2, "id": 1.2345e-18}])

    run(made())
    return str(folder / "lake")


def rows(frame: DataFrame, by: str = "k") -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.orderBy(by).collect()]


def by_source(spark: SparkSession, lake: str, uri: str, source: str = "lochan", **options: str) -> DataFrame:
    return spark.read.format(source).option("lake", lake).options(**options).load(uri)


def test_each_field_has_one_type_whichever_way_it_is_read(spark: SparkSession, lake: str) -> None:
    frame = lochan.spark.read(spark, "odd@main", lake=lake)
    assert dict(frame.dtypes) == {
        "k": "bigint",
        "x": "string",
        "o": "struct<a:string>",
        "n": "double",
        "b c": "boolean",
        "t": "array<bigint>",
        "z": "string",
        "e": "string",
    }
    found = rows(frame)
    assert [row["x"] for row in found] == ['"s"', "2", None, '{"y":1}']  # JSON, so that 2 and "2" stay apart
    assert [row["o"] for row in found] == [{"a": None}, {"a": "1"}, None, {"a": '"text"'}]
    assert [row["n"] for row in found] == [1.0, 2.5, None, None]
    assert [row["e"] for row in found] == [None, None, "{}", None]
    assert found[2]["t"] == [1, None]
    for source in SOURCES:
        other = by_source(spark, lake, "odd@main", source)
        assert other.dtypes == frame.dtypes
        assert rows(other) == found


def test_ints_beside_floats_are_never_rounded(spark: SparkSession, lake: str) -> None:
    by_sources = [by_source(spark, lake, "ids", source).orderBy("k") for source in SOURCES]
    for frame in (lochan.spark.read(spark, "ids", lake=lake).orderBy("k"), *by_sources):
        assert dict(frame.dtypes) == {"k": "bigint", "id": "decimal(38,19)", "o": "struct<id:decimal(38,19)>"}
        numbers = [Decimal("9007199254740993"), Decimal("9007199254740992"), Decimal("-0.1"), Decimal("1.5e-9"), None]
        assert [row.id for row in frame.collect()] == numbers
        assert [row.o and row.o.id for row in frame.collect()] == numbers
    with pytest.raises(Exception, match="`id` holds ints beyond 2\\^53 beside floats"):
        lochan.spark.read(spark, "long", lake=lake).collect()


def test_times_and_days(spark: SparkSession, lake: str) -> None:
    frame = lochan.spark.read(spark, "logs", lake=lake)
    assert dict(frame.dtypes) == {"ts": "timestamp", "day": "date", "n": "bigint", "host": "string"}
    first = frame.orderBy("n").first()
    assert first is not None
    assert (first.ts.astimezone(UTC), first.day) == (datetime(2026, 11, 1, tzinfo=UTC), date(2026, 11, 1))
    for source in SOURCES:
        assert rows(by_source(spark, lake, "logs", source), "n") == rows(frame, "n")


def test_only_objects_that_may_hold_such_rows_are_opened(spark: SparkSession, lake: str) -> None:
    every = lochan.spark.read(spark, "logs", lake=lake)
    some = lochan.spark.read(spark, "logs", where="ts >= 2026-11-25", columns=["n", "host"], lake=lake)
    assert (len(every.inputFiles()), len(some.inputFiles())) == (3, 1)
    assert some.columns == ["n", "host"]
    assert [row["n"] for row in rows(some, "n")] == list(range(25, 31))
    narrowed = lochan.spark.read(spark, "odd", where="k == 1", lake=lake)
    assert narrowed.dtypes == lochan.spark.read(spark, "odd", lake=lake).dtypes  # whatever rows were asked for
    for name in SOURCES:
        source = by_source(spark, lake, "logs", name, **{"from": "2026-11-25", "to": "2026-11-26T00:00:00Z"})
        assert [row["n"] for row in rows(source, "n")] == [25, 26]
        assert source.rdd.getNumPartitions() == 1
        chosen = by_source(spark, lake, "logs", name, where="host == 'h1'", columns="n,host")
        assert (chosen.columns, chosen.count()) == (["n", "host"], 10)


def test_what_a_test_means_does_not_depend_on_the_users_settings(spark: SparkSession, lake: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        some = lochan.spark.read(spark, "logs", where="ts >= 2026-11-25 and ts < 2026-11-26T12:00:00Z", lake=lake)
        assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
        assert [(row["n"], row["day"].day) for row in rows(some, "n")] == [(25, 25), (26, 26)]
        for source in SOURCES:
            assert rows(by_source(spark, lake, "logs", source, where="n == 3"), "n")[0]["day"] == date(2026, 11, 3)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_times_are_what_they_were_in_any_zone(spark: SparkSession, tmp_path: Path) -> None:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool")

    run(made())
    check_times(spark, str(tmp_path / "lake"))


@pytest.mark.parametrize("source", SOURCES)
def test_a_filter_that_is_only_planned_takes_no_rows_from_others(spark: SparkSession, lake: str, source: str) -> None:
    """Spark shares the filters of a Python source among all frames of that source."""
    frame = by_source(spark, lake, "logs", source)
    filtered = frame.filter("n = 3")
    filtered._jdf.queryExecution().executedPlan()
    assert frame.count() == 30
    assert filtered.count() == 1
    assert frame.count() == 30
    assert filtered.union(frame.filter("n = 5")).count() == 2
    assert filtered.union(frame).count() == 31
    frame.createOrReplaceTempView("trap")
    assert spark.sql("select * from trap where n = 3").count() == 1
    assert spark.sql("select * from trap").count() == 30
    native = lochan.spark.read(spark, "logs", lake=lake)
    assert native.filter("n = 3").union(native).count() == 31


def test_a_frame_stays_at_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    async def made(load: bool) -> None:
        from lochan.lake import Lake
        from lochan.store.local import LocalStore

        lake = await Lake.open(LocalStore(str(tmp_path / "lake")))
        await load_rows(lake, "pool", [{"k": 2, "new": 1}] if load else [{"k": 1}], actor=ANN)
        await lake.close()

    async def begun() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool")

    run(begun())
    run(made(False))
    lake = str(tmp_path / "lake")
    frames = [lochan.spark.read(spark, "pool", lake=lake), *(by_source(spark, lake, "pool", each) for each in SOURCES)]
    frames.append(spark.read.format("lochan").option("lake", lake).schema("k long").load("pool"))
    views = lochan.spark.register_views(spark, lake)
    run(made(True))
    for frame in frames:
        assert (frame.columns, frame.count()) == (["k"], 1)
    assert views == {"pool_main": "pool@main"}
    assert spark.sql("select count(*) n from pool_main").collect()[0].n == 1
    lochan.spark.register_views(spark, lake)
    assert spark.sql("select sum(new) n from pool_main where k > 1").collect()[0].n == 1
    assert lochan.spark.read(spark, "pool@main~1", lake=lake).count() == 1


def test_rows_that_are_text_give_the_columns_that_are_named(spark: SparkSession, lake: str) -> None:
    with pytest.raises(Refused, match="kept as text") as refused:
        lochan.spark.read(spark, "bodies", lake=lake)
    assert refused.value.hint == "name the columns that you want"
    frame = lochan.spark.read(spark, "bodies", columns=["k", "f7"], where="k < 10", lake=lake)
    assert [row["f7"] for row in rows(frame)] == [None] * 7 + [7, None, None]
    assert "bodies_main" not in lochan.spark.register_views(spark, lake)


def test_a_pool_without_rows(spark: SparkSession, lake: str) -> None:
    assert lochan.spark.read(spark, "none", lake=lake).count() == 0
    assert by_source(spark, lake, "logs", where="n > 99").count() == 0


@pytest.mark.parametrize("source", SOURCES)
def test_a_schema_of_the_users_own_chooses_columns(spark: SparkSession, lake: str, source: str) -> None:
    frame = spark.read.format(source).option("lake", lake).schema("n int, host string").load("logs")
    assert (frame.columns, frame.count(), frame.agg({"n": "sum"}).collect()[0][0]) == (["n", "host"], 30, 465)
    assert frame.where("n = 3").count() == 1
    with pytest.raises(Exception, match="unknown field `nothing`"):
        spark.read.format(source).option("lake", lake).schema("n int, nothing date").load("logs").count()
    with pytest.raises(Exception, match=r"overflow|CAST_OVERFLOW|not in range|out of range|not as the schema says"):
        spark.read.format(source).option("lake", lake).schema("id tinyint").load("ids").collect()


def test_filters_of_a_frame_choose_objects(spark: SparkSession, lake: str) -> None:
    """By the source in the JVM; a type of the user's own is no reason to leave one out."""
    frame = by_source(spark, lake, "logs")
    assert [objects_of(frame.where(test)) for test in ("n = 3", "n > 10", "n < 3 or n > 29", "n = 99")] == [1, 2, 2, 0]
    assert objects_of(frame.where("ts >= TIMESTAMP'2026-11-29T00:00:00Z'")) == 1
    assert objects_of(by_source(spark, lake, "logs", where="n > 10").where("n <= 20")) == 1
    rounded = spark.read.format("lochan").option("lake", lake).schema("n float").load("logs").where("n > 10")
    assert (objects_of(rounded), rounded.count()) == (3, 20)


def objects_of(frame: DataFrame) -> int:
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    [found] = [part for part in plan.split() if part.startswith("objects=")]
    return int(found.removeprefix("objects="))


def test_rows_say_where_they_come_from(spark: SparkSession, lake: str) -> None:
    names = ["n", "_commit", "_path"]
    with lochan.connect(lake) as opened:
        head = opened.pool("logs").ref("main").resolve().id
        files = {f"{lake}/{each['address']}" for each in opened.query("from logs:objects").rows()}
    schema = "n long, _commit string, _path string"
    frames = [lochan.spark.read(spark, "logs", columns=names, lake=lake)]
    frames += [by_source(spark, lake, "logs", source, columns=", ".join(names)) for source in SOURCES]
    frames += [spark.read.format(each).option("lake", lake).schema(schema).load("logs") for each in SOURCES]
    for frame in frames:
        found = rows(frame, "n")
        assert (frame.columns, len(found), {row["_commit"] for row in found}) == (names, 30, {head})
        assert {row["_path"] for row in found} == files
        assert len({row["_path"] for row in found[:10]}) == 1
        assert frame.where(f"_path = '{found[0]['_path']}'").count() == 10
        assert frame.groupBy("_path").count().count() == 3
    assert "_commit" not in lochan.spark.read(spark, "logs", lake=lake).columns
    own = lochan.spark.read(spark, "own", columns=["_path"], lake=lake)
    assert [row["_path"] for row in own.collect()] == ["mine"]  # a field of that name is what it was


def test_versions_and_times(spark: SparkSession, lake: str) -> None:
    for source in SOURCES:
        assert by_source(spark, lake, "logs", source, versionAsOf="main~1").count() == 20
        assert by_source(spark, lake, "logs@main", source, timestampAsOf="now").count() == 30
        with pytest.raises(Exception, match="was created later"):
            by_source(spark, lake, "logs", source, timestampAsOf="2020-01-01 10:00:00").count()
        with pytest.raises(Exception, match="name a commit each"):
            by_source(spark, lake, "logs@main", source, versionAsOf="main~1")
    assert lochan.spark.read(spark, "logs", version_as_of="main~2", lake=lake).count() == 10
    now = datetime.now(UTC)
    assert lochan.spark.read(spark, "logs", timestamp_as_of=now, lake=lake).count() == 30
    with pytest.raises(Invalid, match="versionAsOf and timestampAsOf name a commit each"):
        lochan.spark.read(spark, "logs", version_as_of="main", timestamp_as_of=now, lake=lake)


def test_views_of_chosen_pools(spark: SparkSession, lake: str) -> None:
    views = lochan.spark.register_views(spark, lake, pools=["logs", "odd@main~1"])
    assert views == {"logs_main": "logs@main", "odd_main_1": "odd@main~1"}
    assert spark.sql("select count(*) n from odd_main_1").collect()[0].n == 2
    with pytest.raises(Refused, match="kept as text"):
        lochan.spark.register_views(spark, lake, pools=["bodies"])
    with pytest.raises(NotFound):
        lochan.spark.register_views(spark, lake, pools=["nowhere"])
    with pytest.raises(Invalid, match="would be one view, logs_main"):
        lochan.spark.register_views(spark, lake, pools=["logs", "logs@main"])


def test_what_cannot_be_read(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="nothing"):
        lochan.spark.read(spark, "logs", where="nothing > 1", lake=lake)
    with pytest.raises(Invalid, match="more than a test"):
        lochan.spark.read(spark, "logs", where="head 1", lake=lake)
    with pytest.raises(NotFound):
        lochan.spark.read(spark, "logs@nowhere", lake=lake)
    with pytest.raises(NotFound):
        lochan.spark.read(spark, "nowhere", lake=lake)
    with pytest.raises(NotFound, match="no lake"):
        lochan.spark.read(spark, "logs", lake=tmp_path / "nowhere")
    with pytest.raises(Exception, match="is of kind time"):
        by_source(spark, lake, "logs", **{"from": "soon"}).count()
    for source in SOURCES:
        with pytest.raises(Exception, match=r"there is no option 'were'.*did you mean where"):
            by_source(spark, lake, "logs", source, were="n > 1")
        with pytest.raises(Exception, match="takes no options, but was given colour"):
            by_source(spark, lake, "logs", source, colour="red")
        with pytest.raises(Exception, match="replaceWhere: a read has no such option"):
            by_source(spark, lake, "logs", source, replaceWhere="n > 1")
        with pytest.raises(Exception, match="mergeSchema: a read always has the columns"):
            by_source(spark, lake, "logs", source, mergeSchema="false")
        assert by_source(spark, lake, "logs", source, mergeSchema="true").count() == 30


def test_an_object_that_is_gone_is_said(spark: SparkSession, tmp_path: Path) -> None:
    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": 1}])
            (file,) = await lake.files("pool")
            file.unlink()

    run(made())
    with pytest.raises(Gone, match="is gone"):
        lochan.spark.read(spark, "pool", lake=tmp_path / "lake")
    for source in SOURCES:
        with pytest.raises(Exception, match="is gone"):
            by_source(spark, str(tmp_path / "lake"), "pool", source).count()


def test_a_frame_becomes_a_table_of_another_catalog(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    """Spark starts over from the plan as it was written, by when no view may be missing, or left behind."""
    frame = lochan.spark.read(spark, "logs", lake=lake, where="n > 20")
    frame.writeTo("spark_catalog.default.copied").using("parquet").option("path", str(tmp_path / "t")).create()
    try:
        assert spark.table("copied").count() == 10
        assert spark.sql("SHOW VIEWS LIKE 'lochan_*'").count() == 0
    finally:
        spark.sql("DROP TABLE copied")
