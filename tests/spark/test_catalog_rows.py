"""DELETE, UPDATE and MERGE INTO in the catalog: exactly the rows that a statement names change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import ConcurrentCommit, Invalid
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.spark.catalog import catalog_settings
from lochan.spark.table_changes import TableRows
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import query_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
SETTINGS = PoolSettings((PoolKey(("k",)),), times=(("ts",),))
# Each differs from what a frame makes of it.
ROWS: list[dict[str, Any]] = [
    {"k": 0, "ts": "2026-11-01T00:00:00.123456789Z", "x": 1, "n": 0},
    {"k": 1, "ts": "2026-11-01T02:00:00+02:00", "x": "1", "n": 1},
    {"k": 2, "ts": "no time", "x": None, "n": 2},
    {"k": 3, "x": [1, "two", {"three": 3}], "o": {"a": None}, "n": 3},
    {"x": 1.5, "k": 4, "o": {"a": 1, "b": "t"}},
    {"k": 5, "list": [1, 2], "n": 5},
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            for name in ("deleted", "updated", "merged", "mixed", "raced", "refused", "functions"):
                await lake.pool(name, ROWS[:3], ROWS[3:], settings=SETTINGS)

    run(made())
    return str(folder / "lake")


@pytest.fixture(scope="module")
def spark(lake: str) -> Iterator[SparkSession]:
    settings = {**HERE.options, **catalog_settings("lake", lake=lake), "spark.sql.shuffle.partitions": "3"}
    found = session.session_at(HERE._replace(options=settings), STANDARD)
    found.sql("CREATE OR REPLACE TEMP VIEW source AS SELECT * FROM VALUES (1, 'a'), (3, 'b'), (9, 'c') s(id, t)")
    yield found
    session.stop()


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def stored(lake: str, pool: str) -> dict[int, str]:
    """Rows by their key, as the pool holds them, with the kinds of their fields."""
    with (
        lochan.connect(lake) as open_lake,
        open_lake.pool(pool).query("put kinds := [typeof(ts), typeof(x), typeof(o)]") as found,
    ):
        return {row["k"]: json.dumps(row, default=str) for row in found.rows()}


def commits(lake: str, pool: str) -> list[str]:
    with lochan.connect(lake) as open_lake:
        return [each.message for each in open_lake.pool(pool).branch("main").log()]


@pytest.mark.parametrize(
    ("test", "gone"),
    [
        ("upper(CAST(k AS STRING)) = '0'", [0]),
        ("k IN (SELECT id FROM source)", [1, 3]),
        ("x = '1.5' AND length(o.b) = 1", [4]),
        ("k % 2 = 7", []),
    ],
)
def test_any_condition_deletes_its_rows_and_no_other(
    spark: SparkSession, lake: str, test: str, gone: list[int]
) -> None:
    before, made = stored(lake, "deleted"), len(commits(lake, "deleted"))
    spark.sql(f"DELETE FROM lake.deleted WHERE {test}")
    assert stored(lake, "deleted") == {key: row for key, row in before.items() if key not in gone}
    assert len(commits(lake, "deleted")) == made + bool(gone)


def test_an_update_changes_what_it_assigns(spark: SparkSession, lake: str) -> None:
    before = stored(lake, "updated")
    spark.sql("UPDATE lake.updated SET n = k * 10 WHERE k IN (0, 3, 4)")
    after = stored(lake, "updated")
    assert {key: row for key, row in after.items() if key not in (0, 3, 4)} == {
        key: row for key, row in before.items() if key not in (0, 3, 4)
    }
    assert after[0] == before[0]  # it had the value
    assert after[3] == before[3].replace('"n": 3', '"n": 30')
    assert json.loads(after[4]) == {**json.loads(before[4]), "n": 40}
    assert commits(lake, "updated")[0] == "Update rows: 2 updated"


def test_a_merge_updates_deletes_and_inserts(spark: SparkSession, lake: str) -> None:
    before = stored(lake, "merged")
    spark.sql(
        """MERGE INTO lake.merged t USING source s ON t.k = s.id
           WHEN MATCHED AND s.id = 1 THEN DELETE
           WHEN MATCHED THEN UPDATE SET t.n = 33
           WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.id, 99)
           WHEN NOT MATCHED BY SOURCE AND t.k = 5 THEN DELETE"""
    )
    after = stored(lake, "merged")
    assert sorted(after) == [0, 2, 3, 4, 9]
    assert [after[key] for key in (0, 2, 4)] == [before[key] for key in (0, 2, 4)]
    assert after[3] == before[3].replace('"n": 3', '"n": 33')
    assert commits(lake, "merged")[0] == "Merge rows: 2 deleted, 1 updated, 1 inserted"


def test_a_source_that_matches_twice_is_refused(spark: SparkSession, lake: str) -> None:
    before = stored(lake, "mixed")
    with pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        spark.sql(
            "MERGE INTO lake.mixed t USING (SELECT 1 AS id UNION ALL SELECT 1) s ON t.k = s.id "
            "WHEN MATCHED THEN UPDATE SET n = 7"
        )
    assert stored(lake, "mixed") == before


def test_rows_tell_where_they_are_from(spark: SparkSession, lake: str) -> None:
    found = rows(spark.sql("SELECT k, _row, _object, _commit FROM lake.mixed ORDER BY k"))
    assert [(k, row) for k, row, _, _ in found] == [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 2)]
    with lochan.connect(lake) as open_lake:
        head = open_lake.pool("mixed").branch("main").show().head
        objects = {f"{row['id']}.parquet" for row in open_lake.query("from mixed:objects").rows()}
    assert {object for _, _, object, _ in found} == objects
    assert {commit for *_, commit in found} == {head}
    assert "_object" not in spark.table("lake.mixed").columns
    assert rows(spark.sql("SELECT count(*) FROM lake.mixed WHERE _row = 1")) == [(2,)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE lake.`refused@main~1` SET n = 1", "is not a branch"),
        ("UPDATE lake.refused SET none = 1", "none"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(spark: SparkSession, lake: str, statement: str, words: str) -> None:
    before = stored(lake, "refused")
    with pytest.raises(PySparkException, match=words):
        spark.sql(statement)
    assert stored(lake, "refused") == before


# --- the same without SQL --------------------------------------------------------------------------------------------
def test_functions_change_rows_too(spark: SparkSession, lake: str) -> None:
    before = stored(lake, "functions")
    done = lochan.spark.delete(spark, "functions@main", "k IN (0, 77)", lake=lake)
    assert str(done.changed) == "1 deleted"
    done = lochan.spark.update(spark, "functions@main", {"n": "n + 10", "k": "k"}, where="k IN (1, 3)", lake=lake)
    assert str(done.changed) == "2 updated"
    after = stored(lake, "functions")
    assert after == {
        **{key: before[key] for key in (2, 4, 5)},
        1: before[1].replace('"n": 1', '"n": 11'),
        3: before[3].replace('"n": 3', '"n": 13'),
    }
    with pytest.raises(Invalid, match="no column 'none'"):
        lochan.spark.update(spark, "functions@main", {"none": "1"}, lake=lake)


def test_the_function_merges_too(spark: SparkSession, lake: str) -> None:
    before = stored(lake, "functions")
    source = spark.createDataFrame([(2, 22, "a"), (5, 5, "b"), (8, 88, "c")], "k bigint, n bigint, more string")
    done = lochan.spark.merge(
        spark,
        "functions@main",
        source,
        on=["k"],
        when_matched=[("source.k = 5", "delete"), ("true", "update")],
        when_not_matched="insert",
        when_not_matched_by_source=[("target.k = 4", {"n": "44"})],
        lake=lake,
    )
    assert str(done.changed) == "1 deleted, 2 updated, 1 inserted"
    after = stored(lake, "functions")
    assert [after[key] for key in (1, 3)] == [before[key] for key in (1, 3)]
    assert json.loads(after[2]) == {**json.loads(before[2]), "n": 22, "more": "a"}
    assert json.loads(after[4]) == {**json.loads(before[4]), "n": 44}
    assert json.loads(after[8]) == {"k": 8, "n": 88, "more": "c", "kinds": [None, None, None]}
    twice = spark.createDataFrame([(2,), (2,)], "k bigint")
    with pytest.raises(Invalid, match="changed twice"):
        lochan.spark.merge(spark, "functions@main", twice, on="target.k = source.k", when_matched="delete", lake=lake)
    assert stored(lake, "functions") == after


def test_a_frame_tells_where_its_rows_are(spark: SparkSession, lake: str) -> None:
    frame = lochan.spark.read(spark, "mixed", metadata=True, lake=lake)
    assert frame.columns[-3:] == ["_commit", "_object", "_row"]
    by_sql = rows(spark.sql("SELECT k, _object, _row FROM lake.mixed ORDER BY k"))
    assert rows(frame.select("k", "_object", "_row").orderBy("k")) == by_sql


def test_a_change_of_the_same_rows_meanwhile_is_a_conflict(spark: SparkSession, lake: str) -> None:
    with lochan.connect(lake) as open_lake:
        read = open_lake.frames.read(spark, "raced", metadata=True)
        begun = open_lake.frames.change("raced@main", read.commit, command="delete")
        lochan.spark.delete(spark, "raced@main", "k = 1", lake=lake)
        open_lake.pool("raced").load([{"k": 100}])
        before = stored(lake, "raced")
        changes = TableRows(read.frame(spark))
        with pytest.raises(ConcurrentCommit, match="no longer on the branch"):
            begun.run(changes.deleted(changes.rows.where("k = 0")))
        assert stored(lake, "raced") == before
        begun.run(changes.deleted(changes.rows.where("k = 5")))  # of an object that nobody has changed
    assert sorted(stored(lake, "raced")) == [0, 2, 3, 4, 100]
