"""Columns in paths."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lochan.ingest.hive_path import path_columns, path_values, with_path_columns


@pytest.mark.parametrize(
    "values, type, first",
    [
        pytest.param(["2026", "07"], "int32", 2026, id="small ints, with a zero before"),
        pytest.param(["1", "3000000000"], "int64", 1, id="a large int makes all of them large"),
        pytest.param(["1", "9" * 30], "decimal128(30, 0)", Decimal(1), id="beyond 64 bits no digit is lost"),
        pytest.param(["1", "2.5"], "double", 1.0, id="small ints beside a double"),
        pytest.param(["9007199254740993", "2.5"], "string", "9007199254740993", id="large ints beside a double"),
        pytest.param(["2026-11-01", "__HIVE_DEFAULT_PARTITION__"], "date32[day]", date(2026, 11, 1), id="days"),
        pytest.param(
            ["2026-11-01", "2026-11-01 10%3A00%3A00.5"],
            "timestamp[us, tz=UTC]",
            datetime(2026, 11, 1, tzinfo=UTC),
            id="times beside days",
        ),
        pytest.param(["2026-13-01"], "string", "2026-13-01", id="no day of any calendar"),
        pytest.param(["1", "a b"], "string", "1", id="text beside an int"),
        pytest.param(["2026-11-01", "7"], "string", "2026-11-01", id="a day beside an int"),
        pytest.param(["__HIVE_DEFAULT_PARTITION__"], "string", None, id="nothing but NULL"),
        pytest.param(["1_000"], "string", "1_000", id="Python's own ways to write a number"),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_every_value(values: list[str], type: str, first: Any) -> None:
    paths = [f"t/p={value}/x.parquet" for value in values]
    columns = path_columns(paths, "t/")
    assert [str(each.type) for each in columns.schema] == [type]
    assert columns.row(paths[0]).to_pylist() == [{"p": first}]


def test_names_and_values_are_unquoted_and_folders_alone_count() -> None:
    assert path_values("a=0/t/b%3Dc=x%2Fy/=1/d=/e=5/f=6.parquet", "a=0/t/") == {"b=c": "x/y", "e": "5"}
    columns = path_columns(["t/a=1/x", "t/b=x/y", "t/z"], "t/")
    assert columns.row("t/a=1/x").to_pylist() == [{"a": 1, "b": None}]
    assert columns.row("t/z").to_pylist() == [{"a": None, "b": None}]


def test_what_stands_in_the_path_counts() -> None:
    row = path_columns(["t/a=1/x"]).row("t/a=1/x")
    batch = pa.RecordBatch.from_pylist([{"a": 9, "b": 2}, {"a": 8, "b": 3}])
    assert with_path_columns(batch, row).to_pylist() == [{"b": 2, "a": 1}, {"b": 3, "a": 1}]
    assert with_path_columns(batch.slice(0, 0), row).num_rows == 0
