"""pandas, Polars, Arrow and DuckDB read and write `lochan://` by themselves."""

from __future__ import annotations

from pathlib import Path

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset, fs

import lochan

FRUIT = {"id": [1, 2, 3], "name": ["pear", "apple", "fig"]}


@pytest.fixture
def options(address: dict[str, str], shop: lochan.Repository) -> dict[str, str]:
    return address


def test_pandas(options: dict[str, str], shop: lochan.Repository) -> None:
    frame = pd.DataFrame(FRUIT)
    frame.to_parquet("lochan://shop/main/x.parquet", storage_options=options)
    read = pd.read_parquet("lochan://shop/main/x.parquet", storage_options=options)
    pd.testing.assert_frame_equal(read, frame)
    only = pd.read_parquet("lochan://shop/main/x.parquet", columns=["name"], storage_options=options)
    assert list(only.columns) == ["name"]
    frame.to_csv("lochan://shop/main/x.csv", index=False, storage_options=options)
    assert pd.read_csv("lochan://shop/main/x.csv", storage_options=options)["id"].sum() == 6
    with pytest.raises(FileNotFoundError):
        pd.read_csv("lochan://shop/main/none.csv", storage_options=options)


def test_pandas_in_a_transaction(options: dict[str, str], shop: lochan.Repository) -> None:
    with fsspec.filesystem("lochan", **options).transaction("two files"):
        pd.DataFrame(FRUIT).to_parquet("lochan://shop/main/a.parquet", storage_options=options)
        pd.DataFrame(FRUIT).to_csv("lochan://shop/main/b.csv", storage_options=options)
    assert [each.path for each in shop.ref("main").diff("main~1")] == ["a.parquet", "b.csv"]
    assert not list(shop.branch("main").status())


def test_pandas_without_options(
    place: Path, shop: lochan.Repository, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", str(place))
    assert pd.read_csv("lochan://shop/main/raw/fruit.csv").to_dict("records") == [{"id": 1, "name": "pear"}]


def test_polars(options: dict[str, str]) -> None:
    """It takes open files: of protocols it knows only its own."""
    frame, files = pl.DataFrame(FRUIT), fsspec.filesystem("lochan", **options)
    with files.open("shop/main/x.parquet", "wb") as file:
        frame.write_parquet(file)
    with files.open("shop/main/x.parquet") as file:
        assert pl.read_parquet(file).equals(frame)
        file.seek(0)
        assert pl.scan_parquet(file).filter(pl.col("id") > 1).collect().height == 2
    with fsspec.open("lochan://shop/main/raw/fruit.csv", **options) as file:
        assert pl.read_csv(file).rows() == [(1, "pear")]
    scanned = pl.scan_pyarrow_dataset(
        dataset.dataset("shop/main/x.parquet", filesystem=fs.PyFileSystem(fs.FSSpecHandler(files)))
    )
    assert scanned.filter(pl.col("id") > 1).collect().height == 2


def test_arrow(options: dict[str, str]) -> None:
    files = fsspec.filesystem("lochan", **options)
    pd.DataFrame(FRUIT).to_parquet("lochan://shop/main/x.parquet", storage_options=options)
    assert pq.read_table("shop/main/x.parquet", filesystem=files).num_rows == 3
    pq.write_to_dataset(pq.read_table("shop/main/x.parquet", filesystem=files), "shop/main/parts", filesystem=files)
    assert dataset.dataset("shop/main/parts", filesystem=files).count_rows() == 3


def test_duckdb(options: dict[str, str]) -> None:
    pd.DataFrame(FRUIT).to_parquet("lochan://shop/main/f/x.parquet", storage_options=options)
    with duckdb.connect() as connection:
        connection.register_filesystem(fsspec.filesystem("lochan", **options))
        assert connection.sql("SELECT sum(id) FROM 'lochan://shop/main/f/*.parquet'").fetchall() == [(6,)]
        assert connection.sql("SELECT name FROM 'lochan://shop/main/raw/fruit.csv'").fetchall() == [("pear",)]
        connection.sql("COPY (SELECT 7 AS id) TO 'lochan://shop/main/seven.parquet'")
    assert pd.read_parquet("lochan://shop/main/seven.parquet", storage_options=options)["id"].tolist() == [7]
