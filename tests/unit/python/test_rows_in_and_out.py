"""Rows from whatever holds them, and results as whatever is wanted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lochan
from lochan.errors import Invalid, NotFound, NothingToDo, Refused

pytestmark = pytest.mark.thorough

ROWS = [{"k": 1, "name": "pear"}, {"k": 2, "name": None}]
COLUMNS = {"k": [1, 2], "name": ["pear", None]}


class SpeaksArrow:
    """As other programs hand over a table."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


class OneBatch:
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return pa.record_batch(COLUMNS).__arrow_c_array__(requested_schema)


SOURCES: dict[str, Callable[[], Any]] = {
    "a list": lambda: ROWS,
    "a generator": lambda: (row for row in ROWS),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas, the key as its index": lambda: pd.DataFrame(COLUMNS).set_index("k"),
    "pandas, an index without a name": lambda: pd.DataFrame(COLUMNS, index=[7, 9]),
    "Polars": lambda: pl.DataFrame(COLUMNS),
    "Polars, lazy": lambda: pl.LazyFrame(COLUMNS),
    "Arrow": lambda: pa.table(COLUMNS),
    "a reader of Arrow": lambda: pa.table(COLUMNS).to_reader(),
    "a batch of Arrow": lambda: pa.record_batch(COLUMNS),
    "a capsule of a stream": SpeaksArrow,
    "a capsule of an array": OneBatch,
    "DuckDB": lambda: duckdb.sql("SELECT * FROM (VALUES (1, 'pear'), (2, NULL)) AS given(k, name)"),
}


@pytest.fixture
def pool(lake: lochan.Lake) -> lochan.Pool:
    return lake.create_pool("fruit", key="k")


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_rows_from(source: Callable[[], Any], pool: lochan.Pool) -> None:
    assert pool.load(source(), "fruit").rows == 2
    assert sorted(pool.query("cut k, name").rows(), key=lambda row: int(row["k"])) == ROWS
    assert set(pool.fields()) == {"k", "name"}


def test_a_result_is_loaded_into_another_pool(lake: lochan.Lake, pool: lochan.Pool) -> None:
    pool.load(ROWS)
    assert lake.create_pool("copy", key="k").load(pool.query("k == 1")).rows == 1


def test_types_of_polars_keep_their_meaning(pool: lochan.Pool) -> None:
    day, time = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC)
    pool.load(
        pl.DataFrame(
            {
                "k": [1],
                "category": pl.Series(["x"], dtype=pl.Categorical),
                "day": [day],
                "time": [time],
                "list": [[1, 2]],
                "struct": [{"a": 1}],
                "decimal": [Decimal("1.50")],
                "unsigned": pl.Series([2**63], dtype=pl.UInt64),
                "array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
                "bytes": [b"x"],
            }
        )
    )
    (row,) = pool.query("pass").rows()
    assert row == {
        "k": 1,
        "category": "x",
        "day": "2024-01-02",
        "time": "2024-01-02T03:00:00Z",
        "list": [1, 2],
        "struct": {"a": 1},
        "decimal": 1.5,
        "unsigned": 2**63,
        "array": [1, 2],
        "bytes": "eA==",
    }


def test_files(pool: lochan.Pool, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"k\n{number}\n")
    assert pool.load(str(tmp_path / "0.csv")).rows == 1
    assert pool.load([tmp_path / "0.csv", str(tmp_path / "1.csv")]).rows == 2
    assert pool.load(f"{tmp_path}/[12].csv").rows == 2
    assert pool.load((tmp_path / "2.csv").as_uri()).rows == 1
    with (tmp_path / "2.csv").open("rb") as file:
        assert pool.load(file).rows == 1
    with pytest.raises(NotFound, match="no file"):
        pool.load("nowhere.csv")
    with pytest.raises(NotFound, match="no file matches"):
        pool.load(f"{tmp_path}/*.json")


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a dict": (lambda: {"k": 1}, "give a list with it"),
    "a number": (lambda: 3, "int is not rows"),
    "nothing": (lambda: None, "NoneType is not rows"),
    "bytes": (lambda: b"k", "the format cannot be detected"),
    "numbers": (lambda: [1], "1 is not a row"),
    "a series": (lambda: pd.Series([1]), "give a DataFrame"),
    "a series of Polars": (lambda: pl.Series([1]), "is not a row"),
    "mixed values": (lambda: pd.DataFrame({"k": [1, "a"]}), "to_dict"),
    "two columns of a name": (lambda: pa.table([[1], [2]], ["k", "k"]), "occurs twice"),
    "an interval": (lambda: duckdb.sql("SELECT 1 AS k, INTERVAL 1 MONTH AS i"), "is not a row"),
}


@pytest.mark.parametrize(("rows", "message"), BAD.values(), ids=BAD)
def test_what_is_no_rows(rows: Callable[[], Any], message: str, pool: lochan.Pool) -> None:
    with pytest.raises(Invalid, match=message):
        pool.load(rows())
    assert list(pool.query("pass").rows()) == []


def test_no_rows(pool: lochan.Pool) -> None:
    none: list[Any] = [[], pd.DataFrame({"k": []}), pl.DataFrame({"k": []})]
    for rows in none:
        with pytest.raises(NothingToDo):
            pool.load(rows)


def test_results_as_frames(lake: lochan.Lake, pool: lochan.Pool) -> None:
    pool.load(ROWS)

    def asked() -> Any:
        return lake.query("from fruit | sort k")

    assert asked().to_pandas()["k"].tolist() == [1, 2]
    assert asked().to_polars().rows() == [(1, "pear"), (2, None)]
    assert asked().to_arrow().to_pydict() == COLUMNS
    assert asked().to_duckdb().filter("k > 1").fetchall() == [(2, None)]
    with duckdb.connect() as connection:
        assert asked().to_duckdb(connection).aggregate("sum(k)").fetchall() == [(3,)]
    assert list(asked()) == ROWS
    with pytest.raises(Refused, match="no active session"):
        asked().to_spark()


def test_results_are_taken_by_whoever_speaks_arrow(lake: lochan.Lake, pool: lochan.Pool) -> None:
    pool.load(ROWS)
    asked = lake.query("from fruit | sort k")
    assert pl.DataFrame(asked).rows() == [(1, "pear"), (2, None)]
    assert pa.table(lake.query("from fruit | sort k")).to_pydict() == COLUMNS
    result = lake.query("from fruit")
    relation = duckdb.sql("SELECT sum(k) FROM result")
    assert relation is not None and relation.fetchall() == [(3,)]
    assert result.stats.rows == 2
    empty = lake.query("from fruit | k > 5").to_arrow()
    assert (empty.num_rows, empty.column_names) == (0, ["k", "name"])


def test_row_diffs_as_frames(lake: lochan.Lake, pool: lochan.Pool) -> None:
    pool.load(ROWS)
    pool.create_branch("dev")
    pool.load([{"k": 3, "name": "fig"}], branch="dev")
    with lake.diff_rows("fruit@main", "fruit@dev") as found:
        assert found.to_polars()["change"].to_list() == found.to_pandas()["change"].tolist() == ["added"]
        assert pa.table(found).num_rows == 1
