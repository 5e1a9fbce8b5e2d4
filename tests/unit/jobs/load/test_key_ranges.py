"""The part of each row is found by comparing its key with the bounds, whatever the kinds of keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.session import DuckSession
from lochan.ingest.lines import Lines, texts_of
from lochan.jobs.load.key_ranges import KeyRanges, bounds_of
from lochan.pools.settings import parse

ROWS: list[Any] = [3, 1, 2.5, "b", "a", "a\0", "ab", True, False, None, -1, 2**60, [1], {"x": 1}]


@pytest.fixture
def session() -> Iterator[DuckSession]:
    with DuckSession(Limits(64 << 20, threads=1), ordered=False) as session:
        yield session


def lines_of(values: list[Any]) -> Lines:
    texts = [json.dumps({"k": value}).encode() + b"\n" for value in values]
    return texts_of("", b"".join(texts), np.cumsum([len(text) for text in texts]), 1)


@pytest.mark.parametrize("key", ["k", "k:desc"])
def test_a_row_goes_behind_all_bounds_that_are_not_greater_than_its_key(session: DuckSession, key: str) -> None:
    ranges = KeyRanges(session, parse([key]))
    keys = {number: ranges.keys(lines_of([value]))[1][0] for number, value in enumerate(ROWS)}
    bounds = sorted(keys.values())
    for count in range(len(bounds) + 1):
        parts = ranges.parts(lines_of(ROWS), bounds[:count])
        assert parts.tolist() == [sum(bound <= keys[number] for bound in bounds[:count]) for number in keys]


def test_thousands_of_parts_are_found_as_few_are(session: DuckSession) -> None:
    """Also from columns, in another order than that of the keys."""
    numbers = np.arange(20_000) * 7919 % 20_000
    ranges = KeyRanges(session, parse(["k"]))
    batch = pa.RecordBatch.from_arrays([pa.array(numbers)], ["k"])
    bounds = bounds_of(dict.fromkeys(ranges.keys(batch)[1], 1.0), 4_096)
    parts = ranges.parts(batch, bounds)
    assert len(bounds) == 4_095
    assert (np.diff(parts[np.argsort(numbers)]) >= 0).all()
    assert np.bincount(parts).max() <= 6


def test_a_line_that_is_no_row_has_the_first_part(session: DuckSession) -> None:
    ranges = KeyRanges(session, parse(["k"]))
    bounds = ranges.keys(lines_of([0]))[1]
    broken = texts_of("", b'{"k":1}\n{"k":\n\xff\n', np.array([8, 14, 16]), 1)
    assert ranges.parts(broken, bounds).tolist() == [1, 0, 0]


def test_rows_of_a_hot_key_go_to_the_same_parts_however_the_input_was_cut(session: DuckSession) -> None:
    """Spark may run one task again, and keep what others sent: no row may come twice, or be lost."""
    ranges = KeyRanges(session, parse(["k"]))
    (key,) = ranges.keys(lines_of([7]))[1]
    bounds = [key, key, key, key + b"\0"]
    rows = lines_of([7] * 600)._replace(places=np.arange(600) * 8)
    whole = ranges.parts(rows, bounds)
    cut = [ranges.parts(rows.taken(numbers), bounds) for numbers in (np.arange(250), np.arange(250, 600))]
    assert whole.tolist() == np.concatenate(cut).tolist()
    assert np.bincount(whole).tolist()[0] == 0 and min(np.bincount(whole)[1:]) > 150
    assert ranges.parts(lines_of([8, 6]), bounds).tolist() == [4, 0]
