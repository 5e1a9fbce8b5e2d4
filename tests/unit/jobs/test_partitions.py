"""Rows by the folders of their partitions, and the files that a task writes of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import Invalid
from lochan.ingest.hive_path import path_columns, path_values
from lochan.jobs.partitions import by_partition, check_partitions


def folders(values: list[Any], type: pa.DataType | None = None) -> dict[str, list[int]]:
    batch = pa.record_batch({"n": pa.array(range(len(values))), "p": pa.array(values, type)})
    found = {folder: rows.column("n").to_pylist() for folder, rows in by_partition(batch, ["p"])}
    assert all(rows.schema.names == ["n"] for _, rows in by_partition(batch, ["p"]))
    return found


def test_each_row_comes_to_the_folder_of_its_values() -> None:
    assert folders([2, 1, None, 2]) == {"p=2/": [0, 3], "p=1/": [1], "p=__HIVE_DEFAULT_PARTITION__/": [2]}
    assert folders([True, False]) == {"p=true/": [0], "p=false/": [1]}
    assert folders([date(2026, 11, 1)]) == {"p=2026-11-01/": [0]}
    assert folders([Decimal("1.50")]) == {"p=1.50/": [0]}


def test_texts_are_escaped_as_hive_does_and_come_back() -> None:
    odd = ["a/b", "50%", "x=y", "a b", "ü", "[1]", "q'\"", "\t", "{z", "a:b", "?#*\\^", "%2F"]
    found = folders(odd)
    assert list(found) == [f"p={text}/" for text in _ESCAPED]
    assert [path_values(f"{folder}part.parquet")["p"] for folder in found] == odd


_ESCAPED = ["a%2Fb", "50%25", "x%3Dy", "a b", "ü", "%5B1%5D", "q%27%22", "%09", "%7Bz", "a%3Ab", "%3F%23%2A%5C%5E"]
_ESCAPED.append("%252F")


def test_times_are_those_of_utc() -> None:
    east = timezone(timedelta(hours=2))
    moment = datetime(2026, 11, 1, 12, 0, 0, 120_000, tzinfo=UTC)
    [folder] = folders([moment.astimezone(east)], pa.timestamp("us", "+02:00"))
    assert folder == "p=2026-11-01 12%3A00%3A00.12/"
    assert path_columns([f"{folder}x"]).row(f"{folder}x").column("p").to_pylist() == [moment]


def test_several_columns() -> None:
    batch = pa.record_batch({"b": ["x", "y", "x"], "n": [1, 2, 3], "a": [1, 1, None]})
    found = {folder: rows.to_pydict() for folder, rows in by_partition(batch, ["a", "b"])}
    assert found == {
        "a=1/b=x/": {"n": [1]},
        "a=1/b=y/": {"n": [2]},
        "a=__HIVE_DEFAULT_PARTITION__/b=x/": {"n": [3]},
    }


def test_a_text_that_would_come_back_as_null_is_refused() -> None:
    for text in ("", "__HIVE_DEFAULT_PARTITION__"):
        with pytest.raises(Invalid, match="names no folder"):
            folders([text])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["nothing"], "no column 'nothing'"),
        (["f"], "is double, which names no folder"),
        (["l"], "names no folder"),
        (["s", "s"], "twice"),
        (["s", "f", "l"], "names no folder"),
    ],
)
def test_columns_that_name_no_folder(names: list[str], words: str) -> None:
    schema = pa.schema([("s", pa.string()), ("f", pa.float64()), ("l", pa.list_(pa.int64()))])
    with pytest.raises(Invalid, match=words):
        check_partitions(schema, names)


def test_some_column_must_be_left() -> None:
    with pytest.raises(Invalid, match="all columns"):
        check_partitions(pa.schema([("s", pa.string())]), ["s"])
