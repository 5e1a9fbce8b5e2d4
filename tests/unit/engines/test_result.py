"""Rows that a caller waits for are not lost, and their memory is freed at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from lochan.engines.result import Result, Stats
from lochan.errors import Refused
from lochan.query.output.columns import Column


def result(batches: Iterator[pa.RecordBatch], closed: list[bool]) -> Result:
    return Result(
        Column({}),
        batches,
        Stats("duckdb"),
        warnings=[],
        cancel=lambda: None,
        close=lambda: closed.append(True),
        boot=lambda: 0.0,
    )


def test_the_first_rows_are_still_there() -> None:
    batches = [pa.record_batch({"a": [number, number]}) for number in range(3)]
    closed: list[bool] = []
    found = result(iter(batches), closed)
    found.wait()
    assert found.stats.rows == 0
    assert list(found.batches()) == batches
    assert found.stats.rows == 6
    assert closed


def test_none_at_all() -> None:
    found = result(iter([]), [])
    found.wait()
    assert list(found.batches()) == []


def test_an_error_frees_what_it_held() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        raise Refused("no")
        yield

    closed: list[bool] = []
    with pytest.raises(Refused):
        result(failing(), closed).wait()
    assert closed
