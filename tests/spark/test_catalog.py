"""A lake as a catalog of Spark: what people type into a notebook, in a session that has the jar."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import lochan
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.spark.catalog import catalog_settings
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import query_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
BY_TS = PoolSettings((PoolKey(("ts",)),), times=(("ts",),))
DAYS = 30
ROWS = [
    {"ts": f"2026-11-{day:02}T00:00:00Z", "n": day, "host": f"h{day % 3}", "odd": day if day % 2 else f"t{day}"}
    for day in range(1, DAYS + 1)
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", ROWS[:10], ROWS[10:20], ROWS[20:], settings=BY_TS)

    run(made())
    return str(folder / "lake")


@pytest.fixture(scope="module")
def spark(lake: str) -> Iterator[SparkSession]:
    settings = {**HERE.options, **catalog_settings("lake", lake=lake)}
    yield session.session_at(HERE._replace(options=settings), STANDARD)
    session.stop()


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_tables_are_found(spark: SparkSession) -> None:
    assert ("", "logs", False) in rows(spark.sql("SHOW TABLES IN lake"))
    assert dict(spark.table("lake.logs").dtypes) == {
        "ts": "timestamp",
        "n": "bigint",
        "host": "string",
        "odd": "string",
    }
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("lake.nothing")


def test_rows_are_those_of_the_pool(spark: SparkSession, lake: str) -> None:
    assert rows(spark.sql("SELECT n, host FROM lake.logs ORDER BY n")) == [(row["n"], row["host"]) for row in ROWS]
    [(first, last)] = rows(spark.sql("SELECT min(ts), max(ts) FROM lake.logs"))
    assert first.astimezone(UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert last.astimezone(UTC) == datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("test", "expected", "objects"),
    [
        ("n = 3", [3], 1),
        ("n IN (3, 25)", [3, 25], 2),
        ("n > 20", list(range(21, 31)), 1),
        ("n > 10 AND n <= 20", list(range(11, 21)), 1),
        ("n < 3 OR n > 29", [1, 2, 30], 2),
        ("ts >= TIMESTAMP'2026-11-29T00:00:00Z'", [29, 30], 1),
        ("ts < TIMESTAMP'2026-11-02T00:00:00Z' AND upper(host) = 'H1'", [1], 1),
        ("odd = '3'", [3], 3),  # of two kinds: a text of JSON here, so nothing is known of the objects
        ("NOT n = 3 AND n < 5", [1, 2, 4], 1),
        ("n = 99", [], 0),
    ],
)
def test_filters_of_a_frame_choose_objects(spark: SparkSession, test: str, expected: list[int], objects: int) -> None:
    frame = spark.table("lake.logs").where(test)
    assert [n for (n,) in rows(frame.select("n").orderBy("n"))] == expected
    assert files_read(spark, test) == objects


def files_read(spark: SparkSession, test: str) -> int:
    """By what the scan's own metadata column says, where any row is left to say it; else by the plan."""
    plan = spark.table("lake.logs").where(test)._jdf.queryExecution().executedPlan().toString()
    found = [part for part in plan.split() if part.startswith("objects=")]
    assert found, plan
    return int(found[0].removeprefix("objects=").strip(",]"))


def test_frames_of_one_table_do_not_share_their_filters(spark: SparkSession) -> None:
    whole = spark.table("lake.logs")
    few = whole.where("n = 3")
    assert (few.count(), whole.count(), few.union(whole).count()) == (1, DAYS, DAYS + 1)
    assert whole.where("n = 5").union(few).count() == 2


def test_versions_times_and_branches(spark: SparkSession, lake: str) -> None:
    with lochan.connect(lake) as open_lake:
        open_lake.pool("logs").create_branch("dev", "main~1")
    assert rows(spark.sql("SELECT count(*) FROM lake.logs VERSION AS OF 'main~1'")) == [(20,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.logs VERSION AS OF 'dev'")) == [(20,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.`logs@dev`")) == [(20,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.logs TIMESTAMP AS OF current_timestamp()")) == [(DAYS,)]
    with pytest.raises(AnalysisException, match=r"LOCHAN_NOT_FOUND.*was created later"):
        spark.sql("SELECT * FROM lake.logs TIMESTAMP AS OF '2020-01-01'")
    with pytest.raises(AnalysisException, match="LOCHAN_NOT_FOUND"):
        spark.sql("SELECT * FROM lake.logs VERSION AS OF 'nothing'")


def test_a_table_from_its_making_to_its_end(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE lake.users (id INT, name STRING, at TIMESTAMP, cents DECIMAL(10, 2)) CLUSTER BY (id)")
    assert spark.table("lake.users").dtypes == [
        ("id", "int"),
        ("name", "string"),
        ("at", "timestamp"),
        ("cents", "decimal(10,2)"),
    ]
    assert rows(spark.table("lake.users")) == []
    spark.sql("INSERT INTO lake.users VALUES (2, 'bob', NULL, 1.5), (1, 'ann', TIMESTAMP'2026-01-01T00:00:00Z', 2)")
    spark.sql("INSERT INTO lake.users (name, id) VALUES ('cyd', 3)")
    found = rows(spark.sql("SELECT id, name, year(at), CAST(cents AS STRING) FROM lake.users ORDER BY id"))
    assert found == [(1, "ann", 2026, "2.00"), (2, "bob", None, "1.50"), (3, "cyd", None, None)]
    assert [name for name, _ in spark.table("lake.users").dtypes] == ["id", "name", "at", "cents"]
    spark.sql("DELETE FROM lake.users WHERE id = 2")
    assert [id for (id,) in rows(spark.sql("SELECT id FROM lake.users ORDER BY id"))] == [1, 3]
    spark.sql("INSERT OVERWRITE lake.users VALUES (9, 'zoe', NULL, NULL)")
    assert rows(spark.sql("SELECT id, name FROM lake.users")) == [(9, "zoe")]
    spark.sql("ALTER TABLE lake.users RENAME TO lake.people")
    spark.sql("DROP TABLE lake.people")
    spark.sql("DROP TABLE IF EXISTS lake.people")
    assert "people" not in [name for _, name, _ in rows(spark.sql("SHOW TABLES IN lake"))]


def test_frames_are_saved_as_tables(spark: SparkSession) -> None:
    frame = spark.range(10).selectExpr("id", "concat('u', id) AS name")
    frame.write.mode("append").saveAsTable("lake.saved")
    frame.writeTo("lake.saved").append()
    spark.sql("CREATE TABLE lake.selected AS SELECT * FROM lake.logs WHERE n > 25")
    assert rows(spark.sql("SELECT count(*), max(name) FROM lake.saved")) == [(20, "u9")]
    assert rows(spark.sql("SELECT count(*), min(n) FROM lake.selected")) == [(5, 26)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql("CREATE TABLE lake.saved (id INT)")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE lake.parted (id INT, day DATE) PARTITIONED BY (day)", "has no partitions"),
        ("CREATE TABLE lake.csv (id INT) USING csv", "of kind lochan, and not csv"),
        ("ALTER TABLE lake.logs ADD COLUMN more INT", "cannot be altered"),
        ("DROP TABLE lake.`logs@main`", "by its own name"),
        ("INSERT INTO lake.`logs@main~1` VALUES (current_timestamp(), 1, 'h', '1')", "is not a branch"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(spark: SparkSession, statement: str, words: str) -> None:
    with pytest.raises(PySparkException, match=words):
        spark.sql(statement)
    assert spark.table("lake.logs").count() == DAYS


def test_a_lake_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    for name, value in catalog_settings("gone", lake=tmp_path / "none").items():
        if name != "spark.jars":
            spark.conf.set(name, value)
    with pytest.raises(AnalysisException, match=r"LOCHAN_NOT_FOUND.*no lake at"):
        spark.sql("SHOW TABLES IN gone")
