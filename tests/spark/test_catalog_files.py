"""Folders of Parquet files in the catalog: a repository of files is a namespace. And how large Spark takes a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.spark.catalog import catalog_settings
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, query_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            await lake.lake.create_repository("sales", actor=ANN)
            await lake.pool("logs", [{"k": k, "host": f"h{k % 3}"} for k in range(1000)])
            await lake.pool("hosts", [{"k": k, "host": f"h{k}"} for k in range(3)])

    run(made())
    return str(folder / "lake")


@pytest.fixture(scope="module")
def spark(lake: str) -> Iterator[SparkSession]:
    settings = {**HERE.options, **catalog_settings("lake", lake=lake)}
    found = session.session_at(HERE._replace(options=settings), STANDARD)
    orders = found.range(10).selectExpr("id", "concat('o', id) AS name", "id % 2 AS odd")
    lochan.spark.write(orders.drop("odd"), "sales@main/orders/", lake=lake)
    lochan.spark.write(orders.where("odd = 0").drop("odd"), "sales@main/by/odd=0/", lake=lake)
    lochan.spark.write(orders.where("odd = 1").drop("odd"), "sales@main/by/odd=1/", lake=lake)
    yield found
    session.stop()


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_repositories_are_namespaces_and_folders_are_tables(spark: SparkSession) -> None:
    assert rows(spark.sql("SHOW NAMESPACES IN lake")) == [("sales",)]
    assert [name for _, name, _ in rows(spark.sql("SHOW TABLES IN lake.sales"))] == ["by", "orders"]
    assert spark.table("lake.sales.orders").dtypes == [("id", "bigint"), ("name", "string")]
    assert rows(spark.sql("SELECT max(id), count(*) FROM lake.sales.orders WHERE name < 'o5'")) == [(4, 5)]
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.`orders/`")) == [(10,)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("lake.sales.nothing")
    with pytest.raises(AnalysisException, match="NOT_FOUND"):
        spark.table("lake.nothing.orders")


def test_rows_tell_the_file_that_they_are_from(spark: SparkSession, lake: str) -> None:
    paths = {path for (path,) in rows(spark.sql("SELECT DISTINCT _path FROM lake.sales.orders"))}
    with lochan.connect(lake) as open_lake:
        assert paths == {each.path for each in open_lake.repository("sales").ref("main").list("orders/")}


def test_what_stands_in_paths_is_a_column(spark: SparkSession) -> None:
    assert rows(spark.sql("SELECT odd, count(*), min(id) FROM lake.sales.by GROUP BY odd ORDER BY odd")) == [
        (0, 5, 0),
        (1, 5, 1),
    ]
    with pytest.raises(PySparkException, match="do not tell their paths"):
        rows(spark.sql("SELECT _path FROM lake.sales.by"))


def test_versions_and_writes(spark: SparkSession) -> None:
    spark.sql("INSERT INTO lake.sales.orders VALUES (10, 'o10')")
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.orders")) == [(11,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.orders VERSION AS OF 'main~1'")) == [(10,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.`sales@main~1`.orders")) == [(10,)]
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.orders TIMESTAMP AS OF current_timestamp()")) == [(11,)]
    spark.sql("INSERT OVERWRITE lake.sales.orders VALUES (1, 'one')")
    assert rows(spark.table("lake.sales.orders")) == [(1, "one")]
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.by")) == [(10,)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE lake.sales.by SET id = 1", "does not support UPDATE"),
        ("DELETE FROM lake.sales.by WHERE id = 1", "does not support deletes"),
        ("CREATE TABLE lake.sales.more (id INT)", "made by writing files"),
        ("DROP TABLE lake.sales.by", "lochan fs rm"),
        ("CREATE NAMESPACE lake.more", "not created from Spark"),
        ("INSERT INTO lake.`sales@main~1`.by VALUES (1, 'one', 1)", "is not a branch"),
        ("INSERT INTO lake.sales.by REPLACE WHERE id = 1 VALUES (1, 'one', 1)", "cannot be replaced by this condition"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(spark: SparkSession, statement: str, words: str) -> None:
    with pytest.raises(PySparkException, match=words):
        spark.sql(statement)
    assert rows(spark.sql("SELECT count(*) FROM lake.sales.by")) == [(10,)]


def test_a_small_table_is_broadcast(spark: SparkSession) -> None:
    joined = "SELECT * FROM lake.logs JOIN lake.hosts USING (host)"
    plan = spark.sql(joined)._jdf.queryExecution()
    assert "BroadcastHashJoin" in plan.executedPlan().toString()
    assert spark.sql(joined).count() == 1000
    sizes = spark.table("lake.logs").where("k < 10")._jdf.queryExecution().optimizedPlan().stats()
    assert sizes.sizeInBytes() < 100_000


def test_an_overwrite_by_a_condition_never_replaces_everything(spark: SparkSession) -> None:
    spark.sql("INSERT INTO lake.logs REPLACE WHERE k = 1 VALUES (1, 'new'), (1, 'newer')")
    found = spark.sql("SELECT host FROM lake.logs WHERE k = 1 ORDER BY host").collect()
    assert [row.host for row in found] == ["new", "newer"]
    with pytest.raises(PySparkException, match="do not pass the test"):
        spark.sql("INSERT INTO lake.logs REPLACE WHERE k = 1 VALUES (2, 'another')")
    with pytest.raises(PySparkException, match="cannot be replaced by this condition"):
        spark.sql("INSERT INTO lake.logs REPLACE WHERE upper(host) = 'H1' VALUES (1, 'new')")
    with pytest.raises(PySparkException, match="dynamic overwrite"):
        spark.table("lake.hosts").writeTo("lake.logs").overwritePartitions()
    with pytest.raises(PySparkException, match=r"(?i)partition"):
        spark.sql("INSERT OVERWRITE lake.logs PARTITION (k = 1) VALUES ('new')")
    assert spark.table("lake.logs").count() == 1001
