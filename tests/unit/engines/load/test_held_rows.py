"""Typed columns are sorted from where they are. The rows are those that a table would have given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from lochan.engines.duckdb.load import staging
from lochan.engines.duckdb.load.decode_child import AS_THEY_COME
from lochan.formats.pool_settings import PoolSettings
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_batches, load_rows
from tests.unit.engines.load.test_formats import TABLE

BY_ID = parse(["id"])
_SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("s", pa.struct([("x", pa.int64())]))])


def _batch(rows: Sequence[dict[str, Any]], schema: pa.Schema = _SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def _loaded(batches: Sequence[pa.RecordBatch], pool: PoolSettings = BY_ID) -> list[str]:
    return [json.dumps(row) for made in load_batches(batches, pool) for row in made.rows()]


BATCHES = [
    _batch([{"id": 1, "a": 1, "s": {"x": 1}}, {"id": 2, "a": None, "s": None}]),
    _batch([{"id": 3, "a": None, "s": {"x": None}}]),
    _batch([{"id": 4, "a": None, "s": None}]),
    _batch([{"id": 5, "a": 5.5}], pa.schema([("id", pa.int64()), ("a", pa.float64())])),
    _batch([{"id": 6, "s": [1]}], pa.schema([("id", pa.int64()), ("s", pa.list_(pa.int64()))])),
    _batch([{"id": 7, "a": 7, "s": {"x": 7}}]),
]


@pytest.mark.parametrize("count", range(1, len(BATCHES) + 1))
def test_held_or_inserted(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    held = _loaded(BATCHES[:count])
    expected = sorted(json.dumps(row) for each in BATCHES[:count] for row in each.to_pylist())
    assert sorted(held) == expected
    monkeypatch.setattr(staging, "_HELD_SHARE", 1 << 60)
    assert sorted(_loaded(BATCHES[:count])) == expected


def test_rows_of_several_objects_are_inserted() -> None:
    batch = _batch([{"id": id * 7919 % 5_000, "a": id, "s": {"x": id}} for id in range(5_000)])
    rows = _loaded([batch], parse(["id"], size_bytes=1 << 12))
    assert rows == sorted(rows, key=lambda row: json.loads(row)["id"]) and len(rows) == 5_000


def test_rows_keep_their_order() -> None:
    """Without a key, rows that are held do not pass those that cannot be."""
    odd = pa.schema([("id", pa.int64()), ("a", pa.list_(pa.list_(pa.int64())))])
    batches = [
        _batch([{"id": 3}], pa.schema([("id", pa.int64())])),
        _batch([{"id": 2, "a": [[1]]}], odd),
        _batch([{"id": 1}], pa.schema([("id", pa.int64())])),
    ]
    assert [json.loads(row)["id"] for row in _loaded(batches, AS_THEY_COME)] == [3, 2, 1]


def test_a_table_of_all_types_is_the_same_from_both(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [row for made in load_rows(TABLE, BY_ID) for row in made.rows()]
    monkeypatch.setattr(staging, "_HELD_SHARE", 1 << 60)
    assert [row for made in load_rows(TABLE, BY_ID) for row in made.rows()] == held
